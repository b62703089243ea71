import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import {
  type Administrator,
  RoleLevel,
} from "../../../src/gen/core/internal_permission/v2/internal_permission_pb.ts"
import { InternalPermissionService } from "../../../src/gen/core/internal_permission/v2/internal_permission_service_pb.ts"
import { Checks } from "../../kit/index.ts"
import { defineForm } from "../form/index.ts"
import {
  Badges,
  Collection,
  HistoryButton,
  paginationOf,
  streamResource,
  toPage,
} from "../list/index.ts"
import {
  call,
  Link,
  PagePart,
  t,
  useOrganization,
  usePermissions,
  useRead,
} from "../shell/index.ts"
import { UserPicker } from "../user/user-picker.tsx"
import { ConfirmCredentials } from "./confirm-credentials.tsx"

/** The resource that an administrator manages. */
export type AdministeredResource =
  | { readonly case: "instance"; readonly value: true }
  | { readonly case: "organizationId"; readonly value: string }
  | { readonly case: "projectId"; readonly value: string }
  | { readonly case: "projectGrant"; readonly value: GrantedProject }

type GrantedProject = { readonly projectId: string; readonly organizationId: string }

const levels = {
  instance: RoleLevel.INSTANCE,
  organizationId: RoleLevel.ORGANIZATION,
  projectId: RoleLevel.PROJECT,
  projectGrant: RoleLevel.PROJECT_GRANT,
} as const

const { listAdministrators, createAdministrator, updateAdministrator, deleteAdministrator } =
  InternalPermissionService.method
const { listRoles } = InternalPermissionService.method

/** Administrators of a resource; project roles of users are managed elsewhere. */
export function Administrators({ of: administered }: { readonly of: AdministeredResource }) {
  // Callers who can manage settings but not users see administrators without links.
  const seesUsers = usePermissions(useOrganization().id).some((one) => one.startsWith("user.read"))
  const resource = { resource: administered }
  const method = TextFilterMethod.CONTAINS_IGNORE_CASE
  return (
    <Collection
      family="administrators"
      method={listAdministrators}
      toRequest={(query) => {
        const named = { displayName: query.text, method }
        const filters = [
          { filter: { case: "resource", value: resource } as const },
          ...(query.text ? [{ filter: { case: "userDisplayName", value: named } as const }] : []),
        ]
        return { pagination: paginationOf(query), filters }
      }}
      find={({ administrators, pagination }) => toPage(administrators, pagination)}
      columns={[
        {
          label: t("search.user"),
          cell: (row) =>
            seesUsers ? (
              <Link to="/users/$userId" params={{ userId: userIdOf(row) }}>
                {userNameOf(row)}
              </Link>
            ) : (
              userNameOf(row)
            ),
        },
        { label: t("roles.title"), cell: ({ roles }) => <Badges words={roles} /> },
      ]}
      keyOf={userIdOf}
      nameOf={userNameOf}
      needs={{
        create: createAdministrator,
        edit: updateAdministrator,
        remove: deleteAdministrator,
      }}
      more={(row) => <AdministratorChanges administered={administered} row={row} />}
      form={(row) => administratorForm(administered, row)}
      remove={(row) => call(deleteAdministrator, { userId: userIdOf(row), resource })}
    />
  )
}

const userIdOf = ({ user }: Administrator) => user?.id ?? ""

const userNameOf = ({ user }: Administrator) =>
  user?.displayName || user?.preferredLoginName || user?.id || ""

type ChangesProps = { readonly administered: AdministeredResource; readonly row: Administrator }

/**
 * Changes of instance administrators are in the instance's history, those of a project grant under
 * its ID.
 */
function AdministratorChanges({ administered, row }: ChangesProps) {
  if (administered.case !== "organizationId" && administered.case !== "projectId") return null
  const level = administered.case === "organizationId" ? "org" : "project"
  const id = [
    level,
    encodeURIComponent(administered.value),
    encodeURIComponent(userIdOf(row)),
  ].join("/")
  return <HistoryButton of={streamResource("member", id)} name={userNameOf(row)} />
}

const nothingConfirmed: readonly string[] = []

function administratorForm(
  administered: AdministeredResource,
  administrator: Administrator | undefined,
) {
  const currentRoles: readonly string[] = administrator?.roles ?? []
  return defineForm({
    initial: {
      userId: administrator ? userIdOf(administrator) : "",
      roles: currentRoles,
      confirmed: nothingConfirmed,
    },
    secret: ["confirmed"],
    save: async ({ userId, roles, confirmed }) => {
      const request = {
        userId,
        resource: { resource: administered },
        roles: [...roles],
        confirmedCredentials: [...confirmed],
      }
      await (administrator
        ? call(updateAdministrator, request)
        : call(createAdministrator, request))
    },
    disabled: ({ userId, roles }) => userId === "" || roles.length === 0,
    fields: ({ values, change, action, contested }) => (
      <>
        {!administrator && (
          <UserPicker value={values.userId} onChange={(userId) => change({ userId })} />
        )}
        <PagePart>
          {contested(
            "roles",
            t("roles.title"),
            <RoleChecks
              level={levels[administered.case]}
              values={values.roles}
              onChange={(roles) => change({ roles })}
            />,
          )}
        </PagePart>
        <ConfirmCredentials
          refusal={action.refusal}
          values={values.confirmed}
          onChange={(confirmed) => change({ confirmed })}
        />
      </>
    ),
  })
}

type RoleChecksProps = {
  readonly level: RoleLevel
  readonly values: readonly string[]
  readonly onChange: (roles: readonly string[]) => void
}

function RoleChecks({ level, ...checks }: RoleChecksProps) {
  const { roles } = useRead(listRoles, { level, pagination: { limit: 1000, asc: true } })
  const options = roles.map(({ key, displayName }) => ({
    value: key,
    label: key,
    ...(displayName !== key && { hint: displayName }),
  }))
  return <Checks legend={t("roles.title")} options={options} {...checks} />
}
