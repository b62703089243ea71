import { admin, auth, management, system } from "./v1.ts"
import { settings, v2 } from "./v2.ts"

/** The API operations of this module. */
export const shares = [admin, auth, management, system, v2, settings] as const
