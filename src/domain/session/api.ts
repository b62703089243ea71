import { auth } from "./v1.ts"

/** What this room answers of the book. */
export const shares = [auth] as const
