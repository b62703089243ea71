import { findOrgByVerifiedDomain } from "../../../domain/org/index.ts"
import {
  findUsableSignUpLink,
  isLinkSecretValid,
  type SignUpLink,
} from "../../../domain/sign-up/index.ts"
import { emailDomainOf } from "../../../protocol/domain.ts"
import type { Cx } from "../../../store/index.ts"
import type { LoginContext, Screen } from "../../context.ts"
import type { Fields } from "../../form.ts"
import { limitGuesses, parseLinked, rejectLink, showLink } from "../../part/link.ts"
import { loginPaths } from "../../path.ts"
import { registerPages } from "./page.ts"

const kind = "sign_up"

/** The registration link that a user registers with. */
export type SignUp = { readonly id: string; readonly link: SignUpLink }

/**
 * The link of a registration: undefined if it began without one, "over" if the link expired, was
 * revoked or is used up.
 */
export function findSignUp(cx: Cx, id: string | undefined): SignUp | "over" | undefined {
  if (id === undefined) return undefined
  const link = findUsableSignUpLink(cx, id)
  return link ? { id, link } : "over"
}

/** POST: the secret of the link; the page that asks for name and email address follows. */
async function postSignUpLink(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx } = loginContext
  const linked = parseLinked(fields)
  const { userId: id, code: secret } = linked
  const result = await limitGuesses(cx, secret, async () =>
    isLinkSecretValid(cx, { id, secret }) ? "ok" : "wrong",
  )
  if (result !== "ok") return rejectLink(loginContext, { kind, linked }, result)
  const nothing = { email: "", givenName: "", familyName: "", organization: "" }
  return registerPages.join.state.next(loginContext, { ...nothing, signUpLinkId: id })
}

/** The page of a link that has ended since it was opened. */
export function rejectEndedLink(
  loginContext: LoginContext,
  id: string,
): Promise<Response> | Response {
  const linked = { userId: id, code: "", key: "", organization: "", request: "" }
  return rejectLink(loginContext, { kind, linked }, "wrong")
}

/**
 * The organization that an email address joins with a link; undefined if another organization has
 * verified the domain of the address, which decides who receives an account with it.
 */
export function orgByLink(cx: Cx, { link }: SignUp, email: string): string | undefined {
  const owner = findOrgByVerifiedDomain(cx, emailDomainOf(email))
  return owner === undefined || owner === link.orgId ? link.orgId : undefined
}

export const signUpLinkScreen: Screen = {
  path: loginPaths.signUpLink,
  get: (loginContext) => showLink(loginContext, kind),
  post: postSignUpLink,
}
