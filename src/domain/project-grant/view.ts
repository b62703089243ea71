import {
  type ChangesOf,
  type Cx,
  type Envelope,
  type Filter,
  integer,
  type RowOf,
  search,
  statement,
  table,
  text,
  type ViewWriter,
  view,
} from "../../store/index.ts"
import type { ProjectEvent } from "../project/index.ts"
import type { ProjectGrantEvent, ProjectGrantStatus } from "./model.ts"

const grantTable = table(
  "project_grants",
  {
    id: text(),
    project: text(),
    /** The organization that grants the project. */
    org: text(),
    granted_org: text(),
    state: text<ProjectGrantStatus>(),
    roles_version: integer(),
    created: integer(),
    changed: integer(),
    version: integer(),
  },
  {
    key: ["id"],
    indexes: {
      project: ["project", "created"],
      org: ["org", "created"],
      granted: ["granted_org", "created"],
      created: ["created"],
      changed: ["changed"],
    },
  },
)

/** A listed project grant, with names from the joined tables. Times are ms UTC. */
export type GrantRow = RowOf<typeof grantTable> & {
  readonly project_name: string
  readonly org_name: string
  readonly granted_org_name: string
}

const roleTable = table(
  "project_grant_roles",
  { grant_id: text(), role_key: text(), since: integer() },
  { key: ["grant_id", "role_key"] },
)

const updateRow = (
  db: ViewWriter,
  { id, time, version }: Envelope,
  changes: ChangesOf<typeof grantTable>,
) => grantTable.update(db, { id }, { ...changes, changed: time, version })

const removeOtherRoles = statement(
  `DELETE FROM project_grant_roles WHERE instance = $instance AND grant_id = $id
     AND role_key NOT IN (SELECT value FROM json_each($keys))`,
)
const removeAllRoles = statement(
  `DELETE FROM project_grant_roles WHERE instance = $instance AND grant_id IN
     (SELECT id FROM project_grants WHERE instance = $instance AND project = $id)`,
)

/** Unchanged roles keep their version; see the model. */
function setRoles(db: ViewWriter, { id, version }: Envelope, roleKeys: readonly string[]): void {
  db.run(removeOtherRoles, { keys: JSON.stringify(roleKeys) })
  for (const key of roleKeys) {
    roleTable.insertIfAbsent(db, { grant_id: id, role_key: key, since: version })
  }
}

export const projectGrantView = view<ProjectGrantEvent | ProjectEvent>({
  name: "project_grant",
  tables: [grantTable, roleTable],
  on: {
    "project.grant.added": (db, event) => {
      const { id, owner, data, time, version } = event
      grantTable.insert(db, {
        id,
        project: data.projectId,
        org: owner,
        granted_org: data.grantedOrgId,
        state: "active",
        roles_version: data.rolesVersion,
        created: time,
        changed: time,
        version,
      })
      setRoles(db, event, data.roleKeys)
    },
    "project.grant.changed": (db, event) => {
      const { roleKeys, rolesVersion } = event.data
      updateRow(db, event, { roles_version: rolesVersion })
      setRoles(db, event, roleKeys)
    },
    "project.grant.deactivated": (db, event) => updateRow(db, event, { state: "inactive" }),
    "project.grant.reactivated": (db, event) => updateRow(db, event, { state: "active" }),
    "project.grant.removed": (db, { id }) => {
      roleTable.remove(db, { grant_id: id })
      grantTable.remove(db, { id })
    },
    "project.removed": (db, { id: project }) => {
      db.run(removeAllRoles)
      grantTable.remove(db, { project })
    },
  },
})

/** Names are stored in their own tables only, so listing joins them. */
export const projectGrants = grantTable.searchable({
  columns: ["project", "org", "granted_org", "created", "changed"],
  joined: {
    select: `p.name AS project_name, p.name_folded AS project_name_folded,
      coalesce(o.name, '') AS org_name, coalesce(r.name, '') AS granted_org_name`,
    from: `JOIN projects p ON p.instance = t.instance AND p.id = t.project
      LEFT JOIN orgs o ON o.instance = t.instance AND o.id = t.org
      LEFT JOIN orgs r ON r.instance = t.instance AND r.id = t.granted_org`,
    columns: ["project_name", "project_name_folded"],
  },
  names: ["project_name"],
  owner: { org: "org", otherOrg: "granted_org", project: "project", grant: "id" },
  key: "id",
  sort: "created",
})

/** The granted roles that the project still has; see the model. */
const withRole = {
  table: `(SELECT g.instance, g.id, g.org, g.granted_org, g.project, r.role_key, r.role_key_folded
    FROM project_grants g
    JOIN project_grant_roles k ON k.instance = g.instance AND k.grant_id = g.id
    JOIN project_roles r ON r.instance = g.instance AND r.project = g.project
      AND r.role_key = k.role_key AND r.since <= g.roles_version)`,
  columns: ["id", "role_key", "role_key_folded", "org", "granted_org", "project"],
} as const

/** A filter for grants with a role that matches `filters`. */
export const hasRoleFilter = (filters: readonly Filter[]): Filter => ({
  in: "id",
  column: "id",
  of: withRole,
  where: { all: filters },
})

/** The row of a project grant; the access rule already allows the caller to read it. */
export async function findGrantRow(cx: Cx, grantId: string): Promise<GrantRow | undefined> {
  const scope = { all: true, orgs: [], projects: [], grants: [] }
  const page = { offset: 0, limit: 1, asc: true }
  const filters = [{ equals: "id", value: grantId }]
  const { rows } = await search<GrantRow>({ ...cx, scope }, projectGrants, { page, filters })
  return rows[0]
}

const grantsToOrg = grantTable.select(["id"], "AND granted_org = $orgId ORDER BY id LIMIT $limit")

/** IDs of the grants to an organization, up to `limit`. */
export const grantIdsTo = (cx: Cx, orgId: string, limit: number): readonly string[] =>
  cx.store.all(cx, grantsToOrg, { orgId, limit }).map(({ id }) => id)
