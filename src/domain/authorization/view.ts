import { type Cx, type Filter, type Searchable, statement, view } from "../../store/index.ts"
import type { ProjectEvent } from "../project/index.ts"
import type { ProjectGrantEvent } from "../project-grant/index.ts"
import type { UserEvent } from "../user-model/index.ts"
import type { AuthorizationEvent, AuthorizationStatus } from "./model.ts"

/** An authorization as listed, with the names of all that it joins. Times are ms UTC. */
export type AuthorizationRow = {
  readonly id: string
  readonly org: string
  readonly org_name: string
  readonly project: string
  readonly project_name: string
  readonly project_org: string
  readonly user_id: string
  readonly login_name: string
  readonly display_name: string
  readonly user_org: string
  readonly state: AuthorizationStatus
  readonly created: number
  readonly changed: number
}

const insert = statement(
  `INSERT INTO authorizations (instance, id, org, project, project_org, user_id, grant_id,
     role_keys, roles_version, grant_version, state, created, changed)
   VALUES ($instance, $id, $owner, $projectId, coalesce($projectOrgId, $owner), $userId, $grantId,
     $roleKeys, $rolesVersion, $grantVersion, 'active', $time, $time)`,
)
const change = statement(
  `UPDATE authorizations SET role_keys = $roleKeys, roles_version = $rolesVersion,
     grant_version = $grantVersion, changed = $time
   WHERE instance = $instance AND id = $id`,
)
const turn = statement(
  `UPDATE authorizations SET state = $state, changed = $time
   WHERE instance = $instance AND id = $id`,
)
const remove = statement("DELETE FROM authorizations WHERE instance = $instance AND id = $id")
const removeUser = statement(
  "DELETE FROM authorizations WHERE instance = $instance AND user_id = $id",
)
const removeProject = statement(
  "DELETE FROM authorizations WHERE instance = $instance AND project = $id",
)
const removeGrant = statement(
  "DELETE FROM authorizations WHERE instance = $instance AND grant_id = $id",
)

export const authorizationView = view<
  AuthorizationEvent | ProjectEvent | ProjectGrantEvent | UserEvent
>({
  name: "authorization",
  tables: {
    authorizations: {
      columns: `id TEXT NOT NULL, org TEXT NOT NULL, project TEXT NOT NULL,
        project_org TEXT NOT NULL, user_id TEXT NOT NULL, grant_id TEXT NOT NULL,
        role_keys TEXT NOT NULL, roles_version INTEGER NOT NULL, grant_version INTEGER NOT NULL,
        state TEXT NOT NULL, created INTEGER NOT NULL, changed INTEGER NOT NULL`,
      key: "id",
      indexes: {
        org: "org, created",
        project_org: "project_org, created",
        project: "project, created",
        user: "user_id, project",
        grant: "grant_id, created",
        // With the state, which is then counted without a look at the rows.
        created: "created, id, state",
        changed: "changed",
      },
    },
  },
  on: {
    "user.grant.added": (db, { data: { projectOrgId = null, ...data } }) =>
      db.run(insert, { ...data, projectOrgId, ...rolesOf(data) }),
    "user.grant.changed": (db, { data }) => db.run(change, rolesOf(data)),
    "user.grant.deactivated": (db) => db.run(turn, { state: "inactive" }),
    "user.grant.reactivated": (db) => db.run(turn, { state: "active" }),
    "user.grant.removed": (db) => db.run(remove),
    "user.removed": (db) => db.run(removeUser),
    "project.removed": (db) => db.run(removeProject),
    "project.grant.removed": (db) => db.run(removeGrant),
  },
})

const rolesOf = ({ roleKeys, rolesVersion, grantVersion = 0 }: Given) => ({
  roleKeys: JSON.stringify(roleKeys),
  rolesVersion,
  grantVersion,
})

type Given = Extract<AuthorizationEvent, { type: "user.grant.changed" }>["data"]

/** Names stand where they belong, so a list joins what it shows. */
export const authorizations: Searchable = {
  table: "authorizations",
  columns: ["org", "project", "user_id", "grant_id", "state", "created", "changed"],
  joined: {
    select: `u.user_name AS login_name, u.user_name_folded AS login_name_folded,
      u.display_name, u.display_name_folded, u.listed_name_folded, u.org AS user_org,
      coalesce(o.name, '') AS org_name,
      p.name AS project_name, p.name_folded AS project_name_folded`,
    from: `JOIN users u ON u.instance = t.instance AND u.id = t.user_id
      JOIN projects p ON p.instance = t.instance AND p.id = t.project
      LEFT JOIN orgs o ON o.instance = t.instance AND o.id = t.org`,
    columns: [
      ...["user_org", "login_name", "login_name_folded", "display_name", "display_name_folded"],
      ...["listed_name_folded", "project_name", "project_name_folded"],
    ],
  },
  names: ["display_name", "listed_name", "project_name"],
  also: { display_name_folded: "listed_name_folded" },
  owner: {
    ...{ org: "org", otherOrg: "project_org" },
    ...{ project: "project", grant: "grant_id", self: "user_id" },
  },
  key: "id",
  sort: "created",
}

/** Of the roles that were given those that project and grant still have; see the model. */
const rolesThere = `authorizations a JOIN json_each(a.role_keys) k
    JOIN project_roles r ON r.instance = a.instance AND r.project = a.project
      AND r.role_key = k.value AND r.since <= a.roles_version
    LEFT JOIN project_grants g ON g.instance = a.instance AND g.id = a.grant_id
    LEFT JOIN project_grant_roles m ON m.instance = a.instance AND m.grant_id = a.grant_id
      AND m.role_key = k.value AND m.since <= a.grant_version AND r.since <= g.roles_version`

const isGranted = "(a.grant_id = '' OR m.role_key IS NOT NULL)"

const withRole = {
  table: `(SELECT a.instance, a.id, a.org, a.project, a.project_org, a.grant_id, a.user_id,
      r.role_key, r.role_key_folded
    FROM ${rolesThere} WHERE ${isGranted})`,
  columns: ["id", "role_key", "role_key_folded", "org", "project", "user_id", "grant_id"],
} as const

/** What has a role, as the filters find it. */
export const hasRole = (filters: readonly Filter[]): Filter => ({
  ...{ in: "id", column: "id", of: withRole },
  where: { all: filters },
})

const shown = statement<{ key: string; displayName: string; group: string }>(
  `SELECT r.role_key AS key, r.display_name AS displayName, r.role_group AS "group"
   FROM ${rolesThere}
   WHERE a.instance = $instance AND a.id = $authorizationId AND ${isGranted}`,
)

/** The roles of an authorization as they are shown. */
export const shownRoles = (cx: Cx, authorizationId: string) =>
  cx.store.all(cx, shown, { authorizationId })
