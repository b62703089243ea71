import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import {
  type EmailProvider,
  EmailProviderState,
} from "../../../src/gen/core/settings/v1/provider_pb.ts"
import { Badge } from "../../kit/index.ts"
import { ActivationButton, DialogButton } from "../form/index.ts"
import { Clip, Collection, found, type ListColumn, pageOf, StateBadge } from "../list/index.ts"
import { call, t } from "../shell/index.ts"
import { emailForm } from "./email-form.tsx"
import { type OnMade, passwordForm, shownBy } from "./provider.ts"
import { TestMail } from "./test-mail.tsx"

const admin = AdminService.method

export function EmailProviders({ onMade }: OnMade) {
  return (
    <Collection
      family="email_providers"
      unsearched
      method={admin.listEmailProviders}
      ask={(asked) => ({ query: pageOf(asked) })}
      find={({ result, details }) => found(result, details)}
      columns={columnsOf()}
      keyOf={({ id }) => id}
      nameOf={nameOf}
      form={(provider) => emailForm(provider, shownBy(onMade))}
      needs={{
        create: admin.addEmailProviderSMTP,
        edit: admin.updateEmailProviderSMTP,
        remove: admin.removeEmailProvider,
      }}
      turn={(provider, how) => (
        <ActivationButton
          {...how}
          on={admin.activateEmailProvider}
          off={admin.deactivateEmailProvider}
          of={{ id: provider.id }}
          isOn={isOn(provider)}
          consequence={t("providers.off")}
        />
      )}
      more={(provider) => <More provider={provider} />}
      remove={({ id }) => call(admin.removeEmailProvider, { id })}
    />
  )
}

const isOn = ({ state }: EmailProvider) => state === EmailProviderState.EMAIL_PROVIDER_ACTIVE

/** Where it sends to, as one tells it apart. */
function nameOf({ description, config }: EmailProvider): string {
  if (description) return description
  return (config.case === "smtp" ? config.value.host : config.value?.endpoint) ?? ""
}

const columnsOf = (): readonly ListColumn<EmailProvider>[] => [
  { label: t("field.name"), cell: (provider) => <Clip text={nameOf(provider)} /> },
  {
    label: t("field.kind"),
    cell: ({ config }) => <Badge>{t(`providers.${config.case ?? "http"}`)}</Badge>,
  },
  {
    label: t("providers.sender"),
    cell: ({ config }) => <Clip text={config.case === "smtp" ? config.value.senderAddress : ""} />,
  },
  { label: t("field.state"), cell: (provider) => <StateBadge isOn={isOn(provider)} /> },
]

function More({ provider }: { readonly provider: EmailProvider }) {
  const { id, config } = provider
  if (config.case !== "smtp") return null
  const { Auth: auth } = config.value
  const change = (password: string) => call(admin.updateEmailProviderSMTPPassword, { id, password })
  return (
    <>
      <TestMail id={id} name={nameOf(provider)} smtp={config.value} />
      {auth.case !== "none" && (
        <DialogButton
          small
          family={`provider-secret-${id}`}
          name={nameOf(provider)}
          needs={admin.updateEmailProviderSMTPPassword}
          label={t("providers.password")}
          form={passwordForm(change)}
        />
      )}
    </>
  )
}
