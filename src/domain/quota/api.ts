import { admin, system } from "./v1.ts"

/** What this room answers of the book. */
export const shares = [admin, system] as const
