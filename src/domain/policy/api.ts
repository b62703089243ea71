import { admin, auth, management } from "./binding/v1.ts"
import { admin as generators } from "./binding/v1-generator.ts"
import { v2 } from "./binding/v2.ts"

export { parseLogin } from "./binding/v1-form.ts"

/** Operations that this module implements. */
export const shares = [admin, generators, management, auth, v2] as const
