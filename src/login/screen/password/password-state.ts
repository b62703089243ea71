import { pageStateFor } from "../../page-state.ts"
import { loginPaths } from "../../path.ts"

/** Why a password was rejected, or why its user can't sign in with it. */
export type PasswordProblem =
  | { readonly key: `password.error.${"missing" | "wrong" | "busy" | "passkey"}` }
  | { readonly key: "password.error.too_many_tries"; readonly retryAfterSeconds: number }

/** State of the password page. */
export type PasswordState = {
  readonly loginName: string
  readonly problem?: PasswordProblem
  /** Whether the password was requested only to register a passkey. */
  readonly isSetup?: boolean
}

/** State of the password page after its form was posted. */
export const passwordState = pageStateFor<PasswordState>(loginPaths.password)
