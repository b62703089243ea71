import type { MailServer, MailStep } from "../kernel/port/mail.ts"
import type { MailCause } from "../kernel/port/mail-cause.ts"

/** The causes of connection errors by the codes of Node and OpenSSL. */
const causesByErrorCode: Readonly<Record<string, MailCause>> = {
  ENOTFOUND: "unknown_name",
  EAI_AGAIN: "unknown_name",
  ECONNREFUSED: "connection_refused",
  EHOSTUNREACH: "unreachable",
  ENETUNREACH: "unreachable",
  ETIMEDOUT: "no_answer",
  ERR_TLS_CERT_ALTNAME_INVALID: "certificate_name",
  CERT_HAS_EXPIRED: "certificate_expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "certificate_untrusted",
  SELF_SIGNED_CERT_IN_CHAIN: "certificate_untrusted",
  UNABLE_TO_GET_ISSUER_CERT: "certificate_untrusted",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "certificate_untrusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "certificate_untrusted",
}

/** The causes of rejected commands, by the command in the library's error. */
const causesByCommand: Readonly<Record<string, MailCause>> = {
  "MAIL FROM": "sender_refused",
  "RCPT TO": "recipient_refused",
  DATA: "message_refused",
}

/**
 * RFC 5321 §3.8: 421 ends the session. RFC 3207 §4, RFC 4954 §6: 530 requires TLS or
 * authentication.
 */
export const serverErrorCodes: ReadonlySet<number> = new Set([421, 530])

type FailedDelivery = {
  readonly auth: MailServer["auth"]["kind"]
  readonly steps: readonly MailStep[]
}

/** The cause of a failed email; undefined if the error is not specific. */
export function mailCauseOf(error: Error, { auth, steps }: FailedDelivery): MailCause | undefined {
  const text = (name: string) => String(Reflect.get(error, name) ?? "")
  const code = text("code")
  const network = causesByErrorCode[text("originalCode")] ?? causesByErrorCode[code]
  if (network) return network
  if (steps.length === 0) return code === forbiddenAddress ? "forbidden_address" : undefined
  const response = Number(text("responseCode") || 0)
  if (serverErrorCodes.has(response)) return undefined
  switch (code) {
    case "EPROTOCOL":
      return text("command") === "CONN" ? "no_mail_server" : undefined
    case "ETLS":
      return response > 0 && text("command") === "STARTTLS" ? "no_tls" : undefined
    case "EAUTH":
      if (response < 500) return undefined
      return auth === "xoauth2" ? "access_token_refused" : "password_refused"
    case "EENVELOPE":
    case "EMESSAGE":
      return causesByCommand[text("command")]
    default:
      return undefined
  }
}

/** The error code for an address that must not be reached. */
export const forbiddenAddress = "ERR_ADDRESS_FORBIDDEN"
