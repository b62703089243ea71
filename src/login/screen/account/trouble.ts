import type { LoginContext, Screen } from "../../context.ts"
import { goTo } from "../../form.ts"
import { loginPaths } from "../../path.ts"
import { troublePage, troubles } from "../../trouble.ts"

/** GET of what a form has met. */
function showTroubled(loginContext: LoginContext): Promise<Response> | Response {
  const note = troubles.of(loginContext)
  return note ? troublePage(loginContext, note) : goTo(loginPaths.signedIn)
}

/** Says what stands in the way. */
export const troubleScreen: Screen = { path: loginPaths.trouble, get: showTroubled }
