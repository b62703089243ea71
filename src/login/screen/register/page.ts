import type { Registering, RegisterProblem } from "../../../../ui/login/index.ts"
import { notesFor } from "../../note.ts"
import { loginPaths } from "../../path.ts"

/** What the page is shown with again, or opened with by a sign-up link. */
type RegisterPage = Registering & {
  readonly problem?: RegisterProblem
  readonly signUpLinkId?: string | undefined
}

/** The pages on which somebody joins an organization, or begins one. */
export const registerPages = {
  join: { path: loginPaths.register, notes: notesFor<RegisterPage>(loginPaths.register) },
  found: { path: loginPaths.registerOrg, notes: notesFor<RegisterPage>(loginPaths.registerOrg) },
} as const
