import { auth } from "./binding/v1.ts"
import { v2 } from "./binding/v2.ts"
import { activity } from "./binding/v2-account-code.ts"

/** The API services that this module implements. */
export const shares = [auth, v2, activity] as const
