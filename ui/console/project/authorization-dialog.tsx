import { useState } from "react"
import type { Authorization } from "../../../src/gen/core/authorization/v2/authorization_pb.ts"
import { type Project, ProjectRoleFieldName } from "../../../src/gen/core/project/v2/project_pb.ts"
import { Alert } from "../../kit/alert.tsx"
import { Checks } from "../../kit/check.tsx"
import { Dialog } from "../../kit/dialog.tsx"
import { Skeleton } from "../../kit/skeleton.tsx"
import { ActionForm, useSaving } from "../form.tsx"
import { useHouse } from "../house.ts"
import { type Changed, useLoad } from "../load.ts"
import { PersonPicker } from "../person-picker.tsx"

type DialogProps = {
  readonly project: Project
  readonly onChanged: Changed
  readonly close: () => void
}

/** Gives somebody roles who has none on the project yet. */
export function GiveRoles({ project, onChanged, close }: DialogProps) {
  const { t, core } = useHouse()
  const { projectId, organizationId } = project
  const [userId, setUserId] = useState("")
  const [roleKeys, setRoleKeys] = useState<readonly string[]>([])
  const save = () =>
    core.authorizations.createAuthorization({
      ...{ userId, projectId, organizationId },
      roleKeys: [...roleKeys],
    })
  const action = useSaving(save, onChanged, close)
  const title = t("authorizations.create")
  return (
    <Dialog title={title} onClose={close}>
      <ActionForm action={action} submit={title} disabled={userId === ""} onCancel={close}>
        <PersonPicker value={userId} onChange={setUserId} />
        <RoleChecks {...{ projectId, values: roleKeys, onChange: setRoleKeys }} />
      </ActionForm>
    </Dialog>
  )
}

type EditProps = DialogProps & { readonly authorization: Authorization }

export function EditAuthorization({ project, authorization, onChanged, close }: EditProps) {
  const { core } = useHouse()
  const { projectId } = project
  const { id, user, roles } = authorization
  const [roleKeys, setRoleKeys] = useState<readonly string[]>(roles.map(({ key }) => key))
  const save = () => core.authorizations.updateAuthorization({ id, roleKeys: [...roleKeys] })
  const action = useSaving(save, onChanged, close)
  return (
    <Dialog title={user?.displayName || user?.preferredLoginName || id} onClose={close}>
      <ActionForm action={action} onCancel={close}>
        <RoleChecks {...{ projectId, values: roleKeys, onChange: setRoleKeys }} />
      </ActionForm>
    </Dialog>
  )
}

type RoleChecksProps = {
  readonly projectId: string
  readonly values: readonly string[]
  readonly onChange: (roleKeys: readonly string[]) => void
}

function RoleChecks({ projectId, values, onChange }: RoleChecksProps) {
  const { t, core } = useHouse()
  const found = useLoad(`role keys ${projectId}`, "", async (signal) => {
    const pagination = { limit: 500, asc: true }
    const request = { projectId, pagination, sortingColumn: ProjectRoleFieldName.KEY }
    return (await core.projects.listProjectRoles(request, { signal })).projectRoles
  })
  if (found.status === "loading") return <Skeleton rows={3} label={t("list.loading")} />
  if (found.status === "failed") return <Alert tone="danger">{found.message}</Alert>
  if (found.value.length === 0) return <p className="quiet">{t("authorizations.no_roles")}</p>
  return (
    <Checks
      legend={t("roles.title")}
      options={found.value.map(({ key, displayName }) => ({
        value: key,
        label: key,
        ...(displayName !== key && { hint: displayName }),
      }))}
      values={values}
      onChange={onChange}
    />
  )
}
