import {
  type Authorization,
  State,
} from "../../../src/gen/core/authorization/v2/authorization_pb.ts"
import { AuthorizationService } from "../../../src/gen/core/authorization/v2/authorization_service_pb.ts"
import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
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
import { call, Link, t } from "../shell/index.ts"
import { UserPicker } from "../user/user-picker.tsx"
import { RoleChecks } from "./role-checks.tsx"

/** A project, and the organisation whose people are given roles on it. */
type AuthorizedProject = {
  readonly projectId: string
  readonly organizationId: string
  /** All that may be given, where the project is another's. */
  readonly grantedRoleKeys?: readonly string[]
}

const { createAuthorization, updateAuthorization, deleteAuthorization, listAuthorizations } =
  AuthorizationService.method
const { activateAuthorization, deactivateAuthorization } = AuthorizationService.method

/** Who has which roles on a project; on one that is granted, those whom one's own gave them to. */
export function Authorizations({ project }: { readonly project: AuthorizedProject }) {
  return (
    <Collection
      family="authorizations"
      method={listAuthorizations}
      ask={(asked) => ({ pagination: pageOf(asked), filters: filtersOf(project, asked) })}
      find={({ authorizations, pagination }) => found(authorizations, pagination)}
      columns={[
        { label: t("search.user"), cell: (row) => <UserLink row={row} /> },
        {
          label: t("roles.title"),
          cell: ({ roles }) => <Badges words={roles.map(({ key }) => key)} />,
        },
        { label: t("field.state"), cell: (row) => <StateBadge isOn={isOn(row)} /> },
      ]}
      keyOf={({ id }) => id}
      nameOf={nameOf}
      more={(row) => (
        <HistoryButton of={{ case: "authorizationId", value: row.id }} name={nameOf(row)} />
      )}
      form={(authorization) => rolesForm(project, authorization)}
      needs={{
        create: createAuthorization,
        edit: updateAuthorization,
        remove: deleteAuthorization,
      }}
      turn={(row, how) => (
        <ActivationButton
          {...how}
          on={activateAuthorization}
          off={deactivateAuthorization}
          of={{ id: row.id }}
          isOn={isOn(row)}
          consequence={t("authorizations.deactivate_text")}
        />
      )}
      remove={({ id }) => call(deleteAuthorization, { id })}
    />
  )
}

const isOn = ({ state }: Authorization) => state !== State.INACTIVE

const nameOf = ({ id, user }: Authorization) => user?.displayName || user?.preferredLoginName || id

function UserLink({ row }: { readonly row: Authorization }) {
  if (!row.user) return null
  return (
    <Link to="/users/$userId" params={{ userId: row.user.id }}>
      {nameOf(row)}
    </Link>
  )
}

/** Gives somebody roles who has none on the project yet, or others to who has. */
function rolesForm(project: AuthorizedProject, authorization: Authorization | undefined) {
  const { projectId, organizationId } = project
  const roles: readonly string[] = authorization?.roles.map(({ key }) => key) ?? []
  return formOf({
    initial: { userId: authorization?.user?.id ?? "", roles },
    save: async ({ userId, roles: chosen }) => {
      const roleKeys = [...chosen]
      await (authorization
        ? call(updateAuthorization, { id: authorization.id, roleKeys })
        : call(createAuthorization, { userId, projectId, organizationId, roleKeys }))
    },
    disabled: ({ userId }) => !authorization && userId === "",
    fields: ({ values, change, contested }) => (
      <>
        {!authorization && (
          <UserPicker value={values.userId} onChange={(userId) => change({ userId })} />
        )}
        {contested(
          "roles",
          t("roles.title"),
          <RoleChecks
            project={project}
            values={values.roles}
            onChange={(to) => change({ roles: to })}
          />,
        )}
      </>
    ),
  })
}

function filtersOf(
  { projectId, organizationId, grantedRoleKeys }: AuthorizedProject,
  { text }: ListQuery,
) {
  const method = TextFilterMethod.CONTAINS_IGNORE_CASE
  const named = { case: "userDisplayName", value: { displayName: text, method } } as const
  const own = { case: "organizationId", value: { id: organizationId } } as const
  return [
    { filter: { case: "projectId", value: { id: projectId } } as const },
    ...(grantedRoleKeys ? [{ filter: own }] : []),
    ...(text ? [{ filter: named }] : []),
  ]
}
