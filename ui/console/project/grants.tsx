import {
  type Project,
  type ProjectGrant,
  ProjectGrantState,
} from "../../../src/gen/core/project/v2/project_pb.ts"
import {
  type ListProjectGrantsResponse,
  ProjectService,
} from "../../../src/gen/core/project/v2/project_service_pb.ts"
import { ActivationButton, formOf } from "../form/index.ts"
import {
  Badges,
  Collection,
  found,
  HistoryButton,
  type ListQuery,
  pageOf,
  StateBadge,
} from "../list/index.ts"
import { OrganizationPicker } from "../organization/organization-picker.tsx"
import { call, t } from "../shell/index.ts"
import type { ProjectPart } from "./part.ts"
import { RoleChecks } from "./role-checks.tsx"

const { createProjectGrant, updateProjectGrant, deleteProjectGrant, listProjectGrants } =
  ProjectService.method
const { activateProjectGrant, deactivateProjectGrant } = ProjectService.method

/** Which other organisations may use a project for their people, and give which of its roles. */
export function Grants({ project }: ProjectPart) {
  const { projectId } = project
  const of = ({ grantedOrganizationId }: ProjectGrant) => ({ projectId, grantedOrganizationId })
  const own = { case: "inProjectIdsFilter" as const, value: { ids: [projectId] } }
  return (
    <Collection
      family="grants"
      method={listProjectGrants}
      // Grants are not searched by the name of who has them: what is shown is chosen here.
      ask={(asked) => ({
        pagination: asked.text ? { limit: 1000, asc: true } : pageOf(asked),
        filters: [{ filter: own }],
      })}
      find={named}
      columns={[
        { label: t("nav.organization"), cell: nameOf },
        { label: t("roles.title"), cell: (row) => <Badges words={row.grantedRoleKeys} /> },
        { label: t("field.state"), cell: (row) => <StateBadge isOn={isOn(row)} /> },
      ]}
      keyOf={({ grantedOrganizationId }) => grantedOrganizationId}
      nameOf={nameOf}
      more={(row) => (
        <HistoryButton of={{ case: "projectGrantId", value: row.id }} name={nameOf(row)} />
      )}
      form={(grant) => grantForm(project, grant)}
      needs={{ create: createProjectGrant, edit: updateProjectGrant, remove: deleteProjectGrant }}
      turn={(row, how) => (
        <ActivationButton
          {...how}
          on={activateProjectGrant}
          off={deactivateProjectGrant}
          of={of(row)}
          isOn={isOn(row)}
          consequence={t("grants.deactivate_text")}
        />
      )}
      remove={(row) => call(deleteProjectGrant, of(row))}
    />
  )
}

const isOn = ({ state }: ProjectGrant) => state !== ProjectGrantState.INACTIVE

const nameOf = ({ grantedOrganizationName, grantedOrganizationId }: ProjectGrant) =>
  grantedOrganizationName || grantedOrganizationId

function named({ projectGrants, pagination }: ListProjectGrantsResponse, asked: ListQuery) {
  if (asked.text === "") return found(projectGrants, pagination)
  const wanted = asked.text.toLowerCase()
  const fitting = projectGrants.filter((row) => nameOf(row).toLowerCase().includes(wanted))
  const from = Number(asked.offset)
  return { rows: fitting.slice(from, from + asked.limit), total: fitting.length }
}

/** Grants the project to another organisation, or other roles of it to one that has it. */
function grantForm({ projectId, organizationId }: Project, grant: ProjectGrant | undefined) {
  const roles: readonly string[] = grant?.grantedRoleKeys ?? []
  return formOf({
    initial: { granted: grant?.grantedOrganizationId ?? "", roles },
    save: async ({ granted: grantedOrganizationId, roles: chosen }) => {
      const wanted = { projectId, grantedOrganizationId, roleKeys: [...chosen] }
      await (grant ? call(updateProjectGrant, wanted) : call(createProjectGrant, wanted))
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
