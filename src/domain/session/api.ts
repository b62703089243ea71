import { auth } from "./binding/v1.ts"
import { v2 } from "./binding/v2.ts"

/** What this module answers of the book. */
export const shares = [auth, v2] as const
