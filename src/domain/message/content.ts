import type { Cx } from "../../store/index.ts"
import { requireInstance } from "../instance/index.ts"
import { messageText } from "../text/index.ts"
import { findUser, invitationOf, sentCode, shownNames } from "../user/index.ts"
import type { Message } from "./model.ts"

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
}

const codeKinds = { verify_email: "email", verify_phone: "phone", invite_user: "invite" } as const

/** What a message says now; a reason in words where it is worth nothing any more. */
export function contentOf(cx: Cx, message: Message): Content | { readonly over: string } {
  const { kind, userId } = message
  if (message.to === "") return { over: "there is nobody any more to write to" }
  if (kind === "password_change") return worded(cx, message, "")
  const code = sentCode(cx, userId, codeKinds[kind])
  if (code?.expires !== message.codeExpires) return { over: "its code was used or replaced" }
  if (cx.clock.now() >= code.expires) return { over: "its code is no longer good" }
  return worded(cx, message, code.plain)
}

function worded(cx: Cx, message: Message, code: string): Content {
  const { kind, userId } = message
  const row = findUser(cx, userId)
  const { organization, applicationName } = invitationOf(cx, userId)
  const { preferredLoginName } = shownNames(cx, row)
  const person = {
    DisplayName: row.display_name,
    FirstName: row.given_name,
    LastName: row.family_name,
    NickName: row.nick_name,
    UserName: row.user_name,
    PreferredLoginName: preferredLoginName,
    LastEmail: row.email,
    VerifiedEmail: row.email_verified === 1 ? row.email : "",
    LastPhone: row.phone,
    VerifiedPhone: row.phone_verified === 1 ? row.phone : "",
  }
  const asked = { orgId: row.org, language: row.preferred_language }
  const values = { ...person, Code: code, ApplicationName: applicationName || organization }
  const text =
    kind === "password_change"
      ? messageText(cx, { ...asked, kind }, person)
      : messageText(cx, { ...asked, kind }, values)
  const link = linkOf(cx, message, { code, orgId: row.org, loginName: preferredLoginName })
  return { ...text, link, code }
}

type Places = { readonly code: string; readonly orgId: string; readonly loginName: string }

/**
 * Where a message leads: what its cause asked for, else our page for it, at the public address
 * whatever the request was sent to. Our own code stands behind the #, which no log keeps.
 */
function linkOf(cx: Cx, { kind, userId, urlTemplate }: Message, places: Places): string {
  const { code, orgId, loginName } = places
  if (urlTemplate !== "") {
    const values: Readonly<Record<string, string>> = {
      ...{ UserID: userId, Code: code, OrgID: orgId, LoginName: loginName },
    }
    return urlTemplate.replace(/\{\{\s*\.(\w+)\s*\}\}/g, (_, name: string) =>
      encodeURIComponent(values[name] ?? ""),
    )
  }
  if (kind !== "invite_user") return ""
  const parameters = new URLSearchParams({ userId, organization: orgId, invite: "true" })
  const page = `${requireInstance(cx).publicUrl}/ui/login/verify`
  return `${page}?${parameters}#${encodeURIComponent(code)}`
}
