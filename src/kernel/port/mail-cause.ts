/** Causes of mail failures that the network or the server states exactly. */
export const mailCauses = [
  "unknown_name",
  "forbidden_address",
  "connection_refused",
  "unreachable",
  "no_answer",
  "no_mail_server",
  "no_tls",
  "certificate_untrusted",
  "certificate_name",
  "certificate_expired",
  "secret_missing",
  "no_access_token",
  "password_refused",
  "access_token_refused",
  "sender_refused",
  "recipient_refused",
  "message_refused",
] as const
export type MailCause = (typeof mailCauses)[number]
