import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import {
  type SMSProvider,
  SMSProviderConfigState,
  type TwilioConfig,
} from "../../../src/gen/core/settings/v1/provider_pb.ts"
import { Badge } from "../../kit/index.ts"
import { ActivationButton, type Controls, DialogButton, defineForm } from "../form/index.ts"
import {
  Clip,
  Collection,
  type ListColumn,
  paginationOf,
  StateBadge,
  toPage,
} from "../list/index.ts"
import { call, t } from "../shell/index.ts"
import {
  type CreatedSigningKey,
  type HttpValues,
  httpFields,
  ignoreUnchanged,
  keyRenewal,
  passwordForm,
  type SigningKeyProps,
  showKey,
  toHttpRequest,
} from "./provider.ts"

const admin = AdminService.method
const providerKinds = ["twilio", "http"] as const
type ProviderKind = (typeof providerKinds)[number]

export function SmsProviders({ onKeyCreated }: SigningKeyProps) {
  return (
    <Collection
      family="sms_providers"
      unsearched
      method={admin.listSMSProviders}
      toRequest={(query) => ({ query: paginationOf(query) })}
      find={({ result, details }) => toPage(result, details)}
      columns={providerColumns()}
      keyOf={({ id }) => id}
      nameOf={providerName}
      form={(provider) => smsForm(provider, onKeyCreated)}
      needs={{
        create: admin.addSMSProviderTwilio,
        edit: admin.updateSMSProviderTwilio,
        remove: admin.removeSMSProvider,
      }}
      turn={(provider, options) => (
        <ActivationButton
          {...options}
          on={admin.activateSMSProvider}
          off={admin.deactivateSMSProvider}
          of={{ id: provider.id }}
          isOn={isActive(provider)}
          consequence={t("providers.off")}
        />
      )}
      more={(provider) => {
        const { id, config } = provider
        const change = (token: string) => call(admin.updateSMSProviderTwilioToken, { id, token })
        return (
          config.case === "twilio" && (
            <DialogButton
              small
              family={`provider-secret-${id}`}
              name={providerName(provider)}
              needs={admin.updateSMSProviderTwilioToken}
              label={t("providers.password")}
              form={passwordForm(change)}
            />
          )
        )
      }}
      remove={({ id }) => call(admin.removeSMSProvider, { id })}
    />
  )
}

const isActive = ({ state }: SMSProvider) =>
  state === SMSProviderConfigState.SMS_PROVIDER_CONFIG_ACTIVE

function providerName({ description, config }: SMSProvider): string {
  if (description) return description
  return (config.case === "twilio" ? config.value.sid : config.value?.endpoint) ?? ""
}

const providerColumns = (): readonly ListColumn<SMSProvider>[] => [
  { label: t("field.name"), cell: (provider) => <Clip text={providerName(provider)} /> },
  {
    label: t("field.kind"),
    cell: ({ config }) => <Badge>{t(`providers.${config.case ?? "http"}`)}</Badge>,
  },
  {
    label: t("providers.sender_number"),
    cell: ({ config }) => <Clip text={config.case === "twilio" ? config.value.senderNumber : ""} />,
  },
  { label: t("field.state"), cell: (provider) => <StateBadge isOn={isActive(provider)} /> },
]

const toTwilioValues = (twilio: TwilioConfig | undefined) => ({
  sid: twilio?.sid ?? "",
  token: "",
  senderNumber: twilio?.senderNumber ?? "",
  verifyServiceSid: twilio?.verifyServiceSid ?? "",
})

type SmsFormValues = HttpValues &
  ReturnType<typeof toTwilioValues> & { readonly kind: ProviderKind }

/** The form of an SMS provider: Twilio or an HTTP service. */
function smsForm(provider: SMSProvider | undefined, onKeyCreated: SigningKeyProps["onKeyCreated"]) {
  const config = provider?.config
  return defineForm<SmsFormValues, CreatedSigningKey | undefined>({
    initial: {
      kind: config?.case ?? "twilio",
      description: provider?.description ?? "",
      endpoint: config?.case === "http" ? config.value.endpoint : "",
      renew: false,
      ...toTwilioValues(config?.case === "twilio" ? config.value : undefined),
    },
    secret: ["token"],
    save: (values) => saveSmsProvider(provider?.id, values),
    done: showKey(onKeyCreated),
    submit: t("form.save"),
    fields: (controls) => [
      !provider &&
        controls.chips("kind", t("field.kind"), {
          of: providerKinds,
          label: (kind) => t(`providers.${kind}`),
        }),
      controls.text("description", t("providers.description"), { optional: true }),
      controls.values.kind === "http"
        ? httpFields(controls, !provider)
        : twilioFields(controls, !provider),
    ],
  })
}

const twilioFields = ({ text, secret }: Controls<SmsFormValues>, isNew: boolean) => [
  text("sid", t("providers.sid"), { placeholder: "AC…", required: true }),
  isNew && secret("token", t("providers.token"), { maxLength: 1000, required: true }),
  text("senderNumber", t("providers.sender_number"), {
    hint: t("providers.sender_number_hint"),
    type: "tel",
  }),
  text("verifyServiceSid", t("providers.verify_sid"), {
    optional: true,
    hint: t("providers.verify_sid_hint"),
    placeholder: "VA…",
  }),
]

/** Returns the signing key if a new one was created. */
async function saveSmsProvider(
  id: string | undefined,
  values: SmsFormValues,
): Promise<CreatedSigningKey | undefined> {
  if (values.kind === "http") {
    const request = toHttpRequest(values)
    if (id === undefined) return call(admin.addSMSProviderHTTP, request)
    const change = call(admin.updateSMSProviderHTTP, { ...request, ...keyRenewal(values), id })
    return { id, signingKey: (await ignoreUnchanged(change))?.signingKey ?? "" }
  }
  const { description, sid, token, senderNumber, verifyServiceSid } = values
  const request = { description, sid: sid.trim(), senderNumber, verifyServiceSid }
  if (id === undefined) await call(admin.addSMSProviderTwilio, { ...request, token })
  else await ignoreUnchanged(call(admin.updateSMSProviderTwilio, { ...request, id }))
  return undefined
}
