import { v2 } from "./v2.ts"

/** The API operations of this module. */
export const shares = [v2] as const
