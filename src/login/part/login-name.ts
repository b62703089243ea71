import type { UnknownKey } from "../../../ui/login/index.ts"
import { notesFor } from "../note.ts"
import { loginPaths } from "../path.ts"

/** What the first page is shown with. */
export type LoginNameNote = {
  readonly loginName?: string
  readonly problem?: "missing" | "unknown"
  /** Whether a passkey was shown that opens nothing. */
  readonly hasWrongKey?: boolean
  /** That passkey, where it is nobody's. */
  readonly unknownKey?: UnknownKey
}

/** The first page, as a form has left it. */
export const loginNames = notesFor<LoginNameNote>(loginPaths.loginName)

/** Longer ones are nobody's. */
export const loginNameMax = 200
