import { X509Certificate } from "node:crypto"
import { fieldError } from "../../kernel/fault.ts"
import type { Settings, Smtp, Twilio } from "./model.ts"

/** Refuses settings that nothing could be sent by, each with what is wanted instead. */
export function checkProvider(settings: Settings): void {
  shortText("description", settings.description, 0)
  if (settings.kind === "smtp") checkSmtp(settings)
  else if (settings.kind === "http") webAddress("endpoint", settings.endpoint)
  else checkTwilio(settings)
}

function checkSmtp(smtp: Smtp): void {
  shortText("sender_name", smtp.senderName, 1)
  address("sender_address", smtp.senderAddress)
  if (smtp.replyToAddress !== "") address("reply_to_address", smtp.replyToAddress)
  if (!hostOf(smtp.host)) {
    throw refusedError(
      "host",
      "must be a host, with its port where that is not 587: mail.example.com:465",
    )
  }
  if (smtp.caCertificate !== undefined) certificates("ca_certificate", smtp.caCertificate)
  if (smtp.auth.kind === "none") return
  shortText("user", smtp.user, 1)
  if (!smtp.tls && !isImplicitTls(smtp)) {
    throw refusedError("tls", "must be on where there is a password: it would be sent in the clear")
  }
  if (smtp.auth.kind === "plain") return
  webAddress("token_endpoint", smtp.auth.tokenEndpoint)
  shortText("client_id", smtp.auth.clientId, 1)
  for (const scope of smtp.auth.scopes) {
    // RFC 6749 §3.3
    if (!/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/.test(scope))
      throw refusedError("scopes", "must be OAuth scopes")
  }
}

function checkTwilio({ sid, senderNumber, verifyServiceSid }: Twilio): void {
  // They become parts of a path.
  if (!/^\w{1,200}$/.test(sid))
    throw refusedError("sid", "must be the id of an account, such as AC…")
  if (!/^\w{0,200}$/.test(verifyServiceSid)) {
    throw refusedError("verify_service_sid", "must be the id of a service, such as VA…, or empty")
  }
  if (senderNumber === "" && verifyServiceSid === "") {
    throw refusedError("sender_number", "must say who sends, unless there is a verify_service_sid")
  }
  shortText("sender_number", senderNumber, 0)
}

/** Whether a server is spoken to over TLS from the first byte; at 465 always (RFC 8314 §3.3). */
export const isImplicitTls = ({ host, implicitTls }: Pick<Smtp, "host" | "implicitTls">): boolean =>
  implicitTls === true || hostOf(host)?.port === 465

const submission = 587

/** The host and port of an SMTP server; undefined where the text is neither. RFC 6409 §3.1: 587. */
export function hostOf(text: string): { readonly host: string; readonly port: number } | undefined {
  const [, v6, name, digits] =
    /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]{1,253}))(?::(\d{1,5}))?$/i.exec(text) ?? []
  const host = v6 ?? name
  const port = digits === undefined ? submission : Number(digits)
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port }
}

/** Printable, on one line: it becomes part of a header. */
function shortText(field: string, text: string, min: 0 | 1): void {
  if (text.trim().length >= min && text.length <= 200 && !/[\p{C}\p{Zl}\p{Zp}]/u.test(text)) return
  throw refusedError(field, `must be plain text of ${min} to 200 characters`)
}

export function address(field: string, text: string): void {
  const isOne =
    text.length <= 200 && /^[^\s@,;:<>()[\]\\"\p{C}]+@[^\s@,;:<>()[\]\\"\p{C}]+$/u.test(text)
  if (!isOne) throw refusedError(field, "must be an e-mail address such as name@example.com")
}

/** One or several certificates, as PEM, and nothing else. */
function certificates(field: string, text: string): void {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  const rest = blocks.reduce((left, block) => left.replace(block, ""), text)
  const areAll = blocks.length > 0 && text.length <= 65_536 && rest.trim() === ""
  if (areAll && blocks.every(isCertificate)) return
  throw refusedError(field, "must be one or more certificates in PEM format")
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined
  } catch {
    return false
  }
}

function webAddress(field: string, text: string): void {
  const url = URL.parse(text)
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:"
  if (isWeb && text.length <= 2048 && text === text.trim() && !url.username && !url.password) return
  throw refusedError(
    field,
    "must be an address that begins with https:// or http://, without a password",
  )
}

export const refusedError = (field: string, wanted: string) =>
  fieldError("message_provider.field_invalid", field, wanted)
