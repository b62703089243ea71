import type { PageProps } from "../../../ui/login/index.ts"
import { hrefOf, type LoginContext } from "../context.ts"
import { loginPaths } from "../path.ts"
import { canCreateOrg, registrationOrgOf } from "../policy/registration.ts"

/** Whether a user joins an organization or creates one. */
export type RegistrationKind = "join" | "found"

/** The registration page; undefined if users can't register. */
export const registerHref = (loginContext: LoginContext): string | undefined =>
  canRegister(loginContext, "join") ? hrefOf(loginContext, loginPaths.register) : undefined

/** Whether users without an account can register in this way. */
export const canRegister = ({ cx, waiting }: LoginContext, kind: RegistrationKind): boolean =>
  kind === "found"
    ? canCreateOrg(cx, waiting?.asked.home)
    : registrationOrgOf(cx, waiting?.asked.home) !== undefined

/** The notice for a registration request (prompt=create) if users can't register. */
export function registrationNotice(
  { cx, waiting }: LoginContext,
  { t }: Pick<PageProps, "t">,
): string | undefined {
  if (!waiting?.asked.prompts.includes("create")) return undefined
  return registrationOrgOf(cx, waiting.asked.home) === undefined ? t("register.closed") : undefined
}
