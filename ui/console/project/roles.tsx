import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import type { ProjectRole } from "../../../src/gen/core/project/v2/project_pb.ts"
import { ProjectRoleFieldName } from "../../../src/gen/core/project/v2/project_pb.ts"
import { TextField } from "../../kit/field.tsx"
import { Clip } from "../badges.tsx"
import { Collection, type FormPart } from "../collection.tsx"
import type { Core } from "../core.ts"
import { DialogForm, useTexts } from "../form.tsx"
import { useHouse } from "../house.ts"
import type { Asked } from "../listing.tsx"
import type { Readings } from "../load.ts"

type RolesProps = {
  readonly projectId: string
  /** What shows roles, or what somebody has of them. */
  readonly readings: Readings
}

/** The roles of a project; its applications give them a meaning. */
export function Roles({ projectId, readings }: RolesProps) {
  const { t, core } = useHouse()
  return (
    <Collection
      family="roles"
      scope={projectId}
      readings={readings}
      read={(asked, signal) => readRoles(core, { ...asked, projectId }, signal)}
      columns={[
        { label: t("roles.key"), cell: ({ key }) => <code>{key}</code> },
        { label: t("roles.name"), cell: ({ displayName }) => <Clip text={displayName} /> },
        { label: t("roles.group"), cell: ({ group }) => <Clip text={group} /> },
      ]}
      keyOf={({ key }) => key}
      nameOf={({ key }) => key}
      form={(role, part) =>
        role ? <Edit role={role} {...part} /> : <Create projectId={projectId} {...part} />
      }
      remove={({ key: roleKey }) => core.projects.removeProjectRole({ projectId, roleKey })}
    />
  )
}

type Wanted = Asked & { readonly projectId: string }

async function readRoles(core: Core, { projectId, text, ...page }: Wanted, signal: AbortSignal) {
  const method = TextFilterMethod.CONTAINS_IGNORE_CASE
  const filter = { case: "roleKeyFilter", value: { key: text, method } } as const
  const request = {
    projectId,
    pagination: { ...page, asc: true },
    sortingColumn: ProjectRoleFieldName.KEY,
    filters: text ? [{ filter }] : [],
  }
  const { projectRoles, pagination } = await core.projects.listProjectRoles(request, { signal })
  return { rows: projectRoles, total: Number(pagination?.totalResult ?? projectRoles.length) }
}

function Create({ projectId, ...part }: FormPart & { readonly projectId: string }) {
  const { t, core } = useHouse()
  const { texts, field } = useTexts({ key: "", displayName: "", group: "" })
  const save = () => {
    const roleKey = texts.key.trim()
    const group = texts.group.trim()
    const displayName = texts.displayName.trim() || roleKey
    const wanted = { projectId, roleKey, displayName, ...(group && { group }) }
    return core.projects.addProjectRole(wanted)
  }
  const title = t("roles.create")
  return (
    <DialogForm title={title} submit={title} save={save} {...part}>
      <TextField
        label={t("roles.key")}
        hint={t("roles.key_hint")}
        {...field("key")}
        autoCapitalize="none"
        spellCheck={false}
        required
        autoFocus
      />
      <WordFields field={field} />
    </DialogForm>
  )
}

function Edit({ role, ...part }: FormPart & { readonly role: ProjectRole }) {
  const { t, core } = useHouse()
  const { projectId, key: roleKey } = role
  const { texts, field } = useTexts({ displayName: role.displayName, group: role.group })
  const save = () => {
    const displayName = texts.displayName.trim() || roleKey
    return core.projects.updateProjectRole({
      ...{ projectId, roleKey, displayName, group: texts.group.trim() },
    })
  }
  return (
    <DialogForm title={roleKey} save={save} {...part}>
      <WordFields field={field} />
      <p className="quiet small">{t("roles.key_stays")}</p>
    </DialogForm>
  )
}

type WordFieldsProps = {
  readonly field: (
    name: "displayName" | "group",
  ) => ReturnType<ReturnType<typeof useTexts>["field"]>
}

function WordFields({ field }: WordFieldsProps) {
  const { t } = useHouse()
  const optional = t("form.optional")
  return (
    <>
      <TextField
        label={t("roles.name")}
        optional={optional}
        hint={t("roles.name_hint")}
        {...field("displayName")}
      />
      <TextField
        label={t("roles.group")}
        optional={optional}
        hint={t("roles.group_hint")}
        {...field("group")}
      />
    </>
  )
}
