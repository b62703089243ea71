import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import {
  type SMSProvider,
  SMSProviderConfigState,
  type TwilioConfig,
} from "../../../src/gen/core/settings/v1/provider_pb.ts"
import { Badge } from "../../kit/index.ts"
import { ActivationButton, type Controls, DialogButton, formOf } from "../form/index.ts"
import { Clip, Collection, found, type ListColumn, pageOf, StateBadge } from "../list/index.ts"
import { call, t } from "../shell/index.ts"
import {
  type CreatedSigningKey,
  type HttpValues,
  httpFields,
  httpOf,
  type OnMade,
  passwordForm,
  renewedOf,
  saved,
  shownBy,
} from "./provider.ts"

const admin = AdminService.method
const kinds = ["twilio", "http"] as const
type Kind = (typeof kinds)[number]

export function SmsProviders({ onMade }: OnMade) {
  return (
    <Collection
      family="sms_providers"
      unsearched
      method={admin.listSMSProviders}
      ask={(asked) => ({ query: pageOf(asked) })}
      find={({ result, details }) => found(result, details)}
      columns={columnsOf()}
      keyOf={({ id }) => id}
      nameOf={nameOf}
      form={(provider) => smsForm(provider, onMade)}
      needs={{
        create: admin.addSMSProviderTwilio,
        edit: admin.updateSMSProviderTwilio,
        remove: admin.removeSMSProvider,
      }}
      turn={(provider, how) => (
        <ActivationButton
          {...how}
          on={admin.activateSMSProvider}
          off={admin.deactivateSMSProvider}
          of={{ id: provider.id }}
          isOn={isOn(provider)}
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
              name={nameOf(provider)}
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

const isOn = ({ state }: SMSProvider) => state === SMSProviderConfigState.SMS_PROVIDER_CONFIG_ACTIVE

function nameOf({ description, config }: SMSProvider): string {
  if (description) return description
  return (config.case === "twilio" ? config.value.sid : config.value?.endpoint) ?? ""
}

const columnsOf = (): readonly ListColumn<SMSProvider>[] => [
  { label: t("field.name"), cell: (provider) => <Clip text={nameOf(provider)} /> },
  {
    label: t("field.kind"),
    cell: ({ config }) => <Badge>{t(`providers.${config.case ?? "http"}`)}</Badge>,
  },
  {
    label: t("providers.sender_number"),
    cell: ({ config }) => <Clip text={config.case === "twilio" ? config.value.senderNumber : ""} />,
  },
  { label: t("field.state"), cell: (provider) => <StateBadge isOn={isOn(provider)} /> },
]

const twilioOf = (twilio: TwilioConfig | undefined) => ({
  sid: twilio?.sid ?? "",
  token: "",
  senderNumber: twilio?.senderNumber ?? "",
  verifyServiceSid: twilio?.verifyServiceSid ?? "",
})

type Values = HttpValues & ReturnType<typeof twilioOf> & { readonly kind: Kind }

/** One provider of text messages: Twilio, or a service that takes them over HTTP. */
function smsForm(provider: SMSProvider | undefined, onMade: OnMade["onMade"]) {
  const config = provider?.config
  return formOf<Values, CreatedSigningKey | undefined>({
    initial: {
      kind: config?.case ?? "twilio",
      description: provider?.description ?? "",
      endpoint: config?.case === "http" ? config.value.endpoint : "",
      renew: false,
      ...twilioOf(config?.case === "twilio" ? config.value : undefined),
    },
    secret: ["token"],
    save: (values) => save(provider?.id, values),
    done: shownBy(onMade),
    submit: t("form.save"),
    fields: (controls) => [
      !provider &&
        controls.chips("kind", t("field.kind"), {
          of: kinds,
          words: (kind) => t(`providers.${kind}`),
        }),
      controls.text("description", t("providers.description"), { optional: true }),
      controls.values.kind === "http"
        ? httpFields(controls, !provider)
        : twilioFields(controls, !provider),
    ],
  })
}

const twilioFields = ({ text, secret }: Controls<Values>, isNew: boolean) => [
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

/** The key that requests are signed with comes back where there is a new one. */
async function save(
  id: string | undefined,
  values: Values,
): Promise<CreatedSigningKey | undefined> {
  if (values.kind === "http") {
    const wanted = httpOf(values)
    if (id === undefined) return call(admin.addSMSProviderHTTP, wanted)
    const change = call(admin.updateSMSProviderHTTP, { ...wanted, ...renewedOf(values), id })
    return { id, signingKey: (await saved(change))?.signingKey ?? "" }
  }
  const { description, sid, token, senderNumber, verifyServiceSid } = values
  const wanted = { description, sid: sid.trim(), senderNumber, verifyServiceSid }
  if (id === undefined) await call(admin.addSMSProviderTwilio, { ...wanted, token })
  else await saved(call(admin.updateSMSProviderTwilio, { ...wanted, id }))
  return undefined
}
