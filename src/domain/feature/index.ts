import { features } from "./model.ts"

export { isFeatureOn, loginFeature, setInstanceFeatures } from "./commands.ts"
export { type FeatureKey, type Features, features } from "./model.ts"

/** The registration of this module. */
export const module = {
  aggregates: [features],
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
