import type { UnknownKey } from "../../../ui/login/index.ts"
import { pageStateFor } from "../page-state.ts"
import { loginPaths } from "../path.ts"

/** State of the first page. */
export type LoginNameState = {
  readonly loginName?: string
  readonly problem?: "missing" | "unknown"
  /** Whether an invalid passkey was presented. */
  readonly hasWrongKey?: boolean
  /** That passkey, if it is unknown. */
  readonly unknownKey?: UnknownKey
}

/** State of the first page after its form was posted. */
export const loginNameState = pageStateFor<LoginNameState>(loginPaths.loginName)

/** No login name is longer. */
export const loginNameMax = 200
