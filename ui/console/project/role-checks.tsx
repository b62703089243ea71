import { ProjectRoleFieldName } from "../../../src/gen/core/project/v2/project_pb.ts"
import { useHouse } from "../house.ts"
import { LoadedChecks } from "../loaded-checks.tsx"

type RoleChecksProps = {
  readonly projectId: string
  readonly values: readonly string[]
  readonly onChange: (roleKeys: readonly string[]) => void
}

/** Some of the roles of a project. */
export function RoleChecks({ projectId, ...checks }: RoleChecksProps) {
  const { t, core } = useHouse()
  return (
    <LoadedChecks
      about={`role keys ${projectId}`}
      legend={t("roles.title")}
      none={t("authorizations.no_roles")}
      read={async (signal) => {
        const pagination = { limit: 500, asc: true }
        const request = { projectId, pagination, sortingColumn: ProjectRoleFieldName.KEY }
        const { projectRoles } = await core.projects.listProjectRoles(request, { signal })
        return projectRoles.map(({ key, displayName }) => ({
          value: key,
          label: key,
          ...(displayName !== key && { hint: displayName }),
        }))
      }}
      {...checks}
    />
  )
}
