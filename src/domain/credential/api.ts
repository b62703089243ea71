import { selfPassword } from "./binding/v1.ts"
import { v2password } from "./binding/v2.ts"
import { v2reset } from "./binding/v2-reset.ts"

export { passwordChangeFrom } from "./binding/v2.ts"

/** Operations that this module implements. */
export const shares = [v2reset, selfPassword, v2password] as const
