import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import {
  type SMSProvider,
  SMSProviderConfigState,
} from "../../../src/gen/core/settings/v1/provider_pb.ts"
import { Badge } from "../../kit/badge.tsx"
import { Chips } from "../../kit/choice.tsx"
import { TextField } from "../../kit/field.tsx"
import { DialogForm } from "../form/form.tsx"
import { formId } from "../form/open.ts"
import { useForm } from "../form/use-form.ts"
import { Clip } from "../list/badges.tsx"
import { Collection } from "../list/collection.tsx"
import { found, type ListColumn, pageOf } from "../list/listing.tsx"
import { StateBadge } from "../list/state-badge.tsx"
import { call } from "../shell/call.ts"
import { useText } from "../shell/text.ts"
import type { Texts } from "../shell/texts/index.ts"
import { HttpFields } from "./http-fields.tsx"
import { type Made, newKey, type OnMade, saved } from "./provider.ts"
import { NewPassword, SecretField } from "./secret.tsx"

const admin = AdminService.method
const kinds = ["twilio", "http"] as const
type Kind = (typeof kinds)[number]

export function SmsProviders({ onMade }: OnMade) {
  const texts = useText()
  return (
    <Collection
      family="sms_providers"
      unsearched
      method={admin.listSMSProviders}
      ask={(asked) => ({ query: pageOf(asked) })}
      find={({ result, details }) => found(result, details)}
      columns={columnsOf(texts)}
      keyOf={({ id }) => id}
      nameOf={nameOf}
      form={(provider, close) => <SmsForm {...{ provider, close, onMade }} />}
      needs={{
        create: admin.addSMSProviderTwilio,
        edit: admin.updateSMSProviderTwilio,
        remove: admin.removeSMSProvider,
      }}
      turn={{
        needs: admin.deactivateSMSProvider,
        isOn,
        act: ({ id }, on) =>
          on ? call(admin.activateSMSProvider, { id }) : call(admin.deactivateSMSProvider, { id }),
        off: texts.t("providers.off"),
      }}
      more={(provider) => {
        const { id, config } = provider
        const change = (token: string) => call(admin.updateSMSProviderTwilioToken, { id, token })
        return (
          config.case === "twilio" && (
            <NewPassword
              needs={admin.updateSMSProviderTwilioToken}
              {...{ id, change }}
              name={nameOf(provider)}
            />
          )
        )
      }}
      remove={({ id }) => call(admin.removeSMSProvider, { id })}
    />
  )
}

const isOn = ({ state }: SMSProvider) => state === SMSProviderConfigState.SMS_PROVIDER_CONFIG_ACTIVE

function nameOf({ description, config }: SMSProvider): string {
  if (description) return description
  return (config.case === "twilio" ? config.value.sid : config.value?.endpoint) ?? ""
}

const columnsOf = ({ t }: Texts): readonly ListColumn<SMSProvider>[] => [
  { label: t("field.name"), cell: (provider) => <Clip text={nameOf(provider)} /> },
  {
    label: t("field.kind"),
    cell: ({ config }) => <Badge>{t(`providers.${config.case ?? "http"}`)}</Badge>,
  },
  {
    label: t("providers.sender_number"),
    cell: ({ config }) => <Clip text={config.case === "twilio" ? config.value.senderNumber : ""} />,
  },
  {
    label: t("field.state"),
    cell: (provider) => <StateBadge state={isOn(provider) ? "active" : "inactive"} />,
  },
]

type Values = {
  readonly kind: Kind
  readonly description: string
  readonly endpoint: string
  readonly renew: boolean
  readonly sid: string
  readonly token: string
  readonly senderNumber: string
  readonly verifyServiceSid: string
}

type SmsFormProps = OnMade & {
  readonly provider: SMSProvider | undefined
  readonly close: () => void
}

/** One provider of text messages: Twilio, or a service that takes them over HTTP. */
function SmsForm({ provider, close, onMade }: SmsFormProps) {
  const { t } = useText()
  const config = provider?.config
  const twilio = config?.case === "twilio" ? config.value : undefined
  const form = useForm<Values, Made | undefined>({
    id: formId("sms_providers", provider?.id ?? "+"),
    initial: {
      kind: config?.case ?? "twilio",
      description: provider?.description ?? "",
      endpoint: config?.case === "http" ? config.value.endpoint : "",
      renew: false,
      sid: twilio?.sid ?? "",
      token: "",
      senderNumber: twilio?.senderNumber ?? "",
      verifyServiceSid: twilio?.verifyServiceSid ?? "",
    },
    secret: ["token"],
    save: (values) => save(provider?.id, values),
    done: (made) => {
      if (made?.signingKey) onMade(made)
      close()
    },
  })
  const { values, change } = form
  const optional = t("form.optional")
  const title = t(provider ? "sms_providers.edit" : "sms_providers.create")
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
        optional={optional}
        {...form.text("description")}
      />
      {values.kind === "http" ? (
        <HttpFields form={form} isNew={!provider} />
      ) : (
        <>
          <TextField label={t("providers.sid")} placeholder="AC…" {...form.text("sid")} required />
          {!provider && (
            <SecretField form={form} name="token" label={t("providers.token")} required />
          )}
          <TextField
            label={t("providers.sender_number")}
            hint={t("providers.sender_number_hint")}
            type="tel"
            {...form.text("senderNumber")}
          />
          <TextField
            label={t("providers.verify_sid")}
            optional={optional}
            hint={t("providers.verify_sid_hint")}
            placeholder="VA…"
            {...form.text("verifyServiceSid")}
          />
        </>
      )}
    </DialogForm>
  )
}

/** The key that requests are signed with comes back where there is a new one. */
async function save(id: string | undefined, values: Values): Promise<Made | undefined> {
  const { kind, description, endpoint, renew, token, ...rest } = values
  if (kind === "http") {
    const wanted = { endpoint: endpoint.trim(), description }
    if (id === undefined) return call(admin.addSMSProviderHTTP, wanted)
    const renewed = { ...wanted, id, ...(renew && newKey) }
    const answer = await saved(call(admin.updateSMSProviderHTTP, renewed))
    return { id, signingKey: answer?.signingKey ?? "" }
  }
  const { sid, senderNumber, verifyServiceSid } = rest
  const wanted = { description, sid: sid.trim(), senderNumber, verifyServiceSid }
  if (id === undefined) await call(admin.addSMSProviderTwilio, { ...wanted, token })
  else await saved(call(admin.updateSMSProviderTwilio, { ...wanted, id }))
  return undefined
}
