import { useParams } from "@tanstack/react-router"
import {
  type ProjectGrant,
  ProjectGrantState,
} from "../../../src/gen/core/project/v2/project_pb.ts"
import { ProjectService } from "../../../src/gen/core/project/v2/project_service_pb.ts"
import { Alert, Badge } from "../../kit/index.ts"
import { Administrators } from "../administrator/administrators.tsx"
import { Badges, dateRows, StateBadge } from "../list/index.ts"
import {
  copyableFact,
  FactsSection,
  Page,
  t,
  useOrganization,
  useOrganizations,
  useRead,
} from "../shell/index.ts"
import { Authorizations } from "./authorizations.tsx"

/** A granted project, whose roles can be assigned to the organization's own users. */
export function GrantedProjectPage() {
  const { projectId } = useParams({ from: "/granted-projects/$projectId" })
  const { id: organizationId } = useOrganization()
  const { projectGrants } = useRead(ProjectService.method.listProjectGrants, {
    filters: [
      { filter: { case: "inProjectIdsFilter", value: { ids: [projectId] } } },
      { filter: { case: "grantedOrganizationIdFilter", value: { id: organizationId } } },
    ],
  })
  const [grant] = projectGrants
  const crumbs = [{ label: t("nav.projects"), link: { to: "/projects" } }] as const
  if (!grant) {
    return (
      <Page title={t("detail.failed")} crumbs={crumbs}>
        <Alert tone="warning">{t("granted.none")}</Alert>
      </Page>
    )
  }
  return (
    <Page
      title={grant.projectName}
      crumbs={crumbs}
      badge={
        <>
          <Badge>{t("granted.badge")}</Badge>
          <StateBadge isOn={grant.state !== ProjectGrantState.INACTIVE} />
        </>
      }
      scope={{ projectId: "any" }}
    >
      <p className="quiet section-lead">{t("granted.lead")}</p>
      <Authorizations
        project={{ projectId, organizationId, grantedRoleKeys: grant.grantedRoleKeys }}
      />
      <Administrators of={{ case: "projectGrant", value: { projectId, organizationId } }} />
      <GrantDetails grant={grant} />
    </Page>
  )
}

function GrantDetails({ grant }: { readonly grant: ProjectGrant }) {
  const organizations = useOrganizations()
  const { grantedRoleKeys, projectId, organizationId } = grant
  const giver = organizations.find(({ id }) => id === organizationId)?.name ?? organizationId
  return (
    <FactsSection
      title={t("detail.about")}
      rows={[
        [t("granted.by"), giver],
        [t("roles.title"), <Badges key="roles" words={grantedRoleKeys} />],
        copyableFact(t("field.project_id"), projectId),
        ...dateRows(grant),
      ]}
    />
  )
}
