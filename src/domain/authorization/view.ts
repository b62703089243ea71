import { type Searchable, statement, view } from "../../store/index.ts"
import type { ProjectEvent } from "../project/index.ts"
import type { UserEvent } from "../user/index.ts"
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
  /** JSON: key, displayName and group of each role that the project still has. */
  readonly shown_roles: string
  readonly created: number
  readonly changed: number
}

const insert = statement(
  `INSERT INTO authorizations (instance, id, org, project, user_id, grant_id, role_keys,
     roles_version, state, created, changed)
   VALUES ($instance, $id, $owner, $projectId, $userId, $grantId, $roleKeys, $rolesVersion,
     'active', $time, $time)`,
)
const change = statement(
  `UPDATE authorizations SET role_keys = $roleKeys, roles_version = $rolesVersion,
     changed = $time
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

export const authorizationView = view<AuthorizationEvent | ProjectEvent | UserEvent>({
  name: "authorization",
  tables: {
    authorizations: {
      columns: `id TEXT NOT NULL, org TEXT NOT NULL, project TEXT NOT NULL,
        user_id TEXT NOT NULL, grant_id TEXT NOT NULL, role_keys TEXT NOT NULL,
        roles_version INTEGER NOT NULL, state TEXT NOT NULL, created INTEGER NOT NULL,
        changed INTEGER NOT NULL`,
      key: "id",
      indexes: {
        org: "org, created",
        project: "project, created",
        user: "user_id",
        created: "created",
      },
    },
  },
  on: {
    "user.grant.added": (db, { data: { roleKeys, ...data } }) =>
      db.run(insert, { ...data, roleKeys: JSON.stringify(roleKeys) }),
    "user.grant.changed": (db, { data: { roleKeys, rolesVersion } }) =>
      db.run(change, { roleKeys: JSON.stringify(roleKeys), rolesVersion }),
    "user.grant.deactivated": (db) => db.run(turn, { state: "inactive" }),
    "user.grant.reactivated": (db) => db.run(turn, { state: "active" }),
    "user.grant.removed": (db) => db.run(remove),
    "user.removed": (db) => db.run(removeUser),
    "project.removed": (db) => db.run(removeProject),
  },
})

/** Between two keys, and around all of them; no key has it in it. */
export const keyMark = "\n"

/** Of the roles that were given those that the project still has; see the model. */
const ofRoles = (value: string) =>
  `(SELECT ${value} FROM project_roles r JOIN json_each(a.role_keys) k ON k.value = r.role_key
    WHERE r.instance = a.instance AND r.project = a.project AND r.since <= a.roles_version)`

const marked = (column: string) => `char(10) || group_concat(${column}, char(10)) || char(10)`

/** Names and roles stand where they belong, so a list joins what it shows. */
export const authorizations: Searchable = {
  table: `(SELECT a.*, json_extract(u.login_names, '$[#-1]') AS login_name,
      u.login_name_folded, u.display_name, u.display_name_folded, u.org AS user_org,
      o.name AS org_name, p.name AS project_name, p.name_folded AS project_name_folded,
      p.org AS project_org,
      ${ofRoles(marked("r.role_key"))} AS keys,
      ${ofRoles(marked("r.role_key_folded"))} AS keys_folded,
      ${ofRoles(`json_group_array(json_object(
        'key', r.role_key, 'displayName', r.display_name, 'group', r.role_group))`)} AS shown_roles
    FROM authorizations a
    JOIN users u ON u.instance = a.instance AND u.id = a.user_id
    JOIN projects p ON p.instance = a.instance AND p.id = a.project
    JOIN orgs o ON o.instance = a.instance AND o.id = a.org)`,
  columns: [
    ...["org", "project", "user_id", "grant_id", "state", "created", "changed", "user_org"],
    ...["login_name", "login_name_folded", "display_name", "display_name_folded"],
    ...["project_name", "project_name_folded", "keys", "keys_folded"],
  ],
  owner: { org: "org", project: "project", self: "user_id" },
  key: "id",
  sort: "created",
}
