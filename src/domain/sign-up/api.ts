import { v2 } from "./v2.ts"

/** Operations that this module implements. */
export const shares = [v2] as const
