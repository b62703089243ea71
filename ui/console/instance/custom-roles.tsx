import { useState } from "react"
import type {
  Role,
  RoleLevel,
} from "../../../src/gen/core/internal_permission/v2/internal_permission_pb.ts"
import { Alert } from "../../kit/alert.tsx"
import { Badge } from "../../kit/badge.tsx"
import { Checks } from "../../kit/check.tsx"
import { Disclosure } from "../../kit/disclosure.tsx"
import { TextField } from "../../kit/field.tsx"
import { SelectField } from "../../kit/select.tsx"
import { Skeleton } from "../../kit/skeleton.tsx"
import { Clip } from "../badges.tsx"
import { Collection, type FormPart } from "../collection.tsx"
import type { Core } from "../core.ts"
import { DialogForm, useTexts } from "../form.tsx"
import { useHouse } from "../house.ts"
import type { Asked } from "../listing.tsx"
import { type Readings, useLoad } from "../load.ts"
import { familiesOf, type LevelName, levelNames, levelOf, levels } from "./role.ts"

/** The roles that administrators can have: built-in ones, and those of the instance's own. */
export function CustomRoles({ readings }: { readonly readings: Readings }) {
  const { t, core } = useHouse()
  return (
    <Collection
      family="custom_roles"
      scope="instance"
      readings={readings}
      read={(asked, signal) => readRoles(core, asked, signal)}
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
      isFixed={({ builtIn }) => builtIn}
      form={(role, part) => <RoleForm role={role} {...part} />}
      remove={({ key }) => core.permissions.deleteRole({ key })}
    />
  )
}

const nameOf = ({ key, displayName }: Role) => (displayName === key ? "" : displayName)

const everyRole = (core: Core, signal: AbortSignal, level?: RoleLevel) =>
  core.permissions.listRoles(
    { ...(level && { level }), pagination: { limit: 1000, asc: true } },
    { signal },
  )

/** They are few, so they are all read, and the instance's own come first. */
async function readRoles(core: Core, { text, offset, limit }: Asked, signal: AbortSignal) {
  const { roles } = await everyRole(core, signal)
  const wanted = text.toLowerCase()
  const found = roles
    .filter(({ key, displayName }) => `${key}\n${displayName}`.toLowerCase().includes(wanted))
    .sort((a, b) => Number(a.builtIn) - Number(b.builtIn))
  const from = Number(offset)
  return { rows: found.slice(from, from + limit), total: found.length }
}

type RoleFormProps = FormPart & { readonly role: Role | undefined }

function RoleForm({ role, ...part }: RoleFormProps) {
  const { t, core } = useHouse()
  const { texts, field } = useTexts({ key: "", displayName: role ? nameOf(role) : "" })
  const [level, setLevel] = useState<LevelName>(role ? levelOf(role.level) : "organization")
  const [permissions, setPermissions] = useState<readonly string[]>(role?.permissions ?? [])
  const save = () => {
    const key = role?.key ?? texts.key.trim()
    const displayName = texts.displayName.trim() || key
    const wanted = { key, displayName, permissions: [...permissions] }
    return role
      ? core.permissions.updateRole(wanted)
      : core.permissions.createRole({ ...wanted, level: levels[level] })
  }
  const title = role?.key ?? t("custom_roles.create")
  return (
    <DialogForm
      title={title}
      submit={role ? undefined : title}
      disabled={permissions.length === 0}
      save={save}
      {...part}
    >
      {!role && (
        <>
          <TextField
            label={t("roles.key")}
            hint={t("custom_roles.key_hint")}
            {...field("key")}
            maxLength={100}
            autoCapitalize="none"
            spellCheck={false}
            required
            autoFocus
          />
          <SelectField
            label={t("custom_roles.level")}
            options={levelNames.map((value) => ({ value, label: t(`level.${value}`) }))}
            value={level}
            onChange={(chosen) => {
              setLevel(chosen)
              setPermissions([])
            }}
          />
        </>
      )}
      <TextField label={t("roles.name")} optional={t("form.optional")} {...field("displayName")} />
      <Permissions level={level} values={permissions} onChange={setPermissions} />
    </DialogForm>
  )
}

type PermissionsProps = {
  readonly level: LevelName
  readonly values: readonly string[]
  readonly onChange: (permissions: readonly string[]) => void
}

/** What the built-in roles of a level permit, by what it is about; one of them may be the start. */
function Permissions({ level, values, onChange }: PermissionsProps) {
  const { t, core } = useHouse()
  // What is held on the instance may permit whatever can be held below it.
  const wanted = level === "instance" ? undefined : levels[level]
  const found = useLoad(`permissions ${level}`, "", (signal) => everyRole(core, signal, wanted))
  if (found.status === "loading") return <Skeleton rows={4} label={t("list.loading")} />
  if (found.status === "failed") return <Alert tone="danger">{found.message}</Alert>
  const builtIn = found.value.roles.filter((role) => role.builtIn)
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
          <Family key={name} {...{ name, permissions, values, onChange }} />
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
