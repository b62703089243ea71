import type { PageProps } from "../../../ui/login/index.ts"
import { hrefOf, type LoginContext } from "../context.ts"
import { loginPaths } from "../path.ts"
import { mayFound, registrationHome } from "../policy/registration.ts"

/** Whether somebody joins an organization or begins one. */
export type RegistrationKind = "join" | "found"

/** Where who has no account makes one; undefined where nobody may. */
export const registerHref = (loginContext: LoginContext): string | undefined =>
  mayRegister(loginContext, "join") ? hrefOf(loginContext, loginPaths.register) : undefined

/** Whether whoever has no account may make one of a kind. */
export const mayRegister = ({ cx, waiting }: LoginContext, kind: RegistrationKind): boolean =>
  kind === "found"
    ? mayFound(cx, waiting?.asked.home)
    : registrationHome(cx, waiting?.asked.home) !== undefined

/** What to tell who came for a new account (prompt=create) where nobody may make one. */
export function registrationNotice(
  { cx, waiting }: LoginContext,
  { t }: Pick<PageProps, "t">,
): string | undefined {
  if (!waiting?.asked.prompts.includes("create")) return undefined
  return registrationHome(cx, waiting.asked.home) === undefined ? t("register.closed") : undefined
}
