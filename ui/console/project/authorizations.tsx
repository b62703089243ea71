import type { Authorization } from "../../../src/gen/core/authorization/v2/authorization_pb.ts"
import { State } from "../../../src/gen/core/authorization/v2/authorization_pb.ts"
import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import { Badges } from "../badges.tsx"
import { Collection } from "../collection.tsx"
import type { Core } from "../core.ts"
import { useHouse } from "../house.ts"
import { Link } from "../link.tsx"
import type { Asked } from "../listing.tsx"
import type { Readings } from "../load.ts"
import { StateBadge } from "../state-badge.tsx"
import { EditAuthorization, type Given, GiveRoles } from "./authorization-dialog.tsx"

type AuthorizationsProps = {
  readonly project: Given
  readonly readings: Readings
}

/** Who has which roles on a project; on one that is granted, those whom one's own gave them to. */
export function Authorizations({ project, readings }: AuthorizationsProps) {
  const { t, core } = useHouse()
  const { projectId } = project
  return (
    <Collection
      family="authorizations"
      scope={projectId}
      readings={readings}
      read={(asked, signal) => readAuthorizations(core, { ...asked, project }, signal)}
      columns={[
        {
          label: t("search.user"),
          cell: (row) =>
            row.user && <Link to={{ page: "user", userId: row.user.id }}>{nameOf(row)}</Link>,
        },
        {
          label: t("roles.title"),
          cell: ({ roles }) => <Badges words={roles.map(({ key }) => key)} />,
        },
        {
          label: t("field.state"),
          cell: (row) => <StateBadge state={isOn(row) ? "active" : "inactive"} />,
        },
      ]}
      keyOf={({ id }) => id}
      nameOf={nameOf}
      form={(row, part) =>
        row ? (
          <EditAuthorization {...{ project, authorization: row }} name={nameOf(row)} {...part} />
        ) : (
          <GiveRoles project={project} {...part} />
        )
      }
      turn={{
        isOn,
        act: ({ id }, on) =>
          on
            ? core.authorizations.activateAuthorization({ id })
            : core.authorizations.deactivateAuthorization({ id }),
      }}
      remove={({ id }) => core.authorizations.deleteAuthorization({ id })}
    />
  )
}

const isOn = ({ state }: Authorization) => state !== State.INACTIVE

const nameOf = ({ id, user }: Authorization) => user?.displayName || user?.preferredLoginName || id

type Wanted = Asked & { readonly project: Given }

async function readAuthorizations(core: Core, wanted: Wanted, signal: AbortSignal) {
  const { project, text, ...page } = wanted
  const { projectId, organizationId, grantedRoleKeys } = project
  const method = TextFilterMethod.CONTAINS_IGNORE_CASE
  const named = { case: "userDisplayName", value: { displayName: text, method } } as const
  const filters = [
    { filter: { case: "projectId", value: { id: projectId } } as const },
    ...(grantedRoleKeys
      ? [{ filter: { case: "organizationId", value: { id: organizationId } } as const }]
      : []),
    ...(text ? [{ filter: named }] : []),
  ]
  const request = { pagination: { ...page, asc: true }, filters }
  const answer = await core.authorizations.listAuthorizations(request, { signal })
  const { authorizations: rows, pagination } = answer
  return { rows, total: Number(pagination?.totalResult ?? rows.length) }
}
