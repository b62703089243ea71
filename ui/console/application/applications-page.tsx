import { ApplicationState } from "../../../src/gen/core/application/v2/application_pb.ts"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { EmptyList, Listing, useFilterChips } from "../list/index.ts"
import { LinkButton, May, Page, t, useOrganization } from "../shell/index.ts"
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
  return (
    <Page title={t("nav.applications")} owner={name} actions={create}>
      <Listing
        caption={t("nav.applications")}
        {...applicationsOf({ organizationId, state: states[chosen] })}
        columns={applicationColumns()}
        keyOf={(application) => application.applicationId}
        {...filter}
        empty={<EmptyList family="applications" action={create} />}
      />
    </Page>
  )
}
