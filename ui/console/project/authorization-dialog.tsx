import { useState } from "react"
import type { Authorization } from "../../../src/gen/core/authorization/v2/authorization_pb.ts"
import type { Project } from "../../../src/gen/core/project/v2/project_pb.ts"
import type { FormPart } from "../collection.tsx"
import { DialogForm } from "../form.tsx"
import { useHouse } from "../house.ts"
import { PersonPicker } from "../person-picker.tsx"
import { RoleChecks } from "./role-checks.tsx"

type GiveProps = FormPart & { readonly project: Project }

/** Gives somebody roles who has none on the project yet. */
export function GiveRoles({ project, ...part }: GiveProps) {
  const { t, core } = useHouse()
  const { projectId, organizationId } = project
  const [userId, setUserId] = useState("")
  const [roleKeys, setRoleKeys] = useState<readonly string[]>([])
  const save = () =>
    core.authorizations.createAuthorization({
      ...{ userId, projectId, organizationId },
      roleKeys: [...roleKeys],
    })
  const title = t("authorizations.create")
  return (
    <DialogForm title={title} submit={title} disabled={userId === ""} save={save} {...part}>
      <PersonPicker value={userId} onChange={setUserId} />
      <RoleChecks {...{ projectId, values: roleKeys, onChange: setRoleKeys }} />
    </DialogForm>
  )
}

type EditProps = FormPart & { readonly authorization: Authorization; readonly name: string }

export function EditAuthorization({ authorization, name, ...part }: EditProps) {
  const { core } = useHouse()
  const { id, project, roles } = authorization
  const [roleKeys, setRoleKeys] = useState<readonly string[]>(roles.map(({ key }) => key))
  const save = () => core.authorizations.updateAuthorization({ id, roleKeys: [...roleKeys] })
  const projectId = project?.id ?? ""
  return (
    <DialogForm title={name} save={save} {...part}>
      <RoleChecks {...{ projectId, values: roleKeys, onChange: setRoleKeys }} />
    </DialogForm>
  )
}
