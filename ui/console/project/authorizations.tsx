import {
  type Authorization,
  State,
} from "../../../src/gen/core/authorization/v2/authorization_pb.ts"
import { AuthorizationService } from "../../../src/gen/core/authorization/v2/authorization_service_pb.ts"
import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import { ActivationButton, defineForm } from "../form/index.ts"
import {
  Badges,
  Collection,
  HistoryButton,
  type ListQuery,
  paginationOf,
  StateBadge,
  toPage,
} from "../list/index.ts"
import { call, Link, t } from "../shell/index.ts"
import { UserPicker } from "../user/user-picker.tsx"
import { RoleChecks } from "./role-checks.tsx"

/** A project, and the organization whose users get roles on it. */
type AuthorizedProject = {
  readonly projectId: string
  readonly organizationId: string
  /** The roles that can be assigned, if another organization owns the project. */
  readonly grantedRoleKeys?: readonly string[]
}

const { createAuthorization, updateAuthorization, deleteAuthorization, listAuthorizations } =
  AuthorizationService.method
const { activateAuthorization, deactivateAuthorization } = AuthorizationService.method

/** Users with roles on a project; for a granted project, those of the caller's organization. */
export function Authorizations({ project }: { readonly project: AuthorizedProject }) {
  return (
    <Collection
      family="authorizations"
      method={listAuthorizations}
      toRequest={(query) => ({
        pagination: paginationOf(query),
        filters: toFilters(project, query),
      })}
      find={({ authorizations, pagination }) => toPage(authorizations, pagination)}
      columns={[
        { label: t("search.user"), cell: (row) => <UserLink row={row} /> },
        {
          label: t("roles.title"),
          cell: ({ roles }) => <Badges words={roles.map(({ key }) => key)} />,
        },
        { label: t("field.state"), cell: (row) => <StateBadge isOn={isActive(row)} /> },
      ]}
      keyOf={({ id }) => id}
      nameOf={userNameOf}
      more={(row) => (
        <HistoryButton of={{ case: "authorizationId", value: row.id }} name={userNameOf(row)} />
      )}
      form={(authorization) => rolesForm(project, authorization)}
      needs={{
        create: createAuthorization,
        edit: updateAuthorization,
        remove: deleteAuthorization,
      }}
      turn={(row, options) => (
        <ActivationButton
          {...options}
          on={activateAuthorization}
          off={deactivateAuthorization}
          of={{ id: row.id }}
          isOn={isActive(row)}
          consequence={t("authorizations.deactivate_text")}
        />
      )}
      remove={({ id }) => call(deleteAuthorization, { id })}
    />
  )
}

const isActive = ({ state }: Authorization) => state !== State.INACTIVE

const userNameOf = ({ id, user }: Authorization) =>
  user?.displayName || user?.preferredLoginName || id

function UserLink({ row }: { readonly row: Authorization }) {
  if (!row.user) return null
  return (
    <Link to="/users/$userId" params={{ userId: row.user.id }}>
      {userNameOf(row)}
    </Link>
  )
}

/** Assigns roles to a new user, or changes those of an existing authorization. */
function rolesForm(project: AuthorizedProject, authorization: Authorization | undefined) {
  const { projectId, organizationId } = project
  const roles: readonly string[] = authorization?.roles.map(({ key }) => key) ?? []
  return defineForm({
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

function toFilters(
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
