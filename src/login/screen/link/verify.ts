import type { LinkKind } from "../../../../ui/login/index.ts"
import type { ContactKind } from "../../../domain/lockout/index.ts"
import { verifyByLink } from "../../../domain/user/index.ts"
import { type LoginContext, optionsOf, type Screen } from "../../context.ts"
import { type Fields, redirectTo } from "../../form.ts"
import { limitGuesses, parseLinked, rejectLink, showLink } from "../../part/link.ts"
import { loginPaths } from "../../path.ts"

/** GET of an invitation, or of a link that verifies an email address or a phone number. */
export function showVerify(loginContext: LoginContext): Promise<Response> | Response {
  const { searchParams, pathname } = new URL(loginContext.request.url)
  if (pathname === loginPaths.verifyEmail) return showLink(loginContext, "verify_email")
  if (pathname === loginPaths.verifyPhone) return showLink(loginContext, "verify_phone")
  const is = (name: string) => searchParams.get(name) === "true"
  // Of the kinds of links with this path, only invitations return to it.
  const isInvite = is("invite") || searchParams.has("as")
  const kind: LinkKind = isInvite ? "invite" : is("phone") ? "verify_phone" : "verify_email"
  return showLink(loginContext, kind)
}

/** POST: verifies the code, which can be used once. */
const postVerify =
  (of: ContactKind) =>
  async (loginContext: LoginContext, fields: Fields): Promise<Response> => {
    const { cx } = loginContext
    const linked = parseLinked(fields)
    const { userId, code, key } = linked
    const result = await limitGuesses(cx, code, () => verifyByLink(cx, userId, { of, code, key }))
    if (result === "ok") return redirectTo(`${loginPaths.verified}?of=${of}`)
    return rejectLink(loginContext, { kind: `verify_${of}`, linked }, result)
  }

function showVerified(loginContext: LoginContext): Promise<Response> {
  const of = new URL(loginContext.request.url).searchParams.get("of")
  const kind = of === "phone" ? "verify_phone" : "verify_email"
  return loginContext.show(
    loginContext.cx,
    (ui, shared) => ui.DonePage({ ...shared, kind, signInHref: loginPaths.entry }),
    optionsOf(loginContext),
  )
}

export const verifyEmailScreen: Screen = {
  path: loginPaths.verifyEmail,
  get: showVerify,
  post: postVerify("email"),
}

export const verifyPhoneScreen: Screen = {
  path: loginPaths.verifyPhone,
  get: showVerify,
  post: postVerify("phone"),
}

export const verifiedScreen: Screen = { path: loginPaths.verified, get: showVerified }
