import { type LoginContext, optionsOf, type Screen } from "../../context.ts"
import { loginPaths } from "../../path.ts"

const showSignedOut = (loginContext: LoginContext): Promise<Response> =>
  loginContext.show(
    loginContext.cx,
    (ui, shared) =>
      ui.SignedOutPage({
        ...shared,
        signInHref: loginPaths.entry,
        hadNoSession: new URL(loginContext.request.url).searchParams.has("nobody"),
      }),
    optionsOf(loginContext),
  )

export const signedOutScreen: Screen = { path: loginPaths.signedOut, get: showSignedOut }
