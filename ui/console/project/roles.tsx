import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import {
  type ProjectRole,
  ProjectRoleFieldName,
} from "../../../src/gen/core/project/v2/project_pb.ts"
import { ProjectService } from "../../../src/gen/core/project/v2/project_service_pb.ts"
import { defineForm, verbatim } from "../form/index.ts"
import { Clip, Collection, paginationOf, toPage } from "../list/index.ts"
import { call, t } from "../shell/index.ts"

const { addProjectRole, updateProjectRole, removeProjectRole, listProjectRoles } =
  ProjectService.method

/** The roles of a project; applications define what they mean. */
export function Roles({ projectId }: { readonly projectId: string }) {
  const method = TextFilterMethod.CONTAINS_IGNORE_CASE
  return (
    <Collection
      family="roles"
      method={listProjectRoles}
      toRequest={(query) => {
        const filter = { case: "roleKeyFilter", value: { key: query.text, method } } as const
        return {
          projectId,
          pagination: paginationOf(query),
          sortingColumn: ProjectRoleFieldName.KEY,
          filters: query.text ? [{ filter }] : [],
        }
      }}
      find={({ projectRoles, pagination }) => toPage(projectRoles, pagination)}
      columns={[
        { label: t("roles.key"), cell: ({ key }) => <code>{key}</code> },
        { label: t("roles.name"), cell: ({ displayName }) => <Clip text={displayName} /> },
        { label: t("roles.group"), cell: ({ group }) => <Clip text={group} /> },
      ]}
      keyOf={({ key }) => key}
      nameOf={({ key }) => key}
      needs={{ create: addProjectRole, edit: updateProjectRole, remove: removeProjectRole }}
      form={(role) => roleForm(projectId, role)}
      remove={({ key: roleKey }) => call(removeProjectRole, { projectId, roleKey })}
    />
  )
}

const roleForm = (projectId: string, role: ProjectRole | undefined) =>
  defineForm({
    initial: { key: "", displayName: role?.displayName ?? "", group: role?.group ?? "" },
    refusals: { key: ["project.role", "roleKey"] },
    save: async ({ key, ...values }) => {
      const roleKey = role?.key ?? key.trim()
      const group = values.group.trim()
      const displayName = values.displayName.trim() || roleKey
      await (role
        ? call(updateProjectRole, { projectId, roleKey, displayName, group })
        : call(addProjectRole, { projectId, roleKey, displayName, ...(group && { group }) }))
    },
    fields: ({ text }) => [
      !role &&
        text("key", t("roles.key"), { hint: t("roles.key_hint"), ...verbatim, required: true }),
      text("displayName", t("roles.name"), { optional: true, hint: t("roles.name_hint") }),
      text("group", t("roles.group"), { optional: true, hint: t("roles.group_hint") }),
    ],
  })
