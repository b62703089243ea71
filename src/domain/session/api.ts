import { auth } from "./binding/v1.ts"
import { v2 } from "./binding/v2.ts"
import { activity } from "./binding/v2-account-code.ts"

/** What this module answers of the book. */
export const shares = [auth, v2, activity] as const
