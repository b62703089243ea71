import { Fault } from "../../kernel/fault.ts"
import type { Found, Page } from "../../kernel/page.ts"
import {
  type Cx,
  type Filter,
  fold,
  foldName,
  type Searchable,
  search,
  statement,
  view,
} from "../../store/index.ts"
import type { ProjectEvent } from "./model.ts"

/** A role of a project as it is listed; times are ms UTC. */
export type RoleRow = {
  readonly project: string
  readonly org: string
  readonly role_key: string
  readonly display_name: string
  readonly role_group: string
  /** The version of the project that added it; see the project's state. */
  readonly since: number
  readonly created: number
  readonly changed: number
  readonly version: number
}

const insert = statement(
  `INSERT INTO project_roles (instance, project, org, role_key, role_key_folded, display_name,
     display_name_folded, role_group, since, created, changed, version)
   VALUES ($instance, $id, $owner, $key, $keyFolded, $displayName, $nameFolded, $group,
     $version, $time, $time, $version)`,
)
const change = statement(
  `UPDATE project_roles SET display_name = $displayName, display_name_folded = $nameFolded,
     role_group = $group, changed = $time, version = $version
   WHERE instance = $instance AND project = $id AND role_key = $key`,
)
const remove = statement(
  "DELETE FROM project_roles WHERE instance = $instance AND project = $id AND role_key = $key",
)
const removeAll = statement(
  "DELETE FROM project_roles WHERE instance = $instance AND project = $id",
)

export const projectRoleView = view<ProjectEvent>({
  name: "project_role",
  revision: 3,
  tables: {
    project_roles: {
      columns: `project TEXT NOT NULL, org TEXT NOT NULL, role_key TEXT NOT NULL,
        role_key_folded TEXT NOT NULL, display_name TEXT NOT NULL,
        display_name_folded TEXT NOT NULL, role_group TEXT NOT NULL, since INTEGER NOT NULL,
        created INTEGER NOT NULL, changed INTEGER NOT NULL, version INTEGER NOT NULL`,
      key: "project, role_key",
    },
  },
  on: {
    "project.role.added": (db, { data }) =>
      db.run(insert, {
        ...data,
        keyFolded: fold(data.key),
        nameFolded: foldName(data.displayName),
      }),
    "project.role.changed": (db, { data }) =>
      db.run(change, { ...data, nameFolded: foldName(data.displayName) }),
    "project.role.removed": (db, { data }) => db.run(remove, { key: data.key }),
    "project.removed": (db) => db.run(removeAll),
  },
})

const one = statement<RoleRow>(
  `SELECT * FROM project_roles
   WHERE instance = $instance AND project = $projectId AND role_key = $key`,
)

/** One role; faults where the project has none with this key. */
export function findRole(cx: Cx, projectId: string, key: string): RoleRow {
  const row = cx.store.get(cx, one, { projectId, key })
  if (row) return row
  throw new Fault("not_found", "project.role_missing", "the project has no role with this key")
}

/** Keys are unique within a project, and every search is of one. */
const roles: Searchable = {
  table: "project_roles",
  columns: [
    ...["project", "role_key_folded", "display_name", "display_name_folded"],
    ...["created", "changed"],
  ],
  names: ["display_name"],
  owner: {},
  key: "role_key",
  sort: "created",
}

/** The roles of one project; the access rule has let the caller in to all of them. */
export const searchRoles = (
  cx: Cx,
  projectId: string,
  query: { readonly page: Page; readonly sort?: string; readonly filters: readonly Filter[] },
): Promise<Found<RoleRow>> =>
  search({ ...cx, scope: { all: true, orgs: [], projects: [], grants: [] } }, roles, {
    ...query,
    filters: [{ equals: "project", value: projectId }, ...query.filters],
  })
