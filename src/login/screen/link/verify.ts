import type { LinkKind } from "../../../../ui/login/index.ts"
import type { CodeOf } from "../../../domain/lockout/index.ts"
import { verifyByLink } from "../../../domain/user/index.ts"
import { type LoginContext, optionsOf, type Screen } from "../../context.ts"
import { type Fields, goTo } from "../../form.ts"
import { askLink, guessing, linkedIn, refuseLink } from "../../part/link.ts"
import { loginPaths } from "../../path.ts"

/** GET of a link: an invitation, or what shows whose an address or a phone is. */
export function askVerify(loginContext: LoginContext): Promise<Response> | Response {
  const { searchParams, pathname } = new URL(loginContext.request.url)
  if (pathname === loginPaths.verifyEmail) return askLink(loginContext, "verify_email")
  if (pathname === loginPaths.verifyPhone) return askLink(loginContext, "verify_phone")
  const is = (name: string) => searchParams.get(name) === "true"
  // Of the kinds of this address, only an invitation comes back to it.
  const isInvite = is("invite") || searchParams.has("as")
  const kind: LinkKind = isInvite ? "invite" : is("phone") ? "verify_phone" : "verify_email"
  return askLink(loginContext, kind)
}

/** The code was shown, and is used up by that. */
const takeVerify =
  (of: CodeOf) =>
  async (loginContext: LoginContext, fields: Fields): Promise<Response> => {
    const { cx } = loginContext
    const linked = linkedIn(fields)
    const { userId, code, key } = linked
    const result = await guessing(cx, code, () => verifyByLink(cx, userId, { of, code, key }))
    if (result === "ok") return goTo(`${loginPaths.verified}?of=${of}`)
    return refuseLink(loginContext, { kind: `verify_${of}`, linked }, result)
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
  get: askVerify,
  post: takeVerify("email"),
}

export const verifyPhoneScreen: Screen = {
  path: loginPaths.verifyPhone,
  get: askVerify,
  post: takeVerify("phone"),
}

export const verifiedScreen: Screen = { path: loginPaths.verified, get: showVerified }
