import { useState } from "react"
import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import type { ProjectRole } from "../../../src/gen/core/project/v2/project_pb.ts"
import { ProjectRoleFieldName } from "../../../src/gen/core/project/v2/project_pb.ts"
import { Button } from "../../kit/button.tsx"
import { Dialog } from "../../kit/dialog.tsx"
import { EmptyState } from "../../kit/empty-state.tsx"
import { TextField } from "../../kit/field.tsx"
import type { Column } from "../../kit/table.tsx"
import { ConfirmButton } from "../confirm.tsx"
import type { Core } from "../core.ts"
import { Section } from "../detail.tsx"
import { ActionForm, useSaving } from "../form.tsx"
import { type House, useHouse } from "../house.ts"
import { type Asked, Listing } from "../listing.tsx"
import type { Changed, Readings } from "../load.ts"

type RolesProps = {
  readonly projectId: string
  /** What shows roles, or what somebody has of them. */
  readonly readings: Readings
}

/** The roles of a project; its applications give them a meaning. */
export function Roles({ projectId, readings }: RolesProps) {
  const house = useHouse()
  const { t, core } = house
  const [open, setOpen] = useState<ProjectRole | "new" | undefined>(undefined)
  const close = () => setOpen(undefined)
  const onChanged = readings.reload
  const create = <Button onClick={() => setOpen("new")}>{t("roles.create")}</Button>
  const empty = (
    <EmptyState title={t("roles.empty.title")} action={create}>
      {t("roles.empty.text")}
    </EmptyState>
  )
  const remove = async (roleKey: string) => {
    await core.projects.removeProjectRole({ projectId, roleKey })
    await onChanged()
  }
  return (
    <Section title={t("roles.title")} actions={create}>
      <Listing
        caption={t("roles.title")}
        scope={projectId}
        with={readings}
        read={(asked, signal) => readRoles(core, { ...asked, projectId }, signal)}
        columns={columnsOf({ house, edit: setOpen, remove })}
        keyOf={({ key }) => key}
        empty={empty}
      />
      {open === "new" && <Create {...{ projectId, onChanged, close }} />}
      {open !== undefined && open !== "new" && <Edit role={open} {...{ onChanged, close }} />}
    </Section>
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

type ColumnsProps = {
  readonly house: House
  readonly edit: (role: ProjectRole) => void
  readonly remove: (roleKey: string) => Promise<void>
}

const columnsOf = ({ house, edit, remove }: ColumnsProps): readonly Column<ProjectRole>[] => {
  const { t } = house
  return [
    { label: t("roles.key"), cell: ({ key }) => <code>{key}</code> },
    { label: t("roles.name"), cell: ({ displayName }) => <Clip text={displayName} /> },
    { label: t("roles.group"), cell: ({ group }) => <Clip text={group} /> },
    {
      label: "",
      cell: (role) => (
        <div className="row-actions">
          <Button
            small
            kind="plain"
            aria-label={`${t("action.edit")}: ${role.key}`}
            onClick={() => edit(role)}
          >
            {t("action.edit")}
          </Button>
          <ConfirmButton
            label={t("action.remove")}
            what={role.key}
            consequence={t("roles.remove_text")}
            act={() => remove(role.key)}
          />
        </div>
      ),
    },
  ]
}

function Clip({ text }: { readonly text: string }) {
  if (text === "") return null
  return (
    <span className="clip" title={text}>
      {text}
    </span>
  )
}

type DialogProps = { readonly onChanged: Changed; readonly close: () => void }

function Create({ projectId, onChanged, close }: DialogProps & { readonly projectId: string }) {
  const { t, core } = useHouse()
  const [roleKey, setRoleKey] = useState("")
  const [words, setWords] = useState<Words>({ displayName: "", group: "" })
  const save = () => {
    const displayName = words.displayName.trim() || roleKey.trim()
    const group = words.group.trim()
    const wanted = { projectId, roleKey: roleKey.trim(), displayName, ...(group && { group }) }
    return core.projects.addProjectRole(wanted)
  }
  const action = useSaving(save, onChanged, close)
  return (
    <Dialog title={t("roles.create")} onClose={close}>
      <ActionForm action={action} submit={t("roles.create")} onCancel={close}>
        <TextField
          label={t("roles.key")}
          hint={t("roles.key_hint")}
          value={roleKey}
          onChange={(event) => setRoleKey(event.target.value)}
          maxLength={200}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          required
          autoFocus
        />
        <WordFields words={words} onChange={setWords} />
      </ActionForm>
    </Dialog>
  )
}

function Edit({ role, onChanged, close }: DialogProps & { readonly role: ProjectRole }) {
  const { t, core } = useHouse()
  const { projectId, key: roleKey } = role
  const [words, setWords] = useState<Words>(role)
  const save = () => {
    const displayName = words.displayName.trim() || roleKey
    const group = words.group.trim()
    return core.projects.updateProjectRole({ projectId, roleKey, displayName, group })
  }
  const action = useSaving(save, onChanged, close)
  return (
    <Dialog title={roleKey} onClose={close}>
      <ActionForm action={action} onCancel={close}>
        <WordFields words={words} onChange={setWords} />
      </ActionForm>
      <p className="quiet small">{t("roles.key_stays")}</p>
    </Dialog>
  )
}

type Words = { readonly displayName: string; readonly group: string }

type WordFieldsProps = { readonly words: Words; readonly onChange: (words: Words) => void }

function WordFields({ words: { displayName, group }, onChange }: WordFieldsProps) {
  const { t } = useHouse()
  return (
    <>
      <TextField
        label={t("roles.name")}
        optional={t("form.optional")}
        hint={t("roles.name_hint")}
        value={displayName}
        onChange={(event) => onChange({ displayName: event.target.value, group })}
        maxLength={200}
        autoComplete="off"
      />
      <TextField
        label={t("roles.group")}
        optional={t("form.optional")}
        hint={t("roles.group_hint")}
        value={group}
        onChange={(event) => onChange({ displayName, group: event.target.value })}
        maxLength={200}
        autoComplete="off"
      />
    </>
  )
}
