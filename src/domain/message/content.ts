import type { Call } from "../../kernel/context.ts"
import type { Cx } from "../../store/index.ts"
import { sentCode } from "../credential/index.ts"
import { requireInstance } from "../instance/index.ts"
import type { CodeFor } from "../lockout/index.ts"
import { isOnlyOrg, temporaryLabel } from "../org/index.ts"
import { invitationOf, registrantBy, registrationCode } from "../registration/index.ts"
import { messageText } from "../text/index.ts"
import { findUser, shownNames } from "../user-lookup/index.ts"
import { isMailSafe } from "../user-model/index.ts"
import type { Cause, Kind, Message } from "./model.ts"

/** A message in words. Its code and link are secrets: they open what they are for. */
export type Content = {
  readonly language: string
  readonly title: string
  readonly preHeader: string
  readonly subject: string
  readonly greeting: string
  readonly text: string
  readonly buttonText: string
  readonly footerText: string
  /** Empty where there is none. */
  readonly link: string
  readonly code: string
  /** The organization whose texts, name and logo it has; empty for the instance's. */
  readonly orgId: string
}

/** Why a message is not valid any more whose code is not the one that its user has. */
export const codeGone = "its code was used or replaced"

/** Kinds whose code stays with the person. */
const codeKinds: Readonly<Partial<Record<Kind, CodeFor>>> = {
  verify_email: "email",
  verify_phone: "phone",
  password_reset: "password",
  passwordless_registration: "passkey",
  invite_user: "invite",
}

/** What a message says now; a reason in words where it is worth nothing any more. */
export function contentOf(cx: Cx, message: Message): Content | { readonly over: string } {
  if (message.to === "") return { over: "there is nobody any more to write to" }
  if (message.codeExpires === 0) return worded(cx, message, { plain: "" })
  const code = codeOf(cx, message)
  if (code === undefined) return { over: codeGone }
  if (cx.clock.now() >= message.codeExpires) return { over: "its code is no longer good" }
  return worded(cx, message, code)
}

/** Whether a message had a code that its user has used, or replaced by another one. */
export const isCodeGone = (cx: Cx, message: Message): boolean =>
  message.codeExpires !== 0 && message.to !== "" && codeOf(cx, message) === undefined

/** A code in the plain, and what our own link carries beside it. */
type SentCode = { readonly plain: string; readonly key?: string }

/** The code of a message; undefined where the person has another one, or none, by now. */
function codeOf(cx: Cx, message: Message): SentCode | undefined {
  const { userId, sealed, codeExpires, isRegistrant } = message
  if (sealed !== "") {
    const plain = cx.secrets.open("seal", sealed, about(message))
    return plain === undefined ? undefined : { plain }
  }
  const of = userCodeOf(message)
  const code = isRegistrant ? registrationCode(cx, userId) : of && sentCode(cx, userId, of)
  return code?.expires === codeExpires ? code : undefined
}

/** Which code of a user a message contains; undefined for all others. */
export const userCodeOf = ({
  kind,
  isRegistrant,
}: Pick<Message, "kind" | "isRegistrant">): CodeFor | undefined =>
  isRegistrant ? undefined : codeKinds[kind]

/** A code that nothing but its message can be read from. */
export const sealedFor = (cx: Pick<Call, "secrets">, cause: Cause, code: string): string =>
  cx.secrets.seal("seal", code, about(cause))

const about = ({ userId, kind }: Cause): string => `message/${userId}/${kind}`

function worded(cx: Cx, message: Message, { plain: code, key = "" }: SentCode): Content {
  const { kind, userId } = message
  const row = rowOf(cx, message)
  const isSafe = !message.isRegistrant && isMailSafe(cx, userId, message.to)
  const invitation = invitationOf(cx, userId)
  const { organization, applicationName } = isSafe || invitation.isOfInstance ? invitation : nothing
  const preferredLoginName = isSafe ? shownNames(cx, row).preferredLoginName : row.user_name
  const person = {
    DisplayName: row.display_name,
    FirstName: row.given_name,
    LastName: row.family_name,
    NickName: row.nick_name,
    UserName: row.user_name,
    PreferredLoginName: preferredLoginName,
    LastEmail: row.email,
    VerifiedEmail: row.email_verified ? row.email : "",
    LastPhone: row.phone,
    VerifiedPhone: row.phone_verified ? row.phone : "",
  }
  const { org: orgId, display_name: displayName } = row
  // An unverified address may be a stranger's: an organization can't write to it in our name.
  const isOrgTrusted = isSafe || invitation.isOfInstance || isOnlyOrg(cx)
  const textOrgId = isOrgTrusted ? orgId : ""
  const text = messageText(
    cx,
    { kind, orgId: textOrgId, userId, language: row.preferred_language },
    {
      ...person,
      Code: code,
      OTP: code,
      Expiry: Math.round((message.codeExpires - message.added) / 1000),
      Domain: message.domain ?? new URL(requireInstance(cx).publicUrl).hostname,
      TempUsername: isSafe ? row.user_name : temporaryName(cx, message),
      ApplicationName: applicationName || organization || requireInstance(cx).name,
      Place: message.place || "?",
    },
  )
  const places = {
    code,
    key,
    orgId,
    // Pages find the user by it.
    loginName: message.isRegistrant ? row.user_name : findLoginName(cx, userId),
    displayName,
    language: text.language,
  }
  return { ...text, link: linkOf(cx, message, places), code, orgId: textOrgId }
}

