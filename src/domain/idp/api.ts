import { admin, management } from "./binding/v1.ts"
import { settings, v2 } from "./binding/v2.ts"

export { optionsFrom, toOptionsMessage } from "./binding/v1-form.ts"

/** Operations that this module implements. */
export const shares = [admin, management, v2, settings] as const
