import { selfPassword } from "./binding/v1.ts"
import { v2password } from "./binding/v2.ts"
import { v2reset } from "./binding/v2-reset.ts"

export { passwordWish } from "./binding/v2.ts"

/** The operations that this module answers. */
export const shares = [v2reset, selfPassword, v2password] as const
