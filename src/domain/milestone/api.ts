import { admin } from "./v1.ts"

/** The API operations of this module. */
export const shares = [admin] as const
