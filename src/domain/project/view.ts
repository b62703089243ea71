import { Fault } from "../../kernel/fault.ts"
import { type Cx, foldName, type Searchable, statement, view } from "../../store/index.ts"
import type { GroupsClaim, PrivateLabeling, ProjectEvent, ProjectStatus } from "./model.ts"

/** A project as it is listed; flags are 0 or 1, times ms UTC. */
export type ProjectRow = {
  readonly id: string
  readonly org: string
  readonly name: string
  readonly state: ProjectStatus
  readonly role_assertion: number
  readonly role_check: number
  readonly has_project_check: number
  readonly private_labeling: PrivateLabeling
  readonly groups_claim: GroupsClaim
  readonly created: number
  readonly changed: number
  readonly version: number
}

const insert = statement(
  `INSERT INTO projects (instance, id, org, name, name_folded, state, role_assertion, role_check,
     has_project_check, private_labeling, groups_claim, created, changed, version)
   VALUES ($instance, $id, $owner, $name, $folded, 'active', $roleAssertion, $roleCheck,
     $hasProjectCheck, $privateLabeling, coalesce($groupsClaim, 'off'), $time, $time, $version)`,
)
const change = statement(
  `UPDATE projects SET name = coalesce($name, name), name_folded = coalesce($folded, name_folded),
     role_assertion = coalesce($roleAssertion, role_assertion),
     role_check = coalesce($roleCheck, role_check),
     has_project_check = coalesce($hasProjectCheck, has_project_check),
     private_labeling = coalesce($privateLabeling, private_labeling),
     groups_claim = coalesce($groupsClaim, groups_claim),
     changed = $time, version = $version
   WHERE instance = $instance AND id = $id`,
)
const turn = statement(
  `UPDATE projects SET state = $state, changed = $time, version = $version
   WHERE instance = $instance AND id = $id`,
)
const remove = statement("DELETE FROM projects WHERE instance = $instance AND id = $id")
const touch = statement(
  `UPDATE projects SET changed = $time, version = $version
   WHERE instance = $instance AND id = $id`,
)

export const projectView = view<ProjectEvent>({
  name: "project",
  revision: 2,
  texts: { projects: ["name", "name_folded"] },
  tables: {
    projects: {
      columns: `id TEXT NOT NULL, org TEXT NOT NULL, name TEXT NOT NULL,
        name_folded TEXT NOT NULL, state TEXT NOT NULL, role_assertion INTEGER NOT NULL,
        role_check INTEGER NOT NULL, has_project_check INTEGER NOT NULL,
        private_labeling TEXT NOT NULL, groups_claim TEXT NOT NULL,
        created INTEGER NOT NULL, changed INTEGER NOT NULL,
        version INTEGER NOT NULL`,
      key: "id",
      indexes: { org: "org, created", name: "name_folded", created: "created" },
    },
  },
  on: {
    "project.added": (db, { data }) => db.run(insert, valuesOf(data)),
    "project.changed": (db, { data }) => db.run(change, valuesOf(data)),
    "project.deactivated": (db) => db.run(turn, { state: "inactive" }),
    "project.reactivated": (db) => db.run(turn, { state: "active" }),
    "project.role.added": (db) => db.run(touch),
    "project.role.changed": (db) => db.run(touch),
    "project.role.removed": (db) => db.run(touch),
    "project.removed": (db) => db.run(remove),
  },
})

const valuesOf = (data: Extract<ProjectEvent, { type: "project.changed" }>["data"]) => ({
  name: data.name ?? null,
  folded: data.name === undefined ? null : foldName(data.name),
  roleAssertion: data.projectRoleAssertion ?? null,
  roleCheck: data.projectRoleCheck ?? null,
  hasProjectCheck: data.hasProjectCheck ?? null,
  privateLabeling: data.privateLabelingSetting ?? null,
  groupsClaim: data.groupsClaim ?? null,
})

export const projects: Searchable = {
  table: "projects",
  columns: ["org", "name", "name_folded", "state", "created", "changed"],
  names: ["name"],
  owner: { org: "org", project: "id" },
  key: "id",
  sort: "created",
}

const one = statement<ProjectRow>(
  "SELECT * FROM projects WHERE instance = $instance AND id = $projectId",
)

/** One project as it is shown; faults where there is none. */
export function findProject(cx: Cx, id: string): ProjectRow {
  const row = cx.store.get(cx, one, { projectId: id })
  if (!row) throw new Fault("not_found", "project.missing", "there is no such project")
  return row
}

const inOrg = statement<{ id: string }>(
  "SELECT id FROM projects WHERE instance = $instance AND org = $orgId ORDER BY id LIMIT $limit",
)

/** Some of the projects of an organisation. */
export const projectsOf = (cx: Cx, orgId: string, limit: number): readonly string[] =>
  cx.store.all(cx, inOrg, { orgId, limit }).map(({ id }) => id)
