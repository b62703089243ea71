import type { MessageInitShape } from "@bufbuild/protobuf"
import type { AddEmailProviderSMTPRequestSchema } from "../../../src/gen/core/admin/v1/email_provider_pb.ts"
import type { EmailProviderSMTP } from "../../../src/gen/core/settings/v1/provider_pb.ts"
import { type MailCause, mailCauses } from "../../../src/kernel/port/mail-cause.ts"
import { linesOf } from "../form/index.ts"

/** How an SMTP server learns who sends. */
export const authNames = ["plain", "xoauth2", "none"] as const
export type AuthName = (typeof authNames)[number]

/** An SMTP server as a form holds it; `password` is also the secret of an OAuth client. */
export type SmtpValues = {
  readonly host: string
  readonly tls: boolean
  readonly implicitTls: boolean
  readonly caCertificate: string
  readonly privateNetwork: boolean
  readonly senderAddress: string
  readonly senderName: string
  readonly replyToAddress: string
  readonly auth: AuthName
  readonly user: string
  readonly password: string
  readonly tokenEndpoint: string
  /** Words with spaces between them. */
  readonly scopes: string
  readonly clientId: string
}

/** What is kept of a server; what most are where there is none yet. */
export function smtpOf(smtp: EmailProviderSMTP | undefined): SmtpValues {
  const token = smtp?.Auth.case === "xoauth2" ? smtp.Auth.value : undefined
  return {
    host: smtp?.host ?? "",
    tls: smtp?.tls ?? true,
    implicitTls: smtp?.implicitTls ?? false,
    caCertificate: smtp?.caCertificate ?? "",
    privateNetwork: smtp?.privateNetwork ?? false,
    senderAddress: smtp?.senderAddress ?? "",
    senderName: smtp?.senderName ?? "",
    replyToAddress: smtp?.replyToAddress ?? "",
    auth: smtp ? (smtp.Auth.case ?? "none") : "plain",
    user: smtp?.user ?? "",
    password: "",
    tokenEndpoint: token?.tokenEndpoint ?? "",
    scopes: token?.scopes.join(" ") ?? "",
    clientId: token?.OAuth2Type.value?.clientId ?? "",
  }
}

/** The same as requests say it; without a password the one that is kept stays. */
export function authOf(values: SmtpValues): Auth {
  const { auth, password, tokenEndpoint, scopes, clientId } = values
  if (auth === "none") return { case: "none", value: {} }
  if (auth === "plain") return { case: "plain", value: { password } }
  const by = { case: "clientCredentials", value: { clientId, clientSecret: password } } as const
  return { case: "xoauth2", value: { tokenEndpoint, scopes: linesOf(scopes), OAuth2Type: by } }
}

type Auth = NonNullable<MessageInitShape<typeof AddEmailProviderSMTPRequestSchema>["Auth"]>

/** What a mail gets through on its way, as far as a server asks for it. */
export const stepNames = ["resolved", "connected", "secured", "authenticated", "accepted"] as const
export type StepName = (typeof stepNames)[number]

export const stepOf = (name: string): StepName | undefined =>
  stepNames.find((step) => step === name)

/** What it has got through before one step, with these settings. */
export function stepsBefore(failed: StepName, smtp: EmailProviderSMTP) {
  const { tls, implicitTls, host, Auth: auth } = smtp
  const skipped: readonly StepName[] = [
    ...(tls || implicitTls || host.endsWith(":465") ? [] : (["secured"] as const)),
    ...(auth.case === "none" ? (["authenticated"] as const) : []),
  ]
  const before = stepNames.slice(0, stepNames.indexOf(failed))
  return before.filter((step) => !skipped.includes(step))
}

/** What a mail failed of, where the server knows that exactly. */
export const causeOf = (name: string): MailCause | undefined =>
  mailCauses.find((cause) => cause === name)
