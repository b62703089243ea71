import { admin, system } from "./v1.ts"

/** What this module answers of the book. */
export const shares = [admin, system] as const
