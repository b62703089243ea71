import { features } from "./model.ts"

export { isFeatureOn, setInstanceFeatures } from "./commands.ts"
export type { FeatureKey, Features } from "./model.ts"

/** What this room keeps streams of. */
export const aggregates = [features] as const
