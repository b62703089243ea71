import { ApplicationState } from "../../../src/gen/core/application/v2/application_pb.ts"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { EmptyList, Listing, useFilterChips } from "../list/index.ts"
import { IfPermitted, LinkButton, Page, t, useOrganization } from "../shell/index.ts"
import { applicationColumns, applicationSource } from "./application-list.tsx"

const stateFilters = {
  all: ApplicationState.UNSPECIFIED,
  active: ApplicationState.ACTIVE,
  inactive: ApplicationState.INACTIVE,
} as const

/** Applications of all projects of the organization. */
export function ApplicationsPage() {
  const { id: organizationId, name } = useOrganization()
  const shown = ["all", "active", "inactive"] as const
  const { selected: chosen, filter } = useFilterChips("state", shown, (name) => t(`filter.${name}`))
  const create = (
    <IfPermitted needs={ApplicationService.method.createApplication}>
      <LinkButton kind="primary" to="/applications/new">
        {t("applications.create")}
      </LinkButton>
    </IfPermitted>
  )
  return (
    <Page title={t("nav.applications")} owner={name} actions={create}>
      <Listing
        caption={t("nav.applications")}
        {...applicationSource({ organizationId, state: stateFilters[chosen] })}
        columns={applicationColumns()}
        keyOf={(application) => application.applicationId}
        {...filter}
        empty={<EmptyList family="applications" action={create} />}
      />
    </Page>
  )
}
