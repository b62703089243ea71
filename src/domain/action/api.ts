import { management } from "./v1.ts"
import { v2 } from "./v2.ts"

/** What this module answers of the book. */
export const shares = [management, v2] as const
