import type {
  Role,
  RoleLevel,
} from "../../../src/gen/core/internal_permission/v2/internal_permission_pb.ts"
import {
  InternalPermissionService,
  type ListRolesResponse,
} from "../../../src/gen/core/internal_permission/v2/internal_permission_service_pb.ts"
import { Badge, Checks, Disclosure, SelectField } from "../../kit/index.ts"
import { defineForm, verbatim } from "../form/index.ts"
import { Clip, Collection, type ListQuery } from "../list/index.ts"
import { call, PagePart, t, useRead } from "../shell/index.ts"
import { ConfirmCredentials } from "./confirm-credentials.tsx"
import { groupPermissions, type LevelName, levelNames, levelOf, levels } from "./role.ts"

const { listRoles, createRole, updateRole, deleteRole } = InternalPermissionService.method

const allRolesRequest = (level?: RoleLevel) => ({
  ...(level && { level }),
  pagination: { limit: 1000, asc: true },
})

/** Roles of administrators: built-in and custom ones. */
export function CustomRoles() {
  return (
    <Collection
      family="custom_roles"
      method={listRoles}
      toRequest={() => allRolesRequest()}
      find={filterRoles}
      columns={[
        { label: t("roles.key"), cell: ({ key }) => <code>{key}</code> },
        { label: t("roles.name"), cell: (role) => <Clip text={displayNameOf(role)} /> },
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

const displayNameOf = ({ key, displayName }: Role) => (displayName === key ? "" : displayName)

/** There are few roles, so all are loaded; custom roles come first. */
function filterRoles({ roles }: ListRolesResponse, { text, offset, limit }: ListQuery) {
  const input = text.toLowerCase()
  const fitting = roles
    .filter(({ key, displayName }) => `${key}\n${displayName}`.toLowerCase().includes(input))
    .sort((a, b) => Number(a.builtIn) - Number(b.builtIn))
  const from = Number(offset)
  return { rows: fitting.slice(from, from + limit), total: fitting.length }
}

type RoleValues = {
  readonly key: string
  readonly displayName: string
  readonly level: LevelName
  readonly permissions: readonly string[]
  /** Credentials that others created for users with the role. */
  readonly confirmed: readonly string[]
}

const roleForm = (role: Role | undefined) =>
  defineForm<RoleValues, void>({
    initial: {
      key: "",
      displayName: role ? displayNameOf(role) : "",
      level: role ? levelOf(role.level) : "organization",
      permissions: role?.permissions ?? [],
      confirmed: [],
    },
    secret: ["confirmed"],
    refusals: { key: ["role."] },
    save: async ({ level, permissions, confirmed, ...values }) => {
      const key = role?.key ?? values.key.trim()
      const displayName = values.displayName.trim() || key
      const input = { key, displayName, permissions: [...permissions] }
      await (role
        ? call(updateRole, { ...input, confirmedCredentials: [...confirmed] })
        : call(createRole, { ...input, level: levels[level] }))
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
      <PagePart rows={4} key="permissions">
        {contested(
          "permissions",
          t("custom_roles.permissions"),
          <PermissionChecks
            level={values.level}
            values={values.permissions}
            onChange={(permissions) => change({ permissions })}
          />,
        )}
      </PagePart>,
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

/**
 * Permissions of the built-in roles of a level, grouped by resource; a built-in role can be used as
 * a template.
 */
function PermissionChecks({ level, values, onChange }: PermissionsProps) {
  // A role of the instance can contain the permissions of all levels.
  const { roles } = useRead(
    listRoles,
    allRolesRequest(level === "instance" ? undefined : levels[level]),
  )
  const builtIn = roles.filter((role) => role.builtIn)
  const families = groupPermissions(builtIn.flatMap(({ permissions }) => permissions))
  const copied = builtIn.find(({ permissions }) => isSameSet(permissions, values))?.key ?? ""
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
          <PermissionGroupChecks
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

const isSameSet = (some: readonly string[], others: readonly string[]) =>
  some.length === others.length && some.every((one) => others.includes(one))

type PermissionGroupProps = Omit<PermissionsProps, "level"> & {
  readonly name: string
  readonly permissions: readonly string[]
}

function PermissionGroupChecks({ name, permissions, values, onChange }: PermissionGroupProps) {
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
