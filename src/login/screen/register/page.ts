import type { RegisterProblem, RegistrationValues } from "../../../../ui/login/index.ts"
import { pageStateFor } from "../../page-state.ts"
import { loginPaths } from "../../path.ts"

/** State of the page after its form was posted or a registration link was opened. */
type RegisterPageState = RegistrationValues & {
  readonly problem?: RegisterProblem
  readonly signUpLinkId?: string | undefined
}

/** The pages for joining and for creating an organization. */
export const registerPages = {
  join: { path: loginPaths.register, state: pageStateFor<RegisterPageState>(loginPaths.register) },
  found: {
    path: loginPaths.registerOrg,
    state: pageStateFor<RegisterPageState>(loginPaths.registerOrg),
  },
} as const
