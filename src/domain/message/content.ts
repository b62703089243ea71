import type { Call } from "../../kernel/context.ts"
import type { Cx } from "../../store/index.ts"
import { sentCode } from "../credential/index.ts"
import { requireInstance } from "../instance/index.ts"
import type { CodeFor } from "../lockout/index.ts"
import { isOnlyOrg, temporaryLabel } from "../org/index.ts"
import { findRegistrant, getInvitation, registrationCode } from "../registration/index.ts"
import { renderMessageText } from "../text/index.ts"
import { displayNames, requireUserRow } from "../user-lookup/index.ts"
import { isMailSafe } from "../user-model/index.ts"
import type { Cause, Kind, Message } from "./model.ts"

/** The rendered content of a message. The code and link are secrets. */
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
  /** The organization whose texts, name and logo are used; empty for those of the instance. */
  readonly orgId: string
}

/** Why a message is obsolete if its code is no longer the current one of the user. */
export const codeObsoleteText = "its code was used or replaced"

/** Kinds of messages whose code is stored with the user. */
const codeKinds: Readonly<Partial<Record<Kind, CodeFor>>> = {
  verify_email: "email",
  verify_phone: "phone",
  password_reset: "password",
  passwordless_registration: "passkey",
  invite_user: "invite",
}

/** The current content of a message, or the reason why it is obsolete. */
export function contentOf(cx: Cx, message: Message): Content | { readonly over: string } {
  if (message.to === "") return { over: "the recipient no longer exists" }
  if (message.codeExpires === 0) return render(cx, message, { plain: "" })
  const code = codeOf(cx, message)
  if (code === undefined) return { over: codeObsoleteText }
  if (cx.clock.now() >= message.codeExpires) return { over: "its code has expired" }
  return render(cx, message, code)
}

/** Whether the code of a message was used or replaced. */
export const isCodeObsolete = (cx: Cx, message: Message): boolean =>
  message.codeExpires !== 0 && message.to !== "" && codeOf(cx, message) === undefined

/** A decrypted code and the key that our own link contains. */
type PlainCode = { readonly plain: string; readonly key?: string }

/** The code of a message; undefined if it was used or replaced. */
function codeOf(cx: Cx, message: Message): PlainCode | undefined {
  const { userId, sealed, codeExpires, isRegistrant } = message
  if (sealed !== "") {
    const plain = cx.secrets.open("seal", sealed, sealContext(message))
    return plain === undefined ? undefined : { plain }
  }
  const of = userCodeOf(message)
  const code = isRegistrant ? registrationCode(cx, userId) : of && sentCode(cx, userId, of)
  return code?.expires === codeExpires ? code : undefined
}

/** The kind of user code that a message contains; undefined if it contains none. */
export const userCodeOf = ({
  kind,
  isRegistrant,
}: Pick<Message, "kind" | "isRegistrant">): CodeFor | undefined =>
  isRegistrant ? undefined : codeKinds[kind]

/** A sealed code that only this message can decrypt. */
export const sealCode = (cx: Pick<Call, "secrets">, cause: Cause, code: string): string =>
  cx.secrets.seal("seal", code, sealContext(cause))

const sealContext = ({ userId, kind }: Cause): string => `message/${userId}/${kind}`

