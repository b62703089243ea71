import { assets } from "./v1.ts"

/** The API operations of this module. */
export const shares = [assets] as const
