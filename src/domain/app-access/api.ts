import { v2 } from "./v2.ts"

/** The operations of this module. */
export const shares = [v2] as const
