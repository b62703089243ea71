import {
  type Project,
  type ProjectGrant,
  ProjectGrantState,
} from "../../../src/gen/core/project/v2/project_pb.ts"
import {
  type ListProjectGrantsResponse,
  ProjectService,
} from "../../../src/gen/core/project/v2/project_service_pb.ts"
import { ActivationButton, defineForm } from "../form/index.ts"
import {
  Badges,
  Collection,
  HistoryButton,
  type ListQuery,
  paginationOf,
  StateBadge,
  toPage,
} from "../list/index.ts"
import { OrganizationPicker } from "../organization/organization-picker.tsx"
import { call, t } from "../shell/index.ts"
import type { ProjectPart } from "./part.ts"
import { RoleChecks } from "./role-checks.tsx"

const { createProjectGrant, updateProjectGrant, deleteProjectGrant, listProjectGrants } =
  ProjectService.method
const { activateProjectGrant, deactivateProjectGrant } = ProjectService.method

/** Organizations that can use a project, and the roles they can assign. */
export function Grants({ project }: ProjectPart) {
  const { projectId } = project
  const of = ({ grantedOrganizationId }: ProjectGrant) => ({ projectId, grantedOrganizationId })
  const own = { case: "inProjectIdsFilter" as const, value: { ids: [projectId] } }
  return (
    <Collection
      family="grants"
      method={listProjectGrants}
      // The API can't search grants by organization name, so rows are filtered here.
      toRequest={(query) => ({
        pagination: query.text ? { limit: 1000, asc: true } : paginationOf(query),
        filters: [{ filter: own }],
      })}
      find={filterByName}
      columns={[
        { label: t("nav.organization"), cell: organizationNameOf },
        { label: t("roles.title"), cell: (row) => <Badges words={row.grantedRoleKeys} /> },
        { label: t("field.state"), cell: (row) => <StateBadge isOn={isActive(row)} /> },
      ]}
      keyOf={({ grantedOrganizationId }) => grantedOrganizationId}
      nameOf={organizationNameOf}
      more={(row) => (
        <HistoryButton
          of={{ case: "projectGrantId", value: row.id }}
          name={organizationNameOf(row)}
        />
      )}
      form={(grant) => grantForm(project, grant)}
      needs={{ create: createProjectGrant, edit: updateProjectGrant, remove: deleteProjectGrant }}
      turn={(row, options) => (
        <ActivationButton
          {...options}
          on={activateProjectGrant}
          off={deactivateProjectGrant}
          of={of(row)}
          isOn={isActive(row)}
          consequence={t("grants.deactivate_text")}
        />
      )}
      remove={(row) => call(deleteProjectGrant, of(row))}
    />
  )
}

const isActive = ({ state }: ProjectGrant) => state !== ProjectGrantState.INACTIVE

const organizationNameOf = ({ grantedOrganizationName, grantedOrganizationId }: ProjectGrant) =>
  grantedOrganizationName || grantedOrganizationId

function filterByName({ projectGrants, pagination }: ListProjectGrantsResponse, query: ListQuery) {
  if (query.text === "") return toPage(projectGrants, pagination)
  const input = query.text.toLowerCase()
  const fitting = projectGrants.filter((row) =>
    organizationNameOf(row).toLowerCase().includes(input),
  )
  const from = Number(query.offset)
  return { rows: fitting.slice(from, from + query.limit), total: fitting.length }
}

/** Creates a grant for another organization, or changes the roles of a grant. */
function grantForm({ projectId, organizationId }: Project, grant: ProjectGrant | undefined) {
  const roles: readonly string[] = grant?.grantedRoleKeys ?? []
  return defineForm({
    initial: { granted: grant?.grantedOrganizationId ?? "", roles },
    save: async ({ granted: grantedOrganizationId, roles: chosen }) => {
      const input = { projectId, grantedOrganizationId, roleKeys: [...chosen] }
      await (grant ? call(updateProjectGrant, input) : call(createProjectGrant, input))
    },
    disabled: ({ granted }) => granted === "",
    fields: ({ values, change, contested }) => (
      <>
        {!grant && (
          <OrganizationPicker
            except={organizationId}
            value={values.granted}
            onChange={(granted) => change({ granted })}
          />
        )}
        {contested(
          "roles",
          t("roles.title"),
          <RoleChecks
            project={{ projectId }}
            values={values.roles}
            onChange={(to) => change({ roles: to })}
          />,
        )}
      </>
    ),
  })
}
