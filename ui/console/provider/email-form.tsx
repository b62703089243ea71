import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import type { EmailProvider } from "../../../src/gen/core/settings/v1/provider_pb.ts"
import { Check } from "../../kit/check.tsx"
import { Chips } from "../../kit/choice.tsx"
import { TextField } from "../../kit/field.tsx"
import { SelectField } from "../../kit/select.tsx"
import { DialogForm } from "../form/form.tsx"
import { formId } from "../form/open.ts"
import { type Form, useForm } from "../form/use-form.ts"
import { call } from "../shell/call.ts"
import { useText } from "../shell/text.ts"
import { HttpFields } from "./http-fields.tsx"
import { type Made, newKey, type OnMade, saved } from "./provider.ts"
import { SecretField } from "./secret.tsx"
import { type AuthName, authNames, authOf, type SmtpValues, smtpOf } from "./smtp.ts"

const admin = AdminService.method
const kinds = ["smtp", "http"] as const
type Kind = (typeof kinds)[number]

export type Values = SmtpValues & {
  readonly kind: Kind
  readonly description: string
  readonly endpoint: string
  readonly renew: boolean
}

type EmailFormProps = OnMade & {
  readonly provider: EmailProvider | undefined
  readonly close: () => void
}

/** One provider of mails: an SMTP server, or a service that takes them over HTTP. */
export function EmailForm({ provider, close, onMade }: EmailFormProps) {
  const { t } = useText()
  const config = provider?.config
  const form = useForm<Values, Made | undefined>({
    id: formId("email_providers", provider?.id ?? "+"),
    initial: {
      kind: config?.case ?? "smtp",
      description: provider?.description ?? "",
      endpoint: config?.case === "http" ? config.value.endpoint : "",
      renew: false,
      ...smtpOf(config?.case === "smtp" ? config.value : undefined),
    },
    secret: ["password"],
    refusals: { senderAddress: ["message_provider.sender_foreign"] },
    save: (values) => save(provider?.id, values),
    done: (made) => {
      if (made?.signingKey) onMade(made)
      close()
    },
  })
  const { values, change } = form
  const title = t(provider ? "email_providers.edit" : "email_providers.create")
  return (
    <DialogForm title={title} form={form} onCancel={close}>
      {!provider && (
        <Chips
          legend={t("field.kind")}
          name="kind"
          options={kinds.map((value) => ({ value, label: t(`providers.${value}`) }))}
          value={values.kind}
          onChange={(kind) => change({ kind })}
        />
      )}
      <TextField
        label={t("providers.description")}
        optional={t("form.optional")}
        hint={t("providers.description_hint")}
        {...form.text("description")}
      />
      {values.kind === "smtp" ? (
        <SmtpFields form={form} isNew={!provider} />
      ) : (
        <HttpFields form={form} isNew={!provider} />
      )}
    </DialogForm>
  )
}

/** The key that requests are signed with comes back where there is a new one. */
async function save(id: string | undefined, values: Values): Promise<Made | undefined> {
  const { kind, description, endpoint, renew } = values
  if (kind === "http") {
    const wanted = { endpoint: endpoint.trim(), description }
    if (id === undefined) return call(admin.addEmailProviderHTTP, wanted)
    const renewed = { ...wanted, id, ...(renew && newKey) }
    const answer = await saved(call(admin.updateEmailProviderHTTP, renewed))
    return { id, signingKey: answer?.signingKey ?? "" }
  }
  const { senderAddress, senderName, replyToAddress, host, tls, user } = values
  const wanted = {
    ...{ description, senderAddress, senderName, replyToAddress, host: host.trim(), tls, user },
    Auth: authOf(values),
  }
  if (id === undefined) await call(admin.addEmailProviderSMTP, wanted)
  else await saved(call(admin.updateEmailProviderSMTP, { ...wanted, id }))
  return undefined
}

type SmtpFieldsProps = { readonly form: Form<Values>; readonly isNew: boolean }

function SmtpFields({ form, isNew }: SmtpFieldsProps) {
  const { t } = useText()
  const { values, change } = form
  const optional = t("form.optional")
  return (
    <>
      <TextField
        label={t("providers.host")}
        hint={t("providers.host_hint")}
        placeholder="mail.example.org:587"
        {...form.text("host")}
        required
      />
      <Check
        label={t("providers.tls")}
        hint={t("providers.tls_hint")}
        checked={values.tls}
        onChange={(tls) => change({ tls })}
      />
      <TextField
        label={t("providers.sender")}
        type="email"
        placeholder="accounts@example.org"
        {...form.text("senderAddress")}
        required
      />
      <TextField label={t("providers.sender_name")} {...form.text("senderName")} required />
      <TextField
        label={t("providers.reply_to")}
        optional={optional}
        type="email"
        {...form.text("replyToAddress")}
      />
      <SelectField<AuthName>
        label={t("providers.auth")}
        options={authNames.map((value) => ({ value, label: t(`providers.auth.${value}`) }))}
        value={values.auth}
        onChange={(auth) => change({ auth })}
      />
      {values.auth !== "none" && <LoginFields form={form} isNew={isNew} />}
    </>
  )
}

/** What an SMTP server is shown to be let in. */
function LoginFields({ form, isNew }: SmtpFieldsProps) {
  const { t } = useText()
  const isToken = form.values.auth === "xoauth2"
  return (
    <>
      <TextField label={t("providers.user")} {...form.text("user")} required />
      {isToken && (
        <>
          <TextField
            label={t("providers.token_endpoint")}
            type="url"
            {...form.text("tokenEndpoint")}
            maxLength={2048}
            required
          />
          <TextField
            label={t("providers.scopes")}
            hint={t("providers.scopes_hint")}
            {...form.text("scopes")}
            maxLength={1000}
          />
          <TextField label={t("providers.client_id")} {...form.text("clientId")} required />
        </>
      )}
      <SecretField
        form={form}
        name="password"
        label={t(isToken ? "providers.client_secret" : "providers.smtp_password")}
        {...(!isNew && { hint: t("providers.password_stays") })}
        required={isNew}
      />
    </>
  )
}
