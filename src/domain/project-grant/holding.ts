import { type Searchable, statement, view } from "../../store/index.ts"
import type { ProjectEvent, ProjectRow } from "../project/index.ts"
import type { ProjectGrantEvent, ProjectGrantStatus } from "./model.ts"

/**
 * A project as one organisation has it: owned, or granted. `created` and `changed` are those of the
 * grant where there is one, so that a list in the order of time only grows at its end.
 */
export type HoldingRow = Omit<ProjectRow, "version"> & {
  readonly project: string
  /** The organisation that has the project. */
  readonly holder: string
  readonly holder_name: string
  /** Empty where the holder owns the project. */
  readonly grant_id: string
  readonly grant_state: ProjectGrantStatus
}

const own = statement(
  `INSERT INTO project_holdings (instance, id, project, own_project, grant_id, grant_state, holder,
     created, changed)
   VALUES ($instance, 'own/' || $id, $id, $id, '', 'active', $owner, $time, $time)`,
)
const touch = statement(
  `UPDATE project_holdings SET changed = $time WHERE instance = $instance AND id = 'own/' || $id`,
)
const removeProject = statement(
  "DELETE FROM project_holdings WHERE instance = $instance AND project = $id",
)
const grant = statement(
  `INSERT INTO project_holdings (instance, id, project, own_project, grant_id, grant_state, holder,
     created, changed)
   VALUES ($instance, 'via/' || $id, $projectId, '', $id, 'active', $grantedOrgId, $time, $time)`,
)
const change = statement(
  `UPDATE project_holdings SET grant_state = coalesce($state, grant_state), changed = $time
   WHERE instance = $instance AND id = 'via/' || $id`,
)
const remove = statement(
  "DELETE FROM project_holdings WHERE instance = $instance AND id = 'via/' || $id",
)

export const holdingView = view<ProjectGrantEvent | ProjectEvent>({
  name: "project_holding",
  tables: {
    project_holdings: {
      columns: `id TEXT NOT NULL, project TEXT NOT NULL, own_project TEXT NOT NULL,
        grant_id TEXT NOT NULL, grant_state TEXT NOT NULL, holder TEXT NOT NULL,
        created INTEGER NOT NULL, changed INTEGER NOT NULL`,
      key: "id",
      indexes: {
        project: "project",
        own: "own_project",
        grant: "grant_id",
        holder: "holder, created",
        created: "created",
        changed: "changed",
      },
    },
  },
  on: {
    "project.added": (db) => db.run(own),
    "project.changed": (db) => db.run(touch),
    "project.deactivated": (db) => db.run(touch),
    "project.reactivated": (db) => db.run(touch),
    "project.role.added": (db) => db.run(touch),
    "project.role.changed": (db) => db.run(touch),
    "project.role.removed": (db) => db.run(touch),
    "project.removed": (db) => db.run(removeProject),
    "project.grant.added": (db, { data: { projectId, grantedOrgId } }) =>
      db.run(grant, { projectId, grantedOrgId }),
    "project.grant.changed": (db) => db.run(change, { state: null }),
    "project.grant.deactivated": (db) => db.run(change, { state: "inactive" }),
    "project.grant.reactivated": (db) => db.run(change, { state: "active" }),
    "project.grant.removed": (db) => db.run(remove),
  },
})

/** What a project is stands with it, so a list joins what it shows. */
export const holdings: Searchable = {
  table: "project_holdings",
  columns: ["project", "holder", "grant_id", "created", "changed"],
  joined: {
    select: `coalesce(o.name, '') AS holder_name, p.org, p.name, p.name_folded, p.state,
      p.role_assertion, p.role_check, p.has_project_check, p.private_labeling, p.groups_claim`,
    from: `JOIN projects p ON p.instance = t.instance AND p.id = t.project
      LEFT JOIN orgs o ON o.instance = t.instance AND o.id = t.holder`,
    columns: ["name", "name_folded"],
  },
  names: ["name"],
  owner: { org: "holder", project: "own_project", grant: "grant_id" },
  key: "id",
  sort: "created",
}
