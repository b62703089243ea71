import { management } from "./v1.ts"

/** What this module answers of the book. */
export const shares = [management] as const
