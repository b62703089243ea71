import { system } from "./v1.ts"
import { v2 } from "./v2.ts"

/** The API operations of this module. */
export const shares = [system, v2] as const
