import { ProjectRoleFieldName } from "../../../src/gen/core/project/v2/project_pb.ts"
import { ProjectService } from "../../../src/gen/core/project/v2/project_service_pb.ts"
import { Checks } from "../../kit/index.ts"
import { PagePart, t, useRead } from "../shell/index.ts"

type RoleChecksProps = {
  /** All of its roles, or only the granted ones. */
  readonly project: { readonly projectId: string; readonly grantedRoleKeys?: readonly string[] }
  readonly values: readonly string[]
  readonly onChange: (roleKeys: readonly string[]) => void
}

/** Checkboxes for the roles of a project. */
export function RoleChecks({ project, ...checks }: RoleChecksProps) {
  const { projectId, grantedRoleKeys } = project
  // Organizations can't read the roles of a granted project.
  if (!grantedRoleKeys) {
    return (
      <PagePart>
        <OwnRoleChecks projectId={projectId} {...checks} />
      </PagePart>
    )
  }
  if (grantedRoleKeys.length === 0) return <p className="quiet">{t("granted.no_roles")}</p>
  const options = grantedRoleKeys.map((key) => ({ value: key, label: key }))
  return <Checks legend={t("roles.title")} options={options} {...checks} />
}

type OwnRoleChecksProps = Omit<RoleChecksProps, "project"> & { readonly projectId: string }

function OwnRoleChecks({ projectId, ...checks }: OwnRoleChecksProps) {
  const { projectRoles } = useRead(ProjectService.method.listProjectRoles, {
    projectId,
    pagination: { limit: 500, asc: true },
    sortingColumn: ProjectRoleFieldName.KEY,
  })
  if (projectRoles.length === 0) return <p className="quiet">{t("authorizations.no_roles")}</p>
  const options = projectRoles.map(({ key, displayName }) => ({
    value: key,
    label: key,
    ...(displayName !== key && { hint: displayName }),
  }))
  return <Checks legend={t("roles.title")} options={options} {...checks} />
}
