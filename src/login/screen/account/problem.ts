import type { LoginContext, Screen } from "../../context.ts"
import { redirectTo } from "../../form.ts"
import { loginPaths } from "../../path.ts"
import { problemState, renderProblem } from "../../problem.ts"

/** GET of the result of a failed form. */
function showProblem(loginContext: LoginContext): Promise<Response> | Response {
  const state = problemState.of(loginContext)
  return state ? renderProblem(loginContext, state) : redirectTo(loginPaths.signedIn)
}

/** Explains the problem. */
export const problemScreen: Screen = { path: loginPaths.trouble, get: showProblem }
