import { features } from "./model.ts"
import { admin, system } from "./v1.ts"
import { v2 } from "./v2.ts"

export { isFeatureOn, setInstanceFeatures } from "./commands.ts"
export type { FeatureKey, Features } from "./model.ts"

/** What this room keeps streams of. */
export const aggregates = [features] as const

/** What this room answers of the book. */
export const shares = [admin, system, v2] as const
