import type { Authorization } from "../../../src/gen/core/authorization/v2/authorization_pb.ts"
import { AuthorizationService } from "../../../src/gen/core/authorization/v2/authorization_service_pb.ts"
import { DialogForm } from "../form/form.tsx"
import { formId } from "../form/open.ts"
import { useForm } from "../form/use-form.ts"
import { call } from "../shell/call.ts"
import { useText } from "../shell/text.ts"
import { PersonPicker } from "../user/person-picker.tsx"
import { RoleChecks } from "./role-checks.tsx"

/** A project, and the organisation whose people are given roles on it. */
export type Given = {
  readonly projectId: string
  readonly organizationId: string
  /** All that may be given, where the project is another's. */
  readonly grantedRoleKeys?: readonly string[]
}

type GiveProps = { readonly project: Given; readonly close: () => void }

type Values = { readonly userId: string; readonly roleKeys: readonly string[] }

/** Gives somebody roles who has none on the project yet. */
export function GiveRoles({ project, close }: GiveProps) {
  const { t } = useText()
  const { projectId, organizationId } = project
  const form = useForm<Values>({
    id: formId("authorizations", "+"),
    initial: { userId: "", roleKeys: [] },
    save: ({ userId, roleKeys }) =>
      call(AuthorizationService.method.createAuthorization, {
        ...{ userId, projectId, organizationId },
        roleKeys: [...roleKeys],
      }),
    done: close,
  })
  const { values, change } = form
  const title = t("authorizations.create")
  const disabled = values.userId === ""
  return (
    <DialogForm {...{ title, disabled, form }} submit={title} onCancel={close}>
      <PersonPicker value={values.userId} onChange={(userId) => change({ userId })} />
      <RoleChecks
        project={project}
        values={values.roleKeys}
        onChange={(roleKeys) => change({ roleKeys })}
      />
    </DialogForm>
  )
}

type EditProps = GiveProps & { readonly authorization: Authorization; readonly name: string }

export function EditAuthorization({ project, authorization, name, close }: EditProps) {
  const { id, roles } = authorization
  const form = useForm<Pick<Values, "roleKeys">>({
    id: formId("authorizations", id),
    initial: { roleKeys: roles.map(({ key }) => key) },
    save: ({ roleKeys }) =>
      call(AuthorizationService.method.updateAuthorization, { id, roleKeys: [...roleKeys] }),
    done: close,
  })
  return (
    <DialogForm title={name} form={form} onCancel={close}>
      <RoleChecks
        project={project}
        values={form.values.roleKeys}
        onChange={(roleKeys) => form.change({ roleKeys })}
      />
    </DialogForm>
  )
}
