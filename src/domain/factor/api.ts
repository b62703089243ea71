import { selfFactors } from "./binding/v1.ts"
import { v2factor } from "./binding/v2.ts"

/** Operations that this module implements. */
export const shares = [v2factor, selfFactors] as const
