import {
  type Authorization,
  State,
} from "../../../src/gen/core/authorization/v2/authorization_pb.ts"
import { AuthorizationService } from "../../../src/gen/core/authorization/v2/authorization_service_pb.ts"
import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import { Badges } from "../list/badges.tsx"
import { Collection } from "../list/collection.tsx"
import { type Asked, found, pageOf } from "../list/listing.tsx"
import { StateBadge } from "../list/state-badge.tsx"
import { call } from "../shell/call.ts"
import { Link } from "../shell/link.tsx"
import { useText } from "../shell/text.ts"
import { EditAuthorization, type Given, GiveRoles } from "./authorization-dialog.tsx"

const { activateAuthorization, deactivateAuthorization, deleteAuthorization, listAuthorizations } =
  AuthorizationService.method

/** Who has which roles on a project; on one that is granted, those whom one's own gave them to. */
export function Authorizations({ project }: { readonly project: Given }) {
  const { t } = useText()
  return (
    <Collection
      family="authorizations"
      method={listAuthorizations}
      ask={(asked) => ({ pagination: pageOf(asked), filters: filtersOf(project, asked) })}
      find={({ authorizations, pagination }) => found(authorizations, pagination)}
      columns={[
        {
          label: t("search.user"),
          cell: (row) =>
            row.user && (
              <Link to="/users/$userId" params={{ userId: row.user.id }}>
                {nameOf(row)}
              </Link>
            ),
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
      form={(authorization, close) =>
        authorization ? (
          <EditAuthorization {...{ project, authorization, close }} name={nameOf(authorization)} />
        ) : (
          <GiveRoles {...{ project, close }} />
        )
      }
      needs={{
        create: AuthorizationService.method.createAuthorization,
        edit: AuthorizationService.method.updateAuthorization,
        remove: deleteAuthorization,
      }}
      turn={{
        needs: deactivateAuthorization,
        isOn,
        off: t("authorizations.deactivate_text"),
        act: ({ id }, on) =>
          on ? call(activateAuthorization, { id }) : call(deactivateAuthorization, { id }),
      }}
      remove={({ id }) => call(deleteAuthorization, { id })}
    />
  )
}

const isOn = ({ state }: Authorization) => state !== State.INACTIVE

const nameOf = ({ id, user }: Authorization) => user?.displayName || user?.preferredLoginName || id

function filtersOf({ projectId, organizationId, grantedRoleKeys }: Given, { text }: Asked) {
  const method = TextFilterMethod.CONTAINS_IGNORE_CASE
  const named = { case: "userDisplayName", value: { displayName: text, method } } as const
  return [
    { filter: { case: "projectId", value: { id: projectId } } as const },
    ...(grantedRoleKeys
      ? [{ filter: { case: "organizationId", value: { id: organizationId } } as const }]
      : []),
    ...(text ? [{ filter: named }] : []),
  ]
}
