import { v2 } from "./v2.ts"
import { v3alpha } from "./v3alpha.ts"

/** The API services that this module implements. */
export const shares = [v2, v3alpha] as const
