import { useState } from "react"
import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import {
  GrantedProjectState,
  type Project,
  ProjectFieldName,
  ProjectOrganizationIDFilter_Type,
  ProjectState,
} from "../../../src/gen/core/project/v2/project_pb.ts"
import { Badge } from "../../kit/badge.tsx"
import { Button } from "../../kit/button.tsx"
import { Dialog } from "../../kit/dialog.tsx"
import { EmptyState } from "../../kit/empty-state.tsx"
import { TextField } from "../../kit/field.tsx"
import type { Column } from "../../kit/table.tsx"
import { type House, useHouse } from "../house.ts"
import { Link } from "../link.tsx"
import { type Asked, Listing } from "../listing.tsx"
import { useAction } from "../load.ts"
import { PageFrame } from "../page-frame.tsx"
import { go, type Route } from "../route.ts"
import { StateBadge } from "../state-badge.tsx"
import { Time } from "../time.tsx"

export function ProjectsPage() {
  const house = useHouse()
  const { t, organization } = house
  const [creating, setCreating] = useState(false)
  const create = (
    <Button kind="primary" onClick={() => setCreating(true)}>
      {t("projects.create")}
    </Button>
  )
  const empty = (
    <EmptyState title={t("projects.empty.title")} action={create}>
      {t("projects.empty.text")}
    </EmptyState>
  )
  return (
    <PageFrame title={t("nav.projects")} actions={create}>
      <Listing
        caption={t("nav.projects")}
        scope={organization.id}
        read={(asked, signal) => readProjects(house, asked, signal)}
        columns={columnsOf(house)}
        keyOf={(project) => project.projectId}
        empty={empty}
      />
      {creating && <CreateProject onClose={() => setCreating(false)} />}
    </PageFrame>
  )
}

async function readProjects({ core, organization }: House, asked: Asked, signal: AbortSignal) {
  const { text, offset, limit } = asked
  const type = ProjectOrganizationIDFilter_Type.OWNED_OR_GRANTED
  const own = { organizationId: organization.id, type }
  const named = { projectName: text, method: TextFilterMethod.CONTAINS_IGNORE_CASE }
  const filters = [
    { filter: { case: "organizationIdFilter", value: own } as const },
    ...(text ? [{ filter: { case: "projectNameFilter", value: named } as const }] : []),
  ]
  const request = {
    pagination: { offset, limit, asc: true },
    sortingColumn: ProjectFieldName.NAME,
    filters,
  }
  const { projects, pagination } = await core.projects.listProjects(request, { signal })
  return { rows: projects, total: Number(pagination?.totalResult ?? projects.length) }
}

/** It belongs to another organisation, which lets this one use it. */
const isGranted = ({ grantedOrganizationId }: Project) => grantedOrganizationId !== undefined

const isActive = ({ state, grantedState }: Project) =>
  state !== ProjectState.INACTIVE && grantedState !== GrantedProjectState.INACTIVE

const routeTo = (project: Project): Route => ({
  page: isGranted(project) ? "granted-project" : "project",
  projectId: project.projectId,
})

const columnsOf = ({ t }: House): readonly Column<Project>[] => [
  {
    label: t("field.name"),
    cell: (project) => (
      <Link className="row-link" to={routeTo(project)}>
        {project.name}
      </Link>
    ),
  },
  {
    label: t("field.state"),
    cell: (project) => (
      <span className="badges">
        {isGranted(project) && <Badge>{t("granted.badge")}</Badge>}
        <StateBadge state={isActive(project) ? "active" : "inactive"} />
      </span>
    ),
  },
  { label: t("field.changed"), cell: ({ changeDate }) => <Time at={changeDate} /> },
]

function CreateProject({ onClose }: { readonly onClose: () => void }) {
  const { t, core, organization } = useHouse()
  const [name, setName] = useState("")
  const action = useAction(async () => {
    const wanted = { organizationId: organization.id, name: name.trim() }
    const { projectId } = await core.projects.createProject(wanted)
    go({ page: "project", projectId })
  })
  return (
    <Dialog title={t("projects.create")} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault()
          action.run()
        }}
      >
        <TextField
          label={t("field.name")}
          hint={t("projects.name_hint")}
          error={action.error}
          value={name}
          onChange={(event) => setName(event.target.value)}
          maxLength={200}
          autoComplete="off"
          required
          autoFocus
        />
        <div className="form-actions">
          <Button kind="primary" type="submit" disabled={action.busy}>
            {t("projects.create")}
          </Button>
          <Button onClick={onClose}>{t("form.cancel")}</Button>
        </div>
      </form>
    </Dialog>
  )
}
