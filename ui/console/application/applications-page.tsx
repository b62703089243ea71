import { ApplicationState } from "../../../src/gen/core/application/v2/application_pb.ts"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { EmptyState } from "../../kit/empty-state.tsx"
import { useFilterChips } from "../list/filter.tsx"
import { Listing } from "../list/listing.tsx"
import { Page } from "../shell/frame.tsx"
import { LinkButton } from "../shell/link.tsx"
import { May } from "../shell/may.tsx"
import { useOrganization } from "../shell/organization.tsx"
import { t } from "../shell/text.ts"
import { applicationColumns, applicationsOf } from "./application-list.tsx"

const states = {
  all: ApplicationState.UNSPECIFIED,
  active: ApplicationState.ACTIVE,
  inactive: ApplicationState.INACTIVE,
} as const

/** Applications of the organisation, across its projects. */
export function ApplicationsPage() {
  const { id: organizationId, name } = useOrganization()
  const shown = ["all", "active", "inactive"] as const
  const { chosen, filter } = useFilterChips("state", shown, (name) => t(`filter.${name}`))
  const create = (
    <May needs={ApplicationService.method.createApplication}>
      <LinkButton kind="primary" to="/applications/new">
        {t("applications.create")}
      </LinkButton>
    </May>
  )
  const empty = (
    <EmptyState title={t("applications.empty.title")} action={create}>
      {t("applications.empty.text")}
    </EmptyState>
  )
  return (
    <Page title={t("nav.applications")} owner={name} actions={create}>
      <Listing
        caption={t("nav.applications")}
        {...applicationsOf({ organizationId, state: states[chosen] })}
        columns={applicationColumns()}
        keyOf={(application) => application.applicationId}
        {...filter}
        empty={empty}
      />
    </Page>
  )
}
