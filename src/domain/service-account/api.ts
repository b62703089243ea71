import { managementCredentials } from "./binding/v1.ts"
import { v2key } from "./binding/v2-key.ts"
import { v2token } from "./binding/v2-token.ts"

/** Operations that this module implements. */
export const shares = [v2key, v2token, managementCredentials] as const
