import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import {
  type Administrator,
  RoleLevel,
} from "../../../src/gen/core/internal_permission/v2/internal_permission_pb.ts"
import { InternalPermissionService } from "../../../src/gen/core/internal_permission/v2/internal_permission_service_pb.ts"
import { Checks } from "../../kit/index.ts"
import { formOf } from "../form/index.ts"
import { Badges, Collection, found, HistoryButton, pageOf, streamOf } from "../list/index.ts"
import { call, Link, Part, t, useOrganization, usePermissions, useRead } from "../shell/index.ts"
import { UserPicker } from "../user/user-picker.tsx"
import { ConfirmCredentials } from "./confirm-credentials.tsx"

/** What somebody administers. */
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

/** Who may look at something here, or change it; people's roles in applications are others. */
export function Administrators({ of: held }: { readonly of: AdministeredResource }) {
  // Whoever manages settings sees who else looks after this, and not the people themselves.
  const seesUsers = usePermissions(useOrganization().id).some((one) => one.startsWith("user.read"))
  const resource = { resource: held }
  const method = TextFilterMethod.CONTAINS_IGNORE_CASE
  return (
    <Collection
      family="administrators"
      method={listAdministrators}
      ask={(asked) => {
        const named = { displayName: asked.text, method }
        const filters = [
          { filter: { case: "resource", value: resource } as const },
          ...(asked.text ? [{ filter: { case: "userDisplayName", value: named } as const }] : []),
        ]
        return { pagination: pageOf(asked), filters }
      }}
      find={({ administrators, pagination }) => found(administrators, pagination)}
      columns={[
        {
          label: t("search.user"),
          cell: (row) =>
            seesUsers ? (
              <Link to="/users/$userId" params={{ userId: idOf(row) }}>
                {nameOf(row)}
              </Link>
            ) : (
              nameOf(row)
            ),
        },
        { label: t("roles.title"), cell: ({ roles }) => <Badges words={roles} /> },
      ]}
      keyOf={idOf}
      nameOf={nameOf}
      needs={{
        create: createAdministrator,
        edit: updateAdministrator,
        remove: deleteAdministrator,
      }}
      more={(row) => <Changes held={held} row={row} />}
      form={(row) => administratorForm(held, row)}
      remove={(row) => call(deleteAdministrator, { userId: idOf(row), resource })}
    />
  )
}

const idOf = ({ user }: Administrator) => user?.id ?? ""

const nameOf = ({ user }: Administrator) =>
  user?.displayName || user?.preferredLoginName || user?.id || ""

type ChangesProps = { readonly held: AdministeredResource; readonly row: Administrator }

/** The instance keeps its own administrators in its own history, a grant by its own id. */
function Changes({ held, row }: ChangesProps) {
  if (held.case !== "organizationId" && held.case !== "projectId") return null
  const level = held.case === "organizationId" ? "org" : "project"
  const id = [level, encodeURIComponent(held.value), encodeURIComponent(idOf(row))].join("/")
  return <HistoryButton of={streamOf("member", id)} name={nameOf(row)} />
}

const nothingConfirmed: readonly string[] = []

function administratorForm(held: AdministeredResource, administrator: Administrator | undefined) {
  const given: readonly string[] = administrator?.roles ?? []
  return formOf({
    initial: {
      userId: administrator ? idOf(administrator) : "",
      roles: given,
      confirmed: nothingConfirmed,
    },
    secret: ["confirmed"],
    save: async ({ userId, roles, confirmed }) => {
      const wanted = {
        userId,
        resource: { resource: held },
        roles: [...roles],
        confirmedCredentials: [...confirmed],
      }
      await (administrator ? call(updateAdministrator, wanted) : call(createAdministrator, wanted))
    },
    disabled: ({ userId, roles }) => userId === "" || roles.length === 0,
    fields: ({ values, change, action, contested }) => (
      <>
        {!administrator && (
          <UserPicker value={values.userId} onChange={(userId) => change({ userId })} />
        )}
        <Part>
          {contested(
            "roles",
            t("roles.title"),
            <RoleChecks
              level={levels[held.case]}
              values={values.roles}
              onChange={(roles) => change({ roles })}
            />,
          )}
        </Part>
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
