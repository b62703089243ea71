import { useState } from "react"
import type { Authorization } from "../../../src/gen/core/authorization/v2/authorization_pb.ts"
import { State } from "../../../src/gen/core/authorization/v2/authorization_pb.ts"
import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import type { Project } from "../../../src/gen/core/project/v2/project_pb.ts"
import { Badge } from "../../kit/badge.tsx"
import { Button } from "../../kit/button.tsx"
import { EmptyState } from "../../kit/empty-state.tsx"
import type { Column } from "../../kit/table.tsx"
import { ActionButton, ConfirmButton } from "../confirm.tsx"
import type { Core } from "../core.ts"
import { Section } from "../detail.tsx"
import { type House, useHouse } from "../house.ts"
import { Link } from "../link.tsx"
import { type Asked, Listing } from "../listing.tsx"
import type { Changed, Readings } from "../load.ts"
import { StateBadge } from "../state-badge.tsx"
import { EditAuthorization, GiveRoles } from "./authorization-dialog.tsx"

type AuthorizationsProps = {
  readonly project: Project
  readonly readings: Readings
}

/** Who has which roles on a project. */
export function Authorizations({ project, readings }: AuthorizationsProps) {
  const house = useHouse()
  const { t, core } = house
  const { projectId } = project
  const [open, setOpen] = useState<Authorization | "new" | undefined>(undefined)
  const close = () => setOpen(undefined)
  const onChanged = readings.reload
  const give = <Button onClick={() => setOpen("new")}>{t("authorizations.create")}</Button>
  const empty = (
    <EmptyState title={t("authorizations.empty.title")} action={give}>
      {t("authorizations.empty.text")}
    </EmptyState>
  )
  return (
    <Section title={t("authorizations.title")} actions={give}>
      <Listing
        caption={t("authorizations.title")}
        scope={projectId}
        with={readings}
        read={(asked, signal) => readAuthorizations(core, { ...asked, projectId }, signal)}
        columns={columnsOf({ house, edit: setOpen, onChanged })}
        keyOf={({ id }) => id}
        empty={empty}
      />
      {open === "new" && <GiveRoles {...{ project, onChanged, close }} />}
      {open !== undefined && open !== "new" && (
        <EditAuthorization authorization={open} {...{ project, onChanged, close }} />
      )}
    </Section>
  )
}

type Wanted = Asked & { readonly projectId: string }

async function readAuthorizations(core: Core, wanted: Wanted, signal: AbortSignal) {
  const { projectId, text, ...page } = wanted
  const method = TextFilterMethod.CONTAINS_IGNORE_CASE
  const named = { case: "userDisplayName", value: { displayName: text, method } } as const
  const filters = [
    { filter: { case: "projectId", value: { id: projectId } } as const },
    ...(text ? [{ filter: named }] : []),
  ]
  const request = { pagination: { ...page, asc: true }, filters }
  const answer = await core.authorizations.listAuthorizations(request, { signal })
  const { authorizations: rows, pagination } = answer
  return { rows, total: Number(pagination?.totalResult ?? rows.length) }
}

type ColumnsProps = {
  readonly house: House
  readonly edit: (authorization: Authorization) => void
  readonly onChanged: Changed
}

const columnsOf = (props: ColumnsProps): readonly Column<Authorization>[] => {
  const { t } = props.house
  return [
    {
      label: t("search.user"),
      cell: ({ user }) =>
        user && (
          <Link to={{ page: "user", userId: user.id }}>
            {user.displayName || user.preferredLoginName || user.id}
          </Link>
        ),
    },
    { label: t("roles.title"), cell: ({ roles }) => <RoleBadges roles={roles} /> },
    {
      label: t("field.state"),
      cell: (row) => <StateBadge state={isActive(row) ? "active" : "inactive"} />,
    },
    { label: "", cell: (row) => <Actions authorization={row} {...props} /> },
  ]
}

const isActive = ({ state }: Authorization) => state !== State.INACTIVE

function RoleBadges({ roles }: Pick<Authorization, "roles">) {
  const { t } = useHouse()
  if (roles.length === 0) return <span className="quiet">{t("detail.none")}</span>
  return (
    <span className="badges">
      {roles.map(({ key }) => (
        <Badge key={key}>{key}</Badge>
      ))}
    </span>
  )
}

function Actions({
  authorization,
  edit,
  onChanged,
}: Omit<ColumnsProps, "house"> & { readonly authorization: Authorization }) {
  const { t, core } = useHouse()
  const { id, user } = authorization
  const who = user?.displayName || user?.preferredLoginName || id
  const active = isActive(authorization)
  const turn = async () => {
    if (active) await core.authorizations.deactivateAuthorization({ id })
    else await core.authorizations.activateAuthorization({ id })
    await onChanged()
  }
  const remove = async () => {
    await core.authorizations.deleteAuthorization({ id })
    await onChanged()
  }
  return (
    <div className="row-actions">
      <Button
        small
        kind="plain"
        aria-label={`${t("action.edit")}: ${who}`}
        onClick={() => edit(authorization)}
      >
        {t("action.edit")}
      </Button>
      <ActionButton plain label={t(active ? "action.deactivate" : "action.activate")} act={turn} />
      <ConfirmButton
        label={t("action.remove")}
        what={who}
        consequence={t("authorizations.remove_text")}
        act={remove}
      />
    </div>
  )
}
