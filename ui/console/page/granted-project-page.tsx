import {
  type ProjectGrant,
  ProjectGrantState,
} from "../../../src/gen/core/project/v2/project_pb.ts"
import { Badge } from "../../kit/badge.tsx"
import { Administrators } from "../administrators.tsx"
import { Badges } from "../badges.tsx"
import { Copyable, Detail, Section } from "../detail.tsx"
import { useHouse } from "../house.ts"
import { useJoined, useLoad, useReadings } from "../load.ts"
import { PageFrame } from "../page-frame.tsx"
import { Authorizations } from "../project/authorizations.tsx"
import { StateBadge } from "../state-badge.tsx"
import { Time } from "../time.tsx"

/** A project of another organisation, whose roles one may give to one's own people. */
export function GrantedProjectPage({ projectId }: { readonly projectId: string }) {
  const { t, core, organization } = useHouse()
  const { id: organizationId } = organization
  const crumbs = [{ label: t("nav.projects"), to: { page: "projects" } as const }]
  const loaded = useLoad(`granted ${projectId} ${organizationId}`, "", async (signal) => {
    const own = { ids: [projectId] }
    const filters = [
      { filter: { case: "inProjectIdsFilter", value: own } as const },
      { filter: { case: "grantedOrganizationIdFilter", value: { id: organizationId } } as const },
    ]
    const { projectGrants } = await core.projects.listProjectGrants({ filters }, { signal })
    const [grant] = projectGrants
    if (!grant) throw new Error(t("granted.none"))
    return grant
  })
  const readings = useReadings()
  useJoined(readings, loaded.reload)
  return (
    <Detail loaded={loaded} crumbs={crumbs}>
      {(grant) => (
        <PageFrame
          title={grant.projectName}
          crumbs={crumbs}
          badge={
            <>
              <Badge>{t("granted.badge")}</Badge>
              <StateBadge state={isActive(grant) ? "active" : "inactive"} />
            </>
          }
        >
          <p className="quiet section-lead">{t("granted.lead")}</p>
          <Authorizations
            project={{ projectId, organizationId, grantedRoleKeys: grant.grantedRoleKeys }}
            readings={readings}
          />
          <Administrators
            of={{ case: "projectGrant", value: { projectId, organizationId } }}
            readings={readings}
          />
          <Facts grant={grant} />
        </PageFrame>
      )}
    </Detail>
  )
}

const isActive = ({ state }: ProjectGrant) => state !== ProjectGrantState.INACTIVE

function Facts({ grant }: { readonly grant: ProjectGrant }) {
  const { t, organizations } = useHouse()
  const { grantedRoleKeys, projectId, organizationId, creationDate, changeDate } = grant
  const giver = organizations.find(({ id }) => id === organizationId)?.name ?? organizationId
  return (
    <Section title={t("detail.about")}>
      <dl className="facts">
        <dt>{t("granted.by")}</dt>
        <dd>{giver}</dd>
        <dt>{t("roles.title")}</dt>
        <dd>
          <Badges words={grantedRoleKeys} />
        </dd>
        <dt>{t("field.project_id")}</dt>
        <dd>
          <Copyable value={projectId} what={t("field.project_id")} />
        </dd>
        <dt>{t("field.created")}</dt>
        <dd>
          <Time at={creationDate} />
        </dd>
        <dt>{t("field.changed")}</dt>
        <dd>
          <Time at={changeDate} />
        </dd>
      </dl>
    </Section>
  )
}