function render(cx: Cx, message: Message, { plain: code, key = "" }: PlainCode): Content {
  const { kind, userId } = message
  const row = userDataOf(cx, message)
  const isSafe = !message.isRegistrant && isMailSafe(cx, userId, message.to)
  const invitation = getInvitation(cx, userId)
  const { organization, applicationName } =
    isSafe || invitation.isOfInstance ? invitation : noOrganization
  const preferredLoginName = isSafe ? displayNames(cx, row).preferredLoginName : row.user_name
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
  // An unverified address can belong to anyone, so an organization's texts can't be used for it.
  const isOrgTrusted = isSafe || invitation.isOfInstance || isOnlyOrg(cx)
  const textOrgId = isOrgTrusted ? orgId : ""
  const text = renderMessageText(
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
  const linkValues = {
    code,
    key,
    orgId,
    // The pages identify the user by the login name.
    loginName: message.isRegistrant ? row.user_name : findLoginName(cx, userId),
    displayName,
    language: text.language,
  }
  return { ...text, link: linkOf(cx, message, linkValues), code, orgId: textOrgId }
}

/** The user name that the server assigned; the user may have changed it since. */
function temporaryName(cx: Cx, { userId, to, isRegistrant }: Message): string {
  const name = isRegistrant ? to : requireUserRow(cx, userId).user_name
  const { hostname } = new URL(requireInstance(cx).publicUrl)
  return name.endsWith(`@${temporaryLabel}.${hostname}`) ? name : to
}

const noOrganization = { organization: "", applicationName: "" }

const findLoginName = (cx: Cx, userId: string): string =>
  displayNames(cx, requireUserRow(cx, userId)).preferredLoginName

/**
 * The user data of a message. If the address is not verified, only the address is used: a name that
 * anyone could enter would allow sending text to others in our name.
 */
function userDataOf(cx: Cx, message: Message) {
  const { userId, to, isRegistrant } = message
  if (isRegistrant) {
    const { orgId = "", language = "" } = findRegistrant(cx, userId) ?? {}
    return { ...userDataFromAddress(to), org: orgId, preferred_language: language }
  }
  const { org, preferred_language, ...row } = requireUserRow(cx, userId)
  const display = isMailSafe(cx, userId, to) ? row : userDataFromAddress(to)
  return { ...display, org, preferred_language }
}

const userDataFromAddress = (to: string) => ({
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
 * The link of a message: the requested URL, or our own page at the public URL. Our own code is in
 * the fragment, which is never logged.
 */
function linkOf(cx: Cx, message: Message, linkValues: LinkValues): string {
  const { kind, userId, urlTemplate, sessionId = "", requestId = "", codeId = "" } = message
  const { code, key, orgId, loginName } = linkValues
  if (urlTemplate !== "") {
    const values: Readonly<Record<string, string>> = {
      UserID: userId,
      Code: code,
      OrgID: orgId,
      LoginName: loginName,
      SessionID: sessionId,
      CodeID: codeId,
      DisplayName: linkValues.displayName,
      PreferredLanguage: linkValues.language,
    }
    return urlTemplate.replace(/\{\{\s*\.(\w+)\s*\}\}/g, (_, name: string) =>
      encodeURIComponent(values[name] ?? ""),
    )
  }
  return pageLink(cx, kind, { userId, orgId, code, key, codeId, requestId })
}

type PageLinkInput = Readonly<Record<"userId" | "orgId" | "code", string>> & {
  readonly key?: string
  readonly codeId?: string
  readonly requestId?: string
}

/** The URL of our own page for a kind of message; "" if there is none. */
export function pageLink(cx: Cx, kind: Kind, led: PageLinkInput): string {
  const { userId, orgId, code, key = "", codeId = "", requestId = "" } = led
  const { publicUrl } = requireInstance(cx)
  const page = pages[kind]
  if (page === undefined) return ""
  const { path, more } = page
  if (code === "") return `${publicUrl}${path}`
  const parameters = new URLSearchParams({ userId, organization: orgId, ...more })
  if (codeId !== "") parameters.set("codeId", codeId)
  if (requestId !== "") parameters.set("request", requestId)
  // Servers never log the fragment; `linkCodeIn` of the pages parses it.
  const fragment = `${encodeURIComponent(code)}${key && `&key=${key}`}`
  return `${publicUrl}${path}?${parameters}#${fragment}`
}

type MessagePage = { readonly path: string; readonly more?: Readonly<Record<string, string>> }

/** Our own pages by kind of message. */
const pages: Readonly<Partial<Record<Kind, MessagePage>>> = {
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
  // The page lists waiting sign-ups; opening it has no effect.
  sign_up_waiting: { path: "/ui/console/users/sign-ups" },
}
