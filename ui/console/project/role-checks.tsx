import { ProjectRoleFieldName } from "../../../src/gen/core/project/v2/project_pb.ts"
import { useHouse } from "../house.ts"
import { LoadedChecks } from "../loaded-checks.tsx"

type RoleChecksProps = {
  /** Its roles, or those of them that are granted. */
  readonly project: { readonly projectId: string; readonly grantedRoleKeys?: readonly string[] }
  readonly values: readonly string[]
  readonly onChange: (roleKeys: readonly string[]) => void
}

/** Some of the roles of a project. */
export function RoleChecks({ project, ...checks }: RoleChecksProps) {
  const { t, core } = useHouse()
  const { projectId, grantedRoleKeys } = project
  return (
    <LoadedChecks
      about={`role keys ${projectId}`}
      legend={t("roles.title")}
      none={t(grantedRoleKeys ? "granted.no_roles" : "authorizations.no_roles")}
      read={async (signal) => {
        // Who is granted a project may not look into it.
        if (grantedRoleKeys) return grantedRoleKeys.map((key) => ({ value: key, label: key }))
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
