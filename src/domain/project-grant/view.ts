import {
  type Cx,
  type Filter,
  type Searchable,
  search,
  statement,
  type ViewWriter,
  view,
} from "../../store/index.ts"
import type { ProjectEvent } from "../project/index.ts"
import type { ProjectGrantEvent, ProjectGrantStatus } from "./model.ts"

/** A grant as it is listed, with the names of all that it joins. Times are ms UTC. */
export type GrantRow = {
  readonly id: string
  readonly project: string
  readonly project_name: string
  /** The organisation that gives it. */
  readonly org: string
  readonly org_name: string
  readonly granted_org: string
  readonly granted_org_name: string
  readonly state: ProjectGrantStatus
  readonly created: number
  readonly changed: number
  readonly version: number
}

const insert = statement(
  `INSERT INTO project_grants (instance, id, project, org, granted_org, state, roles_version,
     created, changed, version)
   VALUES ($instance, $id, $projectId, $owner, $grantedOrgId, 'active', $rolesVersion,
     $time, $time, $version)`,
)
const change = statement(
  `UPDATE project_grants SET roles_version = $rolesVersion, changed = $time, version = $version
   WHERE instance = $instance AND id = $id`,
)
const turn = statement(
  `UPDATE project_grants SET state = $state, changed = $time, version = $version
   WHERE instance = $instance AND id = $id`,
)
const remove = statement("DELETE FROM project_grants WHERE instance = $instance AND id = $id")
const removeAll = statement(
  "DELETE FROM project_grants WHERE instance = $instance AND project = $id",
)
const keepRoles = statement(
  `DELETE FROM project_grant_roles WHERE instance = $instance AND grant_id = $id
     AND role_key NOT IN (SELECT value FROM json_each($keys))`,
)
const addRole = statement(
  `INSERT INTO project_grant_roles (instance, grant_id, role_key, since)
   VALUES ($instance, $id, $key, $version) ON CONFLICT DO NOTHING`,
)
const removeAllRoles = statement(
  `DELETE FROM project_grant_roles WHERE instance = $instance AND grant_id IN
     (SELECT id FROM project_grants WHERE instance = $instance AND project = $id)`,
)

/** Roles that stay are the ones that they were; see the model. */
function setRoles(db: ViewWriter, roleKeys: readonly string[]): void {
  db.run(keepRoles, { keys: JSON.stringify(roleKeys) })
  for (const key of roleKeys) db.run(addRole, { key })
}

export const projectGrantView = view<ProjectGrantEvent | ProjectEvent>({
  name: "project_grant",
  tables: {
    project_grants: {
      columns: `id TEXT NOT NULL, project TEXT NOT NULL, org TEXT NOT NULL,
        granted_org TEXT NOT NULL, state TEXT NOT NULL, roles_version INTEGER NOT NULL,
        created INTEGER NOT NULL, changed INTEGER NOT NULL, version INTEGER NOT NULL`,
      key: "id",
      indexes: {
        project: "project, created",
        org: "org, created",
        granted: "granted_org, created",
        created: "created",
        changed: "changed",
      },
    },
    project_grant_roles: {
      columns: "grant_id TEXT NOT NULL, role_key TEXT NOT NULL, since INTEGER NOT NULL",
      key: "grant_id, role_key",
    },
  },
  on: {
    "project.grant.added": (db, { data: { roleKeys, ...data } }) => {
      db.run(insert, data)
      setRoles(db, roleKeys)
    },
    "project.grant.changed": (db, { data: { roleKeys, rolesVersion } }) => {
      db.run(change, { rolesVersion })
      setRoles(db, roleKeys)
    },
    "project.grant.deactivated": (db) => db.run(turn, { state: "inactive" }),
    "project.grant.reactivated": (db) => db.run(turn, { state: "active" }),
    "project.grant.removed": (db) => {
      db.run(keepRoles, { keys: "[]" })
      db.run(remove)
    },
    "project.removed": (db) => {
      db.run(removeAllRoles)
      db.run(removeAll)
    },
  },
})

/** Names stand where they belong, so a list joins what it shows. */
export const projectGrants: Searchable = {
  table: "project_grants",
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
}

/** Of the roles that were granted those that the project still has; see the model. */
const withRole = {
  table: `(SELECT g.instance, g.id, g.org, g.granted_org, g.project, r.role_key, r.role_key_folded
    FROM project_grants g
    JOIN project_grant_roles k ON k.instance = g.instance AND k.grant_id = g.id
    JOIN project_roles r ON r.instance = g.instance AND r.project = g.project
      AND r.role_key = k.role_key AND r.since <= g.roles_version)`,
  columns: ["id", "role_key", "role_key_folded", "org", "granted_org", "project"],
} as const

/** What has a role, as the filters find it. */
export const hasRole = (filters: readonly Filter[]): Filter => ({
  ...{ in: "id", column: "id", of: withRole },
  where: { all: filters },
})

/** One grant as it is shown; the access rule has let the caller see it. */
export async function grantRow(cx: Cx, grantId: string): Promise<GrantRow | undefined> {
  const scope = { all: true, orgs: [], projects: [], grants: [] }
  const page = { offset: 0, limit: 1, asc: true }
  const filters = [{ equals: "id", value: grantId }]
  const { rows } = await search<GrantRow>({ ...cx, scope }, projectGrants, { page, filters })
  return rows[0]
}

const toOrg = statement<{ id: string }>(
  `SELECT id FROM project_grants WHERE instance = $instance AND granted_org = $orgId
   ORDER BY id LIMIT $limit`,
)

/** Some of the grants that an organisation has. */
export const grantsTo = (cx: Cx, orgId: string, limit: number): readonly string[] =>
  cx.store.all(cx, toOrg, { orgId, limit }).map(({ id }) => id)
