import { v2failure } from "./v2.ts"

/** The operations that this module answers. */
export const shares = [v2failure] as const
