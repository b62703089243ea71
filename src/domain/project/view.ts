import { Fault } from "../../kernel/fault.ts"
import {
  bool,
  type ChangesOf,
  type Cx,
  type Envelope,
  foldName,
  integer,
  type RowOf,
  table,
  text,
  type ViewWriter,
  view,
} from "../../store/index.ts"
import type { GroupsClaim, PrivateLabeling, ProjectEvent, ProjectStatus } from "./model.ts"

export const projectTable = table(
  "projects",
  {
    id: text(),
    org: text(),
    name: text(),
    name_folded: text(),
    state: text<ProjectStatus>(),
    role_assertion: bool(),
    role_check: bool(),
    has_project_check: bool(),
    private_labeling: text<PrivateLabeling>(),
    groups_claim: text<GroupsClaim>(),
    created: integer(),
    changed: integer(),
    version: integer(),
  },
  {
    key: ["id"],
    indexes: { org: ["org", "created"], name: ["name_folded"], created: ["created"] },
    texts: ["name", "name_folded"],
  },
)

/** A project as listed; times are ms UTC. */
export type ProjectRow = RowOf<typeof projectTable>

const updateRow = (
  db: ViewWriter,
  { id, time, version }: Envelope,
  changes: ChangesOf<typeof projectTable>,
) => projectTable.update(db, { id }, { ...changes, changed: time, version })

const touchRow = (db: ViewWriter, event: Envelope) => updateRow(db, event, {})

export const projectView = view<ProjectEvent>({
  name: "project",
  revision: 2,
  tables: [projectTable],
  on: {
    "project.added": (db, { id, owner, data, time, version }) =>
      projectTable.insert(db, {
        id,
        org: owner,
        name: data.name,
        name_folded: foldName(data.name),
        state: "active",
        role_assertion: data.projectRoleAssertion,
        role_check: data.projectRoleCheck,
        has_project_check: data.hasProjectCheck,
        private_labeling: data.privateLabelingSetting,
        groups_claim: data.groupsClaim ?? "off",
        created: time,
        changed: time,
        version,
      }),
    "project.changed": (db, event) => {
      const { data } = event
      updateRow(db, event, {
        name: data.name,
        name_folded: data.name && foldName(data.name),
        role_assertion: data.projectRoleAssertion,
        role_check: data.projectRoleCheck,
        has_project_check: data.hasProjectCheck,
        private_labeling: data.privateLabelingSetting,
        groups_claim: data.groupsClaim,
      })
    },
    "project.deactivated": (db, event) => updateRow(db, event, { state: "inactive" }),
    "project.reactivated": (db, event) => updateRow(db, event, { state: "active" }),
    "project.role.added": touchRow,
    "project.role.changed": touchRow,
    "project.role.removed": touchRow,
    "project.removed": (db, { id }) => projectTable.remove(db, { id }),
  },
})

export const projects = projectTable.searchable({
  columns: ["org", "name", "name_folded", "state", "created", "changed"],
  names: ["name"],
  owner: { org: "org", project: "id" },
  key: "id",
  sort: "created",
})

const projectById = projectTable.select("*", "AND id = $projectId")

/** The row of a project. Throws if it does not exist. */
export function getProject(cx: Cx, id: string): ProjectRow {
  const row = cx.store.get(cx, projectById, { projectId: id })
  if (!row) throw new Fault("not_found", "project.missing", "project not found")
  return row
}

const projectsInOrg = projectTable.select(["id"], "AND org = $orgId ORDER BY id LIMIT $limit")

/** IDs of projects of an organization, up to `limit`. */
export const projectIdsOf = (cx: Cx, orgId: string, limit: number): readonly string[] =>
  cx.store.all(cx, projectsInOrg, { orgId, limit }).map(({ id }) => id)
