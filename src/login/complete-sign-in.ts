import { afterwards, type LoginContext } from "./context.ts"
import { goTo } from "./form.ts"
import { type SignInOptions, signIn } from "./session.ts"

/** Signs a person in and sends the browser on; what is refused is for the caller to tell. */
export async function completeSignIn<Refusal extends object = never>(
  loginContext: LoginContext,
  options: SignInOptions<Refusal>,
): Promise<Response | Refusal> {
  const result = await signIn(loginContext, options)
  if (result.kind === "refused") return result.refusal
  const stop = result.kind === "next" ? result.stop : undefined
  return goTo(stop ?? afterwards(loginContext), ...result.cookies)
}
