import { useState } from "react"
import type { Authorization } from "../../../src/gen/core/authorization/v2/authorization_pb.ts"
import type { FormPart } from "../collection.tsx"
import { DialogForm } from "../form.tsx"
import { useHouse } from "../house.ts"
import { PersonPicker } from "../person-picker.tsx"
import { RoleChecks } from "./role-checks.tsx"

/** A project, and the organisation whose people are given roles on it. */
export type Given = {
  readonly projectId: string
  readonly organizationId: string
  /** All that may be given, where the project is another's. */
  readonly grantedRoleKeys?: readonly string[]
}

type GiveProps = FormPart & { readonly project: Given }

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
      <RoleChecks {...{ project, values: roleKeys, onChange: setRoleKeys }} />
    </DialogForm>
  )
}

type EditProps = GiveProps & { readonly authorization: Authorization; readonly name: string }

export function EditAuthorization({ project, authorization, name, ...part }: EditProps) {
  const { core } = useHouse()
  const { id, roles } = authorization
  const [roleKeys, setRoleKeys] = useState<readonly string[]>(roles.map(({ key }) => key))
  const save = () => core.authorizations.updateAuthorization({ id, roleKeys: [...roleKeys] })
  return (
    <DialogForm title={name} save={save} {...part}>
      <RoleChecks {...{ project, values: roleKeys, onChange: setRoleKeys }} />
    </DialogForm>
  )
}
