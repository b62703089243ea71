import { auth, management } from "./v1.ts"

/** What this room answers of the book. */
export const shares = [management, auth] as const
