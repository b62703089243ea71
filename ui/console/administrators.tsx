import { useState } from "react"
import { TextFilterMethod } from "../../src/gen/core/filter/v2/filter_pb.ts"
import {
  type Administrator,
  RoleLevel,
} from "../../src/gen/core/internal_permission/v2/internal_permission_pb.ts"
import { Badges } from "./badges.tsx"
import { Collection, type FormPart } from "./collection.tsx"
import type { Core } from "./core.ts"
import { DialogForm } from "./form.tsx"
import { useHouse } from "./house.ts"
import { Link } from "./link.tsx"
import type { Asked } from "./listing.tsx"
import type { Readings } from "./load.ts"
import { LoadedChecks } from "./loaded-checks.tsx"
import { PersonPicker } from "./person-picker.tsx"

/** What somebody administers. */
export type Held =
  | { readonly case: "instance"; readonly value: true }
  | { readonly case: "organizationId"; readonly value: string }
  | { readonly case: "projectId"; readonly value: string }
  | { readonly case: "projectGrant"; readonly value: Granted }

type Granted = { readonly projectId: string; readonly organizationId: string }

const levels = {
  instance: RoleLevel.INSTANCE,
  organizationId: RoleLevel.ORGANIZATION,
  projectId: RoleLevel.PROJECT,
  projectGrant: RoleLevel.PROJECT_GRANT,
} as const

type AdministratorsProps = { readonly of: Held; readonly readings: Readings }

/** Who may look at something here, or change it; people's roles in applications are others. */
export function Administrators({ of: held, readings }: AdministratorsProps) {
  const { t, core } = useHouse()
  const resource = { resource: held }
  return (
    <Collection
      family="administrators"
      scope={JSON.stringify(held)}
      readings={readings}
      read={(asked, signal) => readAdministrators(core, { ...asked, held }, signal)}
      columns={[
        {
          label: t("search.user"),
          cell: (row) => <Link to={{ page: "user", userId: idOf(row) }}>{nameOf(row)}</Link>,
        },
        { label: t("roles.title"), cell: ({ roles }) => <Badges words={roles} /> },
      ]}
      keyOf={idOf}
      nameOf={nameOf}
      form={(row, part) => <AdministratorForm held={held} administrator={row} {...part} />}
      remove={(row) => core.permissions.deleteAdministrator({ userId: idOf(row), resource })}
    />
  )
}

const idOf = ({ user }: Administrator) => user?.id ?? ""

const nameOf = ({ user }: Administrator) =>
  user?.displayName || user?.preferredLoginName || user?.id || ""

type Wanted = Asked & { readonly held: Held }

async function readAdministrators(core: Core, wanted: Wanted, signal: AbortSignal) {
  const { held, text, ...page } = wanted
  const method = TextFilterMethod.CONTAINS_IGNORE_CASE
  const named = { case: "userDisplayName", value: { displayName: text, method } } as const
  const filters = [
    { filter: { case: "resource", value: { resource: held } } as const },
    ...(text ? [{ filter: named }] : []),
  ]
  const request = { pagination: { ...page, asc: true }, filters }
  const answer = await core.permissions.listAdministrators(request, { signal })
  const { administrators: rows, pagination } = answer
  return { rows, total: Number(pagination?.totalResult ?? rows.length) }
}

type AdministratorFormProps = FormPart & {
  readonly held: Held
  readonly administrator: Administrator | undefined
}

function AdministratorForm({ held, administrator, ...part }: AdministratorFormProps) {
  const { t, core } = useHouse()
  const [userId, setUserId] = useState(administrator ? idOf(administrator) : "")
  const [roles, setRoles] = useState<readonly string[]>(administrator?.roles ?? [])
  const wanted = { userId, resource: { resource: held }, roles: [...roles] }
  const save = () =>
    administrator
      ? core.permissions.updateAdministrator(wanted)
      : core.permissions.createAdministrator(wanted)
  const disabled = userId === "" || roles.length === 0
  const title = administrator ? nameOf(administrator) : t("administrators.create")
  return (
    <DialogForm
      title={title}
      submit={administrator ? undefined : title}
      disabled={disabled}
      save={save}
      {...part}
    >
      {!administrator && <PersonPicker value={userId} onChange={setUserId} />}
      <LoadedChecks
        about={`administrator roles ${held.case}`}
        legend={t("roles.title")}
        none={t("detail.none")}
        read={async (signal) => {
          const request = { level: levels[held.case], pagination: { limit: 1000, asc: true } }
          const answer = await core.permissions.listRoles(request, { signal })
          return answer.roles.map(({ key, displayName }) => ({
            value: key,
            label: key,
            ...(displayName !== key && { hint: displayName }),
          }))
        }}
        values={roles}
        onChange={setRoles}
      />
    </DialogForm>
  )
}
