import { admin, auth, management, system } from "./v1.ts"
import { settings, v2 } from "./v2.ts"

/** What this module answers of the book. */
export const shares = [admin, auth, management, system, v2, settings] as const
