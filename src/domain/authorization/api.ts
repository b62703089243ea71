import { v2 } from "./v2.ts"

/** What this room answers of the book. */
export const shares = [v2] as const
