import { auth, management } from "./binding/v1.ts"
import { managementGlobal } from "./binding/v1-global.ts"
import { mine } from "./binding/v1-mine.ts"
import { v2search } from "./binding/v2.ts"
import { v2email } from "./binding/v2-email.ts"

/** Operations that this module implements. */
export const shares = [v2search, management, auth, managementGlobal, mine, v2email] as const
