import { system } from "./v1.ts"
import { v2 } from "./v2.ts"

/** What this room answers of the book. */
export const shares = [system, v2] as const
