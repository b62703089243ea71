import { destinationAfterSignIn, type LoginContext } from "./context.ts"
import { redirectTo } from "./form.ts"
import { type SignInOptions, signIn } from "./session.ts"

/**
 * Signs in a user and redirects the browser to the next page; a failure is returned to the caller.
 */
export async function completeSignIn<Refusal extends object = never>(
  loginContext: LoginContext,
  options: SignInOptions<Refusal>,
): Promise<Response | Refusal> {
  const result = await signIn(loginContext, options)
  if (result.kind === "refused") return result.refusal
  const stop = result.kind === "next" ? result.stop : undefined
  return redirectTo(stop ?? destinationAfterSignIn(loginContext), ...result.cookies)
}
