import {
  type ChangesOf,
  type Cx,
  type Envelope,
  type Filter,
  integer,
  json,
  type RowOf,
  statement,
  table,
  text,
  type ViewWriter,
  view,
} from "../../store/index.ts"
import type { ProjectEvent } from "../project/index.ts"
import type { ProjectGrantEvent } from "../project-grant/index.ts"
import type { UserEvent } from "../user-model/index.ts"
import type { AuthorizationEvent, AuthorizationStatus, VersionedRoles } from "./model.ts"

const authorizationTable = table(
  "authorizations",
  {
    id: text(),
    org: text(),
    project: text(),
    project_org: text(),
    user_id: text(),
    /** Empty if the organization owns the project. */
    grant_id: text(),
    role_keys: json<readonly string[]>(),
    roles_version: integer(),
    grant_version: integer(),
    state: text<AuthorizationStatus>(),
    created: integer(),
    changed: integer(),
  },
  {
    key: ["id"],
    indexes: {
      org: ["org", "created"],
      project_org: ["project_org", "created"],
      project: ["project", "created"],
      user: ["user_id", "project"],
      grant: ["grant_id", "created"],
      // Includes the state, so that rows are counted from the index alone.
      created: ["created", "id", "state"],
      changed: ["changed"],
    },
  },
)

/** An authorization as listed, with names from the joined tables. Times are ms UTC. */
export type AuthorizationRow = RowOf<typeof authorizationTable> & {
  readonly org_name: string
  readonly project_name: string
  readonly login_name: string
  readonly display_name: string
  readonly user_org: string
}

const updateRow = (
  db: ViewWriter,
  { id, time }: Envelope,
  changes: ChangesOf<typeof authorizationTable>,
) => authorizationTable.update(db, { id }, { ...changes, changed: time })

export const authorizationView = view<
  AuthorizationEvent | ProjectEvent | ProjectGrantEvent | UserEvent
>({
  name: "authorization",
  tables: [authorizationTable],
  on: {
    "user.grant.added": (db, { id, owner, data, time }) =>
      authorizationTable.insert(db, {
        id,
        org: owner,
        project: data.projectId,
        project_org: data.projectOrgId ?? owner,
        user_id: data.userId,
        grant_id: data.grantId,
        ...roleColumnsOf(data),
        state: "active",
        created: time,
        changed: time,
      }),
    "user.grant.changed": (db, event) => updateRow(db, event, roleColumnsOf(event.data)),
    "user.grant.deactivated": (db, event) => updateRow(db, event, { state: "inactive" }),
    "user.grant.reactivated": (db, event) => updateRow(db, event, { state: "active" }),
    "user.grant.removed": (db, { id }) => authorizationTable.remove(db, { id }),
    "user.removed": (db, { id }) => authorizationTable.remove(db, { user_id: id }),
    "project.removed": (db, { id: project }) => authorizationTable.remove(db, { project }),
    "project.grant.removed": (db, { id }) => authorizationTable.remove(db, { grant_id: id }),
  },
})

/** The columns of the authorization tables that contain the roles of an event. */
export const roleColumnsOf = ({ roleKeys, rolesVersion, grantVersion = 0 }: VersionedRoles) => ({
  role_keys: roleKeys,
  roles_version: rolesVersion,
  grant_version: grantVersion,
})

/** Names are stored in their own tables only, so listing joins them. */
export const authorizations = authorizationTable.searchable({
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
      "user_org",
      "login_name",
      "login_name_folded",
      "display_name",
      "display_name_folded",
      "listed_name_folded",
      "project_name",
      "project_name_folded",
    ],
  },
  names: ["display_name", "listed_name", "project_name"],
  also: { display_name_folded: "listed_name_folded" },
  owner: {
    org: "org",
    otherOrg: "project_org",
    project: "project",
    grant: "grant_id",
    self: "user_id",
  },
  key: "id",
  sort: "created",
})

/** The assigned roles that still exist in the project and the project grant; see the model. */
const currentRoles = (authorizations: string) => `${authorizations} a JOIN json_each(a.role_keys) k
    JOIN project_roles r ON r.instance = a.instance AND r.project = a.project
      AND r.role_key = k.value AND r.since <= a.roles_version
    LEFT JOIN project_grants g ON g.instance = a.instance AND g.id = a.grant_id
    LEFT JOIN project_grant_roles m ON m.instance = a.instance AND m.grant_id = a.grant_id
      AND m.role_key = k.value AND m.since <= a.grant_version AND r.since <= g.roles_version`

const isGranted = "(a.grant_id = '' OR m.role_key IS NOT NULL)"

const withRole = {
  table: `(SELECT a.instance, a.id, a.org, a.project, a.project_org, a.grant_id, a.user_id,
      r.role_key, r.role_key_folded
    FROM ${currentRoles("authorizations")} WHERE ${isGranted})`,
  columns: ["id", "role_key", "role_key_folded", "org", "project", "user_id", "grant_id"],
} as const

/** A filter for authorizations with a role that matches `filters`. */
export const hasRoleFilter = (filters: readonly Filter[]): Filter => ({
  in: "id",
  column: "id",
  of: withRole,
  where: { all: filters },
})

/** Selects the roles of an authorization from one of the tables. */
export const rolesOfAuthorizationSql = (
  authorizations: "authorizations" | "group_authorizations",
) =>
  `SELECT r.role_key AS key, r.display_name AS displayName, r.role_group AS "group"
   FROM ${currentRoles(authorizations)}
   WHERE a.instance = $instance AND a.id = $authorizationId AND ${isGranted}`

const selectRoles = statement<{ key: string; displayName: string; group: string }>(
  rolesOfAuthorizationSql("authorizations"),
)

/** The current roles of an authorization, with their names. */
export const listRolesOf = (cx: Cx, authorizationId: string) =>
  cx.store.all(cx, selectRoles, { authorizationId })
