import { v2invite } from "./v2.ts"

/** The operations that this module answers. */
export const shares = [v2invite] as const
