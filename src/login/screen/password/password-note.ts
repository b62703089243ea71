import { notesFor } from "../../note.ts"
import { loginPaths } from "../../path.ts"

/** What is wrong with a password, or keeps its owner out. */
export type PasswordProblem =
  | { readonly key: `password.error.${"missing" | "wrong" | "busy" | "passkey"}` }
  | { readonly key: "password.error.too_many_tries"; readonly retryAfterSeconds: number }

/** What the password page is shown with. */
export type PasswordNote = {
  readonly loginName: string
  readonly problem?: PasswordProblem
  /** Whether a password was asked for where it only sets up a passkey. */
  readonly isSetup?: boolean
}

/** The password of a name that was typed, as a form has left it. */
export const passwords = notesFor<PasswordNote>(loginPaths.password)
