import { auth, management } from "./v1.ts"
import { admin, system } from "./v1-event.ts"

/** What this module answers of the book. */
export const shares = [management, auth, admin, system] as const
