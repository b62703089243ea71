import { v2invite } from "./v2.ts"

/** Operations that this module implements. */
export const shares = [v2invite] as const
