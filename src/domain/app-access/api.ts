import { v2 } from "./v2.ts"

/** The API services that this module implements. */
export const shares = [v2] as const
