import { orgOfProvenDomain } from "../../../domain/org/index.ts"
import { isSignUpLink, type SignUpLink, usableSignUpLink } from "../../../domain/sign-up/index.ts"
import { emailDomainOf } from "../../../protocol/domain.ts"
import type { Cx } from "../../../store/index.ts"
import type { LoginContext, Screen } from "../../context.ts"
import type { Fields } from "../../form.ts"
import { askLink, guessing, linkedIn, refuseLink } from "../../part/link.ts"
import { loginPaths } from "../../path.ts"
import { registerPages } from "./page.ts"

const kind = "sign_up"

/** The sign-up link that somebody registers with. */
export type SignUp = { readonly id: string; readonly link: SignUpLink }

/**
 * The sign-up link that a registration began with: undefined where it began without one, "over"
 * where the link has expired, was revoked or is used up.
 */
export function signUpWith(cx: Cx, id: string | undefined): SignUp | "over" | undefined {
  if (id === undefined) return undefined
  const link = usableSignUpLink(cx, id)
  return link ? { id, link } : "over"
}

/** The secret of the link was shown: the page that asks for name and email address follows. */
async function takeSignUpLink(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx } = loginContext
  const linked = linkedIn(fields)
  const { userId: id, code: secret } = linked
  const result = await guessing(cx, secret, async () =>
    isSignUpLink(cx, { id, secret }) ? "ok" : "wrong",
  )
  if (result !== "ok") return refuseLink(loginContext, { kind, linked }, result)
  const nothing = { email: "", givenName: "", familyName: "", organization: "" }
  return registerPages.join.notes.next(loginContext, { ...nothing, signUpLinkId: id })
}

/** The page of a link that has ended since it was opened. */
export function refuseEnded(loginContext: LoginContext, id: string): Promise<Response> | Response {
  const linked = { userId: id, code: "", key: "", organization: "", request: "" }
  return refuseLink(loginContext, { kind, linked }, "wrong")
}

/**
 * The organization that an email address joins with a link; undefined where another organization
 * has proven the domain of the address: it decides who gets an account with it.
 */
export function homeByLink(cx: Cx, { link }: SignUp, email: string): string | undefined {
  const owner = orgOfProvenDomain(cx, emailDomainOf(email))
  return owner === undefined || owner === link.orgId ? link.orgId : undefined
}

export const signUpLinkScreen: Screen = {
  path: loginPaths.signUpLink,
  get: (loginContext) => askLink(loginContext, kind),
  post: takeSignUpLink,
}
