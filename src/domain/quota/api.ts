import { admin, system } from "./v1.ts"

/** The API operations of this module. */
export const shares = [admin, system] as const
