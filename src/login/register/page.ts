import type { Registering, RegisterProblem } from "../../../ui/login/index.ts"
import { notesFor } from "../note.ts"
import { loginPaths } from "../path.ts"

/** What the page is shown with again, or opened with by a sign-up link. */
type Shown = Registering & {
  readonly problem?: RegisterProblem
  readonly signUpLinkId?: string | undefined
}

/** The pages on which somebody joins an organization, or begins one. */
export const registerPages = {
  join: { path: loginPaths.register, notes: notesFor<Shown>(loginPaths.register) },
  found: { path: loginPaths.registerOrg, notes: notesFor<Shown>(loginPaths.registerOrg) },
} as const
