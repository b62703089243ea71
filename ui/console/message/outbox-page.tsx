import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { MessageStatus } from "../../../src/gen/core/message/v2/message_service_pb.ts"
import { EmailProviderState } from "../../../src/gen/core/settings/v1/provider_pb.ts"
import { Alert, EmptyState } from "../../kit/index.ts"
import { useFilterChips } from "../list/index.ts"
import { Link, Page, PagePart, t, useOrganization, useReadIfAllowed } from "../shell/index.ts"
import { Messages } from "./messages.tsx"

const filters = ["all", "queued", "sent", "failed"] as const

const statuses = {
  all: MessageStatus.UNSPECIFIED,
  queued: MessageStatus.QUEUED,
  sent: MessageStatus.SENT,
  failed: MessageStatus.FAILED,
} as const

/**
 * Messages to users, also while no provider is configured, so that codes can be passed on by hand.
 */
export function OutboxPage() {
  const organization = useOrganization()
  const { selected: chosen, filter } = useFilterChips("show", filters, (value) =>
    t(value === "all" ? "filter.all" : `messages.state.${value}`),
  )
  return (
    <Page title={t("nav.outbox")} owner={organization.name}>
      <p className="quiet section-lead">{t("outbox.lead")}</p>
      <PagePart rows={1}>
        <NoProviderNotice />
      </PagePart>
      <Messages
        filter={{ organizationId: organization.id, status: statuses[chosen] }}
        {...filter}
        empty={<EmptyState title={t("outbox.empty.title")}>{t("outbox.empty.text")}</EmptyState>}
      />
    </Page>
  )
}

/** Explains why messages wait, with a link to fix it. */
function NoProviderNotice() {
  const providers = useReadIfAllowed(AdminService.method.listEmailProviders)
  const isActive = ({ state }: { readonly state: EmailProviderState }) =>
    state === EmailProviderState.EMAIL_PROVIDER_ACTIVE
  if (!providers || providers.result.some(isActive)) return null
  return (
    <Alert tone="warning" title={t("outbox.no_provider")}>
      {t("outbox.no_provider_text")} <Link to="/providers">{t("nav.providers")}</Link>
    </Alert>
  )
}
