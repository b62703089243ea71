import { v2 } from "./v2.ts"

/** What this module answers of the book. */
export const shares = [v2] as const
