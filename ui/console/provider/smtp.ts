import type { MessageInitShape } from "@bufbuild/protobuf"
import type { AddEmailProviderSMTPRequestSchema } from "../../../src/gen/core/admin/v1/email_provider_pb.ts"
import type { EmailProviderSMTP } from "../../../src/gen/core/settings/v1/provider_pb.ts"
import { type MailCause, mailCauses } from "../../../src/kernel/port/mail-cause.ts"
import { linesOf } from "../form/index.ts"

/** How Latchkey authenticates to an SMTP server. */
export const authNames = ["plain", "xoauth2", "none"] as const
export type AuthName = (typeof authNames)[number]

/** Form values of an SMTP server; `password` is also the client secret for OAuth. */
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
  /** Separated by spaces. */
  readonly scopes: string
  readonly clientId: string
}

/** Stored values of a server, or defaults for a new one. */
export function toSmtpValues(smtp: EmailProviderSMTP | undefined): SmtpValues {
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

/** The authentication settings of a request; without a password the stored one is kept. */
export function toAuth(values: SmtpValues): Auth {
  const { auth, password, tokenEndpoint, scopes, clientId } = values
  if (auth === "none") return { case: "none", value: {} }
  if (auth === "plain") return { case: "plain", value: { password } }
  const by = { case: "clientCredentials", value: { clientId, clientSecret: password } } as const
  return { case: "xoauth2", value: { tokenEndpoint, scopes: linesOf(scopes), OAuth2Type: by } }
}

type Auth = NonNullable<MessageInitShape<typeof AddEmailProviderSMTPRequestSchema>["Auth"]>

/** Steps of sending an email; not every server requires all of them. */
export const deliveryStepNames = [
  "resolved",
  "connected",
  "secured",
  "authenticated",
  "accepted",
] as const
export type StepName = (typeof deliveryStepNames)[number]

export const parseStep = (name: string): StepName | undefined =>
  deliveryStepNames.find((step) => step === name)

/** The steps before a failed one, with these settings. */
export function stepsBefore(failed: StepName, smtp: EmailProviderSMTP) {
  const { tls, implicitTls, host, Auth: auth } = smtp
  const skipped: readonly StepName[] = [
    ...(tls || implicitTls || host.endsWith(":465") ? [] : (["secured"] as const)),
    ...(auth.case === "none" ? (["authenticated"] as const) : []),
  ]
  const before = deliveryStepNames.slice(0, deliveryStepNames.indexOf(failed))
  return before.filter((step) => !skipped.includes(step))
}

/** The cause of a failed email, if the server recognizes it. */
export const parseCause = (name: string): MailCause | undefined =>
  mailCauses.find((cause) => cause === name)
