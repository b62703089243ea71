import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import type { EmailProvider } from "../../../src/gen/core/settings/v1/provider_pb.ts"
import { type Controls, formOf, wordList } from "../form/index.ts"
import { call, t } from "../shell/index.ts"
import {
  type CreatedSigningKey,
  type HttpValues,
  httpFields,
  httpOf,
  renewedOf,
  saved,
} from "./provider.ts"
import { authNames, authOf, type SmtpValues, smtpOf } from "./smtp.ts"

const admin = AdminService.method
const kinds = ["smtp", "http"] as const
type Kind = (typeof kinds)[number]

type Values = SmtpValues & HttpValues & { readonly kind: Kind }

/** One provider of mails: an SMTP server, or a service that takes them over HTTP. */
export function emailForm(provider: EmailProvider | undefined, done: Done) {
  const config = provider?.config
  return formOf<Values, CreatedSigningKey | undefined>({
    initial: {
      kind: config?.case ?? "smtp",
      description: provider?.description ?? "",
      endpoint: config?.case === "http" ? config.value.endpoint : "",
      renew: false,
      ...smtpOf(config?.case === "smtp" ? config.value : undefined),
    },
    lists: { scopes: wordList },
    secret: ["password"],
    refusals: { senderAddress: ["message_provider.sender_foreign"] },
    save: (values) => save(provider?.id, values),
    done,
    submit: t("form.save"),
    fields: (controls) => [
      !provider &&
        controls.chips("kind", t("field.kind"), {
          of: kinds,
          words: (kind) => t(`providers.${kind}`),
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

type Done = (made: CreatedSigningKey | undefined, close: () => void) => void

/** The key that requests are signed with comes back where there is a new one. */
async function save(
  id: string | undefined,
  values: Values,
): Promise<CreatedSigningKey | undefined> {
  if (values.kind === "http") {
    const wanted = httpOf(values)
    if (id === undefined) return call(admin.addEmailProviderHTTP, wanted)
    const change = call(admin.updateEmailProviderHTTP, { ...wanted, ...renewedOf(values), id })
    return { id, signingKey: (await saved(change))?.signingKey ?? "" }
  }
  const { description, senderAddress, senderName, replyToAddress, host, tls, user } = values
  const { implicitTls, caCertificate, privateNetwork } = values
  const wanted = {
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
    Auth: authOf(values),
  }
  if (id === undefined) await call(admin.addEmailProviderSMTP, wanted)
  else await saved(call(admin.updateEmailProviderSMTP, { ...wanted, id }))
  return undefined
}

const smtpFields = (controls: Controls<Values>, isNew: boolean) => {
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
      words: (auth) => t(`providers.auth.${auth}`),
    }),
    values.auth !== "none" && loginFields(controls, isNew),
  ]
}

/** What an SMTP server is shown to be let in. */
function loginFields({ text, secret, values }: Controls<Values>, isNew: boolean) {
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