/** The name that the server has given a user, who may have chosen another one since. */
function temporaryName(cx: Cx, { userId, to, isRegistrant }: Message): string {
  const name = isRegistrant ? to : findUser(cx, userId).user_name
  const { hostname } = new URL(requireInstance(cx).publicUrl)
  return name.endsWith(`@${temporaryLabel}.${hostname}`) ? name : to
}

const nothing = { organization: "", applicationName: "" }

const findLoginName = (cx: Cx, userId: string): string =>
  shownNames(cx, findUser(cx, userId)).preferredLoginName

/**
 * Who a message speaks of. Where the address may be somebody else's, by the address alone: a name
 * that anybody can have typed would be a way to write to others in our name.
 */
function rowOf(cx: Cx, message: Message) {
  const { userId, to, isRegistrant } = message
  if (isRegistrant) {
    const { orgId = "", language = "" } = registrantBy(cx, userId) ?? {}
    return { ...addressOnly(to), org: orgId, preferred_language: language }
  }
  const { org, preferred_language, ...row } = findUser(cx, userId)
  const shown = isMailSafe(cx, userId, to) ? row : addressOnly(to)
  return { ...shown, org, preferred_language }
}

const addressOnly = (to: string) => ({
  display_name: to,
  given_name: to,
  family_name: "",
  nick_name: "",
  user_name: to,
  email: to,
  email_verified: false,
  phone: "",
  phone_verified: false,
})

type LinkValues = Readonly<
  Record<"code" | "key" | "orgId" | "loginName" | "displayName" | "language", string>
>

/**
 * Where a message leads: what its cause asked for, else our page for it, at the public address
 * whatever the request was sent to. Our own code stands behind the #, which no log keeps.
 */
function linkOf(cx: Cx, message: Message, places: LinkValues): string {
  const { kind, userId, urlTemplate, sessionId = "", requestId = "", codeId = "" } = message
  const { code, key, orgId, loginName } = places
  if (urlTemplate !== "") {
    const values: Readonly<Record<string, string>> = {
      UserID: userId,
      Code: code,
      OrgID: orgId,
      LoginName: loginName,
      SessionID: sessionId,
      CodeID: codeId,
      DisplayName: places.displayName,
      PreferredLanguage: places.language,
    }
    return urlTemplate.replace(/\{\{\s*\.(\w+)\s*\}\}/g, (_, name: string) =>
      encodeURIComponent(values[name] ?? ""),
    )
  }
  return pageLink(cx, kind, { userId, orgId, code, key, codeId, requestId })
}

type Led = Readonly<Record<"userId" | "orgId" | "code", string>> & {
  readonly key?: string
  readonly codeId?: string
  readonly requestId?: string
}

/** Where our own page for a kind of message is, at the public address; "" where there is none. */
export function pageLink(cx: Cx, kind: Kind, led: Led): string {
  const { userId, orgId, code, key = "", codeId = "", requestId = "" } = led
  const { publicUrl } = requireInstance(cx)
  const page = pages[kind]
  if (page === undefined) return ""
  const { path, more } = page
  if (code === "") return `${publicUrl}${path}`
  const parameters = new URLSearchParams({ userId, organization: orgId, ...more })
  if (codeId !== "") parameters.set("codeId", codeId)
  if (requestId !== "") parameters.set("request", requestId)
  // No server on the way logs what is behind the #; `linkCodeIn` of the pages parses it.
  const fragment = `${encodeURIComponent(code)}${key && `&key=${key}`}`
  return `${publicUrl}${path}?${parameters}#${fragment}`
}

type Page = { readonly path: string; readonly more?: Readonly<Record<string, string>> }

/** Our own page for each kind that has one. */
const pages: Readonly<Partial<Record<Kind, Page>>> = {
  init: { path: "/ui/login/register/verify" },
  account_exists: { path: "/ui/login" },
  invite_user: { path: "/ui/login/verify", more: { invite: "true" } },
  verify_email: { path: "/ui/login/verify" },
  verify_phone: { path: "/ui/login/verify", more: { phone: "true" } },
  password_reset: { path: "/ui/login/password/set" },
  passwordless_registration: { path: "/ui/login/passkey/set" },
  password_change: { path: "/ui/login" },
  domain_claimed: { path: "/ui/login" },
  new_device: { path: "/ui/account/sessions" },
  factor_added: { path: "/ui/account/security" },
  factor_removed: { path: "/ui/account/security" },
  phone_changed: { path: "/ui/account" },
  email_superseded: { path: "/ui/login" },
  owner_recovered: { path: "/ui/console/" },
  // The page lists what waits: opening it decides nothing.
  sign_up_waiting: { path: "/ui/console/users/sign-ups" },
}
