import { v2failure } from "./v2.ts"

/** Operations that this module implements. */
export const shares = [v2failure] as const
