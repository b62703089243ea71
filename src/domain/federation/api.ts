import { auth } from "./v1.ts"
import { v2 } from "./v2.ts"
import { activity } from "./v2-self.ts"
import { diagnosis } from "./v2-test.ts"

/** What this module answers of the book. */
export const shares = [auth, v2, diagnosis, activity] as const
