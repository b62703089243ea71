import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import {
  type EmailProvider,
  EmailProviderState,
} from "../../../src/gen/core/settings/v1/provider_pb.ts"
import { Badge } from "../../kit/index.ts"
import { ActivationButton, DialogButton } from "../form/index.ts"
import {
  Clip,
  Collection,
  type ListColumn,
  paginationOf,
  StateBadge,
  toPage,
} from "../list/index.ts"
import { call, t } from "../shell/index.ts"
import { emailForm } from "./email-form.tsx"
import { passwordForm, type SigningKeyProps, showKey } from "./provider.ts"
import { TestMail } from "./test-mail.tsx"

const admin = AdminService.method

export function EmailProviders({ onKeyCreated }: SigningKeyProps) {
  return (
    <Collection
      family="email_providers"
      unsearched
      method={admin.listEmailProviders}
      toRequest={(query) => ({ query: paginationOf(query) })}
      find={({ result, details }) => toPage(result, details)}
      columns={providerColumns()}
      keyOf={({ id }) => id}
      nameOf={providerName}
      form={(provider) => emailForm(provider, showKey(onKeyCreated))}
      needs={{
        create: admin.addEmailProviderSMTP,
        edit: admin.updateEmailProviderSMTP,
        remove: admin.removeEmailProvider,
      }}
      turn={(provider, options) => (
        <ActivationButton
          {...options}
          on={admin.activateEmailProvider}
          off={admin.deactivateEmailProvider}
          of={{ id: provider.id }}
          isOn={isActive(provider)}
          consequence={t("providers.off")}
        />
      )}
      more={(provider) => <ProviderActions provider={provider} />}
      remove={({ id }) => call(admin.removeEmailProvider, { id })}
    />
  )
}

const isActive = ({ state }: EmailProvider) => state === EmailProviderState.EMAIL_PROVIDER_ACTIVE

/** The description or the destination of a provider. */
function providerName({ description, config }: EmailProvider): string {
  if (description) return description
  return (config.case === "smtp" ? config.value.host : config.value?.endpoint) ?? ""
}

const providerColumns = (): readonly ListColumn<EmailProvider>[] => [
  { label: t("field.name"), cell: (provider) => <Clip text={providerName(provider)} /> },
  {
    label: t("field.kind"),
    cell: ({ config }) => <Badge>{t(`providers.${config.case ?? "http"}`)}</Badge>,
  },
  {
    label: t("providers.sender"),
    cell: ({ config }) => <Clip text={config.case === "smtp" ? config.value.senderAddress : ""} />,
  },
  { label: t("field.state"), cell: (provider) => <StateBadge isOn={isActive(provider)} /> },
]

function ProviderActions({ provider }: { readonly provider: EmailProvider }) {
  const { id, config } = provider
  if (config.case !== "smtp") return null
  const { Auth: auth } = config.value
  const change = (password: string) => call(admin.updateEmailProviderSMTPPassword, { id, password })
  return (
    <>
      <TestMail id={id} name={providerName(provider)} smtp={config.value} />
      {auth.case !== "none" && (
        <DialogButton
          small
          family={`provider-secret-${id}`}
          name={providerName(provider)}
          needs={admin.updateEmailProviderSMTPPassword}
          label={t("providers.password")}
          form={passwordForm(change)}
        />
      )}
    </>
  )
}
