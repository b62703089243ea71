import type {
  Role,
  RoleLevel,
} from "../../../src/gen/core/internal_permission/v2/internal_permission_pb.ts"
import {
  InternalPermissionService,
  type ListRolesResponse,
} from "../../../src/gen/core/internal_permission/v2/internal_permission_service_pb.ts"
import { Badge, Checks, Disclosure, SelectField } from "../../kit/index.ts"
import { formOf, verbatim } from "../form/index.ts"
import { Clip, Collection, type ListQuery } from "../list/index.ts"
import { call, Part, t, useRead } from "../shell/index.ts"
import { ConfirmCredentials } from "./confirm-credentials.tsx"
import { familiesOf, type LevelName, levelNames, levelOf, levels } from "./role.ts"

const { listRoles, createRole, updateRole, deleteRole } = InternalPermissionService.method

const everyRole = (level?: RoleLevel) => ({
  ...(level && { level }),
  pagination: { limit: 1000, asc: true },
})

/** The roles that administrators can have: built-in ones, and those of the instance's own. */
export function CustomRoles() {
  return (
    <Collection
      family="custom_roles"
      method={listRoles}
      ask={() => everyRole()}
      find={rolesOf}
      columns={[
        { label: t("roles.key"), cell: ({ key }) => <code>{key}</code> },
        { label: t("roles.name"), cell: (role) => <Clip text={nameOf(role)} /> },
        { label: t("custom_roles.level"), cell: (role) => t(`level.${levelOf(role.level)}`) },
        {
          label: t("custom_roles.permissions"),
          cell: ({ permissions }) => permissions.length,
        },
        {
          label: t("field.kind"),
          cell: ({ builtIn }) => builtIn && <Badge>{t("custom_roles.built_in")}</Badge>,
        },
      ]}
      keyOf={({ key }) => key}
      nameOf={({ key }) => key}
      needs={{ create: createRole, edit: updateRole, remove: deleteRole }}
      isFixed={({ builtIn }) => builtIn}
      form={(role) => roleForm(role)}
      remove={({ key }) => call(deleteRole, { key })}
    />
  )
}

const nameOf = ({ key, displayName }: Role) => (displayName === key ? "" : displayName)

/** They are few, so they are all read, and the instance's own come first. */
function rolesOf({ roles }: ListRolesResponse, { text, offset, limit }: ListQuery) {
  const wanted = text.toLowerCase()
  const fitting = roles
    .filter(({ key, displayName }) => `${key}\n${displayName}`.toLowerCase().includes(wanted))
    .sort((a, b) => Number(a.builtIn) - Number(b.builtIn))
  const from = Number(offset)
  return { rows: fitting.slice(from, from + limit), total: fitting.length }
}

type Values = {
  readonly key: string
  readonly displayName: string
  readonly level: LevelName
  readonly permissions: readonly string[]
  /** What others created for holders of the role. */
  readonly confirmed: readonly string[]
}

const roleForm = (role: Role | undefined) =>
  formOf<Values, void>({
    initial: {
      key: "",
      displayName: role ? nameOf(role) : "",
      level: role ? levelOf(role.level) : "organization",
      permissions: role?.permissions ?? [],
      confirmed: [],
    },
    secret: ["confirmed"],
    refusals: { key: ["role."] },
    save: async ({ level, permissions, confirmed, ...values }) => {
      const key = role?.key ?? values.key.trim()
      const displayName = values.displayName.trim() || key
      const wanted = { key, displayName, permissions: [...permissions] }
      await (role
        ? call(updateRole, { ...wanted, confirmedCredentials: [...confirmed] })
        : call(createRole, { ...wanted, level: levels[level] }))
    },
    disabled: ({ permissions }) => permissions.length === 0,
    fields: ({ text, values, change, action, contested }) => [
      !role &&
        text("key", t("roles.key"), {
          hint: t("custom_roles.key_hint"),
          maxLength: 100,
          ...verbatim,
          required: true,
        }),
      !role && (
        <SelectField
          key="level"
          label={t("custom_roles.level")}
          options={levelNames.map((value) => ({ value, label: t(`level.${value}`) }))}
          value={values.level}
          onChange={(level) => change({ level, permissions: [] })}
        />
      ),
      text("displayName", t("roles.name"), { optional: true }),
      <Part rows={4} key="permissions">
        {contested(
          "permissions",
          t("custom_roles.permissions"),
          <Permissions
            level={values.level}
            values={values.permissions}
            onChange={(permissions) => change({ permissions })}
          />,
        )}
      </Part>,
      <ConfirmCredentials
        key="confirmed"
        refusal={action.refusal}
        values={values.confirmed}
        onChange={(confirmed) => change({ confirmed })}
      />,
    ],
  })

type PermissionsProps = {
  readonly level: LevelName
  readonly values: readonly string[]
  readonly onChange: (permissions: readonly string[]) => void
}

/** What the built-in roles of a level permit, by what it is about; one of them may be the start. */
function Permissions({ level, values, onChange }: PermissionsProps) {
  // What is held on the instance may permit whatever can be held below it.
  const { roles } = useRead(listRoles, everyRole(level === "instance" ? undefined : levels[level]))
  const builtIn = roles.filter((role) => role.builtIn)
  const families = familiesOf(builtIn.flatMap(({ permissions }) => permissions))
  const copied = builtIn.find(({ permissions }) => isSame(permissions, values))?.key ?? ""
  const begin = [{ value: "", label: t("custom_roles.begin_none") }]
  return (
    <div className="stack">
      <SelectField
        label={t("custom_roles.begin")}
        options={[...begin, ...builtIn.map(({ key }) => ({ value: key, label: key }))]}
        value={copied}
        onChange={(key) => onChange(builtIn.find((role) => role.key === key)?.permissions ?? [])}
      />
      <div className="folds">
        {families.map(({ name, permissions }) => (
          <Family
            key={name}
            name={name}
            permissions={permissions}
            values={values}
            onChange={onChange}
          />
        ))}
      </div>
    </div>
  )
}

const isSame = (some: readonly string[], others: readonly string[]) =>
  some.length === others.length && some.every((one) => others.includes(one))

type FamilyProps = Omit<PermissionsProps, "level"> & {
  readonly name: string
  readonly permissions: readonly string[]
}

function Family({ name, permissions, values, onChange }: FamilyProps) {
  const chosen = permissions.filter((permission) => values.includes(permission))
  const others = values.filter((permission) => !permissions.includes(permission))
  return (
    <Disclosure
      summary={
        <>
          <code>{name}</code> {chosen.length} / {permissions.length}
        </>
      }
    >
      <Checks
        legend={name}
        options={permissions.map((value) => ({ value, label: value }))}
        values={chosen}
        onChange={(picked) => onChange([...others, ...picked])}
      />
    </Disclosure>
  )
}
