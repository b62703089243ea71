import { X509Certificate } from "node:crypto"
import { fieldError } from "../../kernel/fault.ts"
import type { Settings, Smtp, Twilio } from "./model.ts"

/** Validates the settings of a provider; throws for the first invalid field. */
export function validateProvider(settings: Settings): void {
  validateText("description", settings.description, 0)
  if (settings.kind === "smtp") validateSmtp(settings)
  else if (settings.kind === "http") validateUrl("endpoint", settings.endpoint)
  else validateTwilio(settings)
}

function validateSmtp(smtp: Smtp): void {
  validateText("sender_name", smtp.senderName, 1)
  validateEmail("sender_address", smtp.senderAddress)
  if (smtp.replyToAddress !== "") validateEmail("reply_to_address", smtp.replyToAddress)
  if (!parseHost(smtp.host)) {
    throw invalidFieldError(
      "host",
      "must be a host with an optional port (default 587), such as mail.example.com:465",
    )
  }
  if (smtp.caCertificate !== undefined) validateCertificates("ca_certificate", smtp.caCertificate)
  if (smtp.auth.kind === "none") return
  validateText("user", smtp.user, 1)
  if (!smtp.tls && !isImplicitTls(smtp)) {
    throw invalidFieldError(
      "tls",
      "must be on if there is a password, which would otherwise be sent unencrypted",
    )
  }
  if (smtp.auth.kind === "plain") return
  validateUrl("token_endpoint", smtp.auth.tokenEndpoint)
  validateText("client_id", smtp.auth.clientId, 1)
  for (const scope of smtp.auth.scopes) {
    // RFC 6749 §3.3
    if (!/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/.test(scope))
      throw invalidFieldError("scopes", "must be OAuth scopes")
  }
}

function validateTwilio({ sid, senderNumber, verifyServiceSid }: Twilio): void {
  // The values become parts of a URL path.
  if (!/^\w{1,200}$/.test(sid))
    throw invalidFieldError("sid", "must be the SID of an account, such as AC…")
  if (!/^\w{0,200}$/.test(verifyServiceSid)) {
    throw invalidFieldError(
      "verify_service_sid",
      "must be the SID of a Verify service, such as VA…, or empty",
    )
  }
  if (senderNumber === "" && verifyServiceSid === "") {
    throw invalidFieldError("sender_number", "is required unless verify_service_sid is set")
  }
  validateText("sender_number", senderNumber, 0)
}

/** Whether the connection uses TLS from the first byte; always at port 465 (RFC 8314 §3.3). */
export const isImplicitTls = ({ host, implicitTls }: Pick<Smtp, "host" | "implicitTls">): boolean =>
  implicitTls === true || parseHost(host)?.port === 465

const submissionPort = 587

/**
 * The host and port of an SMTP server; undefined if the text is invalid. The default port is 587
 * (RFC 6409 §3.1).
 */
export function parseHost(
  text: string,
): { readonly host: string; readonly port: number } | undefined {
  const [, v6, name, digits] =
    /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]{1,253}))(?::(\d{1,5}))?$/i.exec(text) ?? []
  const host = v6 ?? name
  const port = digits === undefined ? submissionPort : Number(digits)
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port }
}

/** Validates printable text on one line, which becomes part of a header. */
function validateText(field: string, text: string, min: 0 | 1): void {
  if (text.trim().length >= min && text.length <= 200 && !/[\p{C}\p{Zl}\p{Zp}]/u.test(text)) return
  throw invalidFieldError(field, `must be ${min} to 200 printable characters`)
}

export function validateEmail(field: string, text: string): void {
  const isOne =
    text.length <= 200 && /^[^\s@,;:<>()[\]\\"\p{C}]+@[^\s@,;:<>()[\]\\"\p{C}]+$/u.test(text)
  if (!isOne) throw invalidFieldError(field, "must be an email address such as name@example.com")
}

/** Validates one or more PEM certificates without other text. */
function validateCertificates(field: string, text: string): void {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  const rest = blocks.reduce((left, block) => left.replace(block, ""), text)
  const areAll = blocks.length > 0 && text.length <= 65_536 && rest.trim() === ""
  if (areAll && blocks.every(isCertificate)) return
  throw invalidFieldError(field, "must be one or more certificates in PEM format")
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined
  } catch {
    return false
  }
}

function validateUrl(field: string, text: string): void {
  const url = URL.parse(text)
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:"
  if (isWeb && text.length <= 2048 && text === text.trim() && !url.username && !url.password) return
  throw invalidFieldError(
    field,
    "must be a URL that starts with https:// or http://, without a password",
  )
}

export const invalidFieldError = (field: string, requirement: string) =>
  fieldError("message_provider.field_invalid", field, requirement)
