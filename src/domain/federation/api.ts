import { auth } from "./v1.ts"
import { v2 } from "./v2.ts"
import { activity } from "./v2-self.ts"
import { diagnosis } from "./v2-test.ts"

/** The API operations of this module. */
export const shares = [auth, v2, diagnosis, activity] as const
