import { features } from "./model.ts"

export { isFeatureOn, loginFeature, setInstanceFeatures } from "./commands.ts"
export { type FeatureKey, type Features, features } from "./model.ts"

/** What this module is to the whole. */
export const module = {
  aggregates: [features],
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
