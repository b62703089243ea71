import { Fault } from "../../kernel/fault.ts"
import type { Page, SearchResult } from "../../kernel/page.ts"
import {
  type Cx,
  type Filter,
  fold,
  foldName,
  integer,
  type RowOf,
  search,
  table,
  text,
  view,
} from "../../store/index.ts"
import type { ProjectEvent } from "./model.ts"

const roleTable = table(
  "project_roles",
  {
    project: text(),
    org: text(),
    role_key: text(),
    role_key_folded: text(),
    display_name: text(),
    display_name_folded: text(),
    role_group: text(),
    /** The project version that added the role; see the project's state. */
    since: integer(),
    created: integer(),
    changed: integer(),
    version: integer(),
  },
  { key: ["project", "role_key"] },
)

/** A role of a project as listed; times are ms UTC. */
export type RoleRow = RowOf<typeof roleTable>

export const projectRoleView = view<ProjectEvent>({
  name: "project_role",
  revision: 3,
  tables: [roleTable],
  on: {
    "project.role.added": (db, { id, owner, data, time, version }) =>
      roleTable.insert(db, {
        project: id,
        org: owner,
        role_key: data.key,
        role_key_folded: fold(data.key),
        display_name: data.displayName,
        display_name_folded: foldName(data.displayName),
        role_group: data.group,
        since: version,
        created: time,
        changed: time,
        version,
      }),
    "project.role.changed": (db, { id: project, data, time, version }) => {
      const changes = {
        display_name: data.displayName,
        display_name_folded: foldName(data.displayName),
        role_group: data.group,
        changed: time,
        version,
      }
      roleTable.update(db, { project, role_key: data.key }, changes)
    },
    "project.role.removed": (db, { id: project, data }) =>
      roleTable.remove(db, { project, role_key: data.key }),
    "project.removed": (db, { id: project }) => roleTable.remove(db, { project }),
  },
})

const roleByKey = roleTable.select("*", "AND project = $projectId AND role_key = $key")

/** The row of a role. Throws if the project has no role with this key. */
export function getRole(cx: Cx, projectId: string, key: string): RoleRow {
  const row = cx.store.get(cx, roleByKey, { projectId, key })
  if (row) return row
  throw new Fault("not_found", "project.role_missing", "role not found in this project")
}

/** Keys are unique within a project, and every search is limited to one project. */
const searchableRoles = roleTable.searchable({
  columns: [
    "project",
    "role_key_folded",
    "display_name",
    "display_name_folded",
    "created",
    "changed",
  ],
  names: ["display_name"],
  owner: {},
  key: "role_key",
  sort: "created",
})

/** The roles of one project; the access rule already allows the caller to read all of them. */
export const searchRoles = (
  cx: Cx,
  projectId: string,
  query: { readonly page: Page; readonly sort?: string; readonly filters: readonly Filter[] },
): Promise<SearchResult<RoleRow>> =>
  search({ ...cx, scope: { all: true, orgs: [], projects: [], grants: [] } }, searchableRoles, {
    ...query,
    filters: [{ equals: "project", value: projectId }, ...query.filters],
  })
