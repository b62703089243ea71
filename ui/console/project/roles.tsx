import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import {
  type ProjectRole,
  ProjectRoleFieldName,
} from "../../../src/gen/core/project/v2/project_pb.ts"
import { ProjectService } from "../../../src/gen/core/project/v2/project_service_pb.ts"
import { TextField } from "../../kit/field.tsx"
import { DialogForm } from "../form/form.tsx"
import { formId } from "../form/open.ts"
import { useForm } from "../form/use-form.ts"
import { Clip } from "../list/badges.tsx"
import { Collection } from "../list/collection.tsx"
import { found, pageOf } from "../list/listing.tsx"
import { call } from "../shell/call.ts"
import { useText } from "../shell/text.ts"

/** The roles of a project; its applications give them a meaning. */
export function Roles({ projectId }: { readonly projectId: string }) {
  const { t } = useText()
  const method = TextFilterMethod.CONTAINS_IGNORE_CASE
  return (
    <Collection
      family="roles"
      method={ProjectService.method.listProjectRoles}
      ask={(asked) => {
        const filter = { case: "roleKeyFilter", value: { key: asked.text, method } } as const
        return {
          projectId,
          pagination: pageOf(asked),
          sortingColumn: ProjectRoleFieldName.KEY,
          filters: asked.text ? [{ filter }] : [],
        }
      }}
      find={({ projectRoles, pagination }) => found(projectRoles, pagination)}
      columns={[
        { label: t("roles.key"), cell: ({ key }) => <code>{key}</code> },
        { label: t("roles.name"), cell: ({ displayName }) => <Clip text={displayName} /> },
        { label: t("roles.group"), cell: ({ group }) => <Clip text={group} /> },
      ]}
      keyOf={({ key }) => key}
      nameOf={({ key }) => key}
      needs={{
        create: ProjectService.method.addProjectRole,
        edit: ProjectService.method.updateProjectRole,
        remove: ProjectService.method.removeProjectRole,
      }}
      form={(role, close) => <RoleForm {...{ projectId, role, close }} />}
      remove={({ key }) =>
        call(ProjectService.method.removeProjectRole, { projectId, roleKey: key })
      }
    />
  )
}

type RoleFormProps = {
  readonly projectId: string
  readonly role: ProjectRole | undefined
  readonly close: () => void
}

type Values = { readonly key: string; readonly displayName: string; readonly group: string }

function RoleForm({ projectId, role, close }: RoleFormProps) {
  const { t } = useText()
  const optional = t("form.optional")
  const { addProjectRole, updateProjectRole } = ProjectService.method
  const form = useForm<Values>({
    id: formId("roles", role?.key ?? "+"),
    initial: { key: "", displayName: role?.displayName ?? "", group: role?.group ?? "" },
    refusals: { key: ["project.role"] },
    save: async ({ key, ...values }) => {
      const roleKey = role?.key ?? key.trim()
      const group = values.group.trim()
      const displayName = values.displayName.trim() || roleKey
      await (role
        ? call(updateProjectRole, { projectId, roleKey, displayName, group })
        : call(addProjectRole, { projectId, roleKey, displayName, ...(group && { group }) }))
    },
    done: close,
  })
  const title = role?.key ?? t("roles.create")
  return (
    <DialogForm title={title} submit={role ? undefined : title} form={form} onCancel={close}>
      {!role && (
        <TextField
          label={t("roles.key")}
          hint={t("roles.key_hint")}
          {...form.text("key")}
          autoCapitalize="none"
          spellCheck={false}
          required
          autoFocus
        />
      )}
      <TextField
        label={t("roles.name")}
        optional={optional}
        hint={t("roles.name_hint")}
        {...form.text("displayName")}
      />
      <TextField
        label={t("roles.group")}
        optional={optional}
        hint={t("roles.group_hint")}
        {...form.text("group")}
      />
    </DialogForm>
  )
}
