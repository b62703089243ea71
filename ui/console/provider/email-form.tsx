import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import type { EmailProvider } from "../../../src/gen/core/settings/v1/provider_pb.ts"
import { type Controls, defineForm, wordList } from "../form/index.ts"
import { call, t } from "../shell/index.ts"
import {
  type CreatedSigningKey,
  type HttpValues,
  httpFields,
  ignoreUnchanged,
  keyRenewal,
  toHttpRequest,
} from "./provider.ts"
import { authNames, type SmtpValues, toAuth, toSmtpValues } from "./smtp.ts"

const admin = AdminService.method
const providerKinds = ["smtp", "http"] as const
type ProviderKind = (typeof providerKinds)[number]

type EmailFormValues = SmtpValues & HttpValues & { readonly kind: ProviderKind }

/** The form of an email provider: an SMTP server or an HTTP service. */
export function emailForm(provider: EmailProvider | undefined, done: OnSaved) {
  const config = provider?.config
  return defineForm<EmailFormValues, CreatedSigningKey | undefined>({
    initial: {
      kind: config?.case ?? "smtp",
      description: provider?.description ?? "",
      endpoint: config?.case === "http" ? config.value.endpoint : "",
      renew: false,
      ...toSmtpValues(config?.case === "smtp" ? config.value : undefined),
    },
    lists: { scopes: wordList },
    secret: ["password"],
    refusals: { senderAddress: ["message_provider.sender_foreign"] },
    save: (values) => saveEmailProvider(provider?.id, values),
    done,
    submit: t("form.save"),
    fields: (controls) => [
      !provider &&
        controls.chips("kind", t("field.kind"), {
          of: providerKinds,
          label: (kind) => t(`providers.${kind}`),
        }),
      controls.text("description", t("providers.description"), {
        optional: true,
        hint: t("providers.description_hint"),
      }),
      controls.values.kind === "smtp"
        ? smtpFields(controls, !provider)
        : httpFields(controls, !provider),
    ],
  })
}

type OnSaved = (created: CreatedSigningKey | undefined, close: () => void) => void

/** Returns the signing key if a new one was created. */
async function saveEmailProvider(
  id: string | undefined,
  values: EmailFormValues,
): Promise<CreatedSigningKey | undefined> {
  if (values.kind === "http") {
    const request = toHttpRequest(values)
    if (id === undefined) return call(admin.addEmailProviderHTTP, request)
    const change = call(admin.updateEmailProviderHTTP, { ...request, ...keyRenewal(values), id })
    return { id, signingKey: (await ignoreUnchanged(change))?.signingKey ?? "" }
  }
  const { description, senderAddress, senderName, replyToAddress, host, tls, user } = values
  const { implicitTls, caCertificate, privateNetwork } = values
  const request = {
    description,
    senderAddress,
    senderName,
    replyToAddress,
    host: host.trim(),
    tls,
    user,
    implicitTls,
    caCertificate,
    privateNetwork,
    Auth: toAuth(values),
  }
  if (id === undefined) await call(admin.addEmailProviderSMTP, request)
  else await ignoreUnchanged(call(admin.updateEmailProviderSMTP, { ...request, id }))
  return undefined
}

const smtpFields = (controls: Controls<EmailFormValues>, isNew: boolean) => {
  const { text, area, check, select, values } = controls
  return [
    text("host", t("providers.host"), {
      hint: t("providers.host_hint"),
      placeholder: "mail.example.org:587",
      required: true,
    }),
    check("tls", t("providers.tls"), t("providers.tls_hint")),
    check("implicitTls", t("providers.implicit_tls"), t("providers.implicit_tls_hint")),
    area("caCertificate", t("providers.ca_certificate"), {
      hint: t("providers.ca_certificate_hint"),
      optional: true,
      maxLength: 65_536,
    }),
    check("privateNetwork", t("providers.private_network"), t("providers.private_network_hint")),
    text("senderAddress", t("providers.sender"), {
      type: "email",
      placeholder: "accounts@example.org",
      required: true,
    }),
    text("senderName", t("providers.sender_name"), { required: true }),
    text("replyToAddress", t("providers.reply_to"), { optional: true, type: "email" }),
    select("auth", t("providers.auth"), {
      of: authNames,
      label: (auth) => t(`providers.auth.${auth}`),
    }),
    values.auth !== "none" && authFields(controls, isNew),
  ]
}

/** Authentication fields for an SMTP server. */
function authFields({ text, secret, values }: Controls<EmailFormValues>, isNew: boolean) {
  const isToken = values.auth === "xoauth2"
  return [
    text("user", t("providers.user"), { required: true }),
    isToken &&
      text("tokenEndpoint", t("providers.token_endpoint"), {
        type: "url",
        maxLength: 2048,
        required: true,
      }),
    isToken &&
      text("scopes", t("providers.scopes"), { hint: t("providers.scopes_hint"), maxLength: 1000 }),
    isToken && text("clientId", t("providers.client_id"), { required: true }),
    secret("password", t(isToken ? "providers.client_secret" : "providers.smtp_password"), {
      maxLength: 1000,
      required: isNew,
      hint: isNew ? undefined : t("providers.password_stays"),
    }),
  ]
}
