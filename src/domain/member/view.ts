import type { Scope } from "../../kernel/context.ts"
import type { Found, Page } from "../../kernel/page.ts"
import {
  type Cx,
  cachedBy,
  type Filter,
  type Searchable,
  search,
  statement,
  view,
} from "../../store/index.ts"
import type { InstanceEvent } from "../instance/index.ts"
import type { OrgEvent } from "../org/index.ts"
import type { ProjectEvent } from "../project/index.ts"
import { grantIdOf, type ProjectGrantEvent } from "../project-grant/index.ts"
import type { UserEvent } from "../user-model/index.ts"
import { type MemberEvent, memberId, type Target } from "./model.ts"

/** Roles of a user on the instance, an organisation, a project or a grant of one. */
export type Membership = {
  readonly level: Target["level"]
  readonly id: string
  readonly roles: readonly string[]
}

/** An administrator as listed, with the names of the user and of the thing. Times are ms UTC. */
export type AdministratorRow = {
  readonly level: Membership["level"]
  readonly target: string
  readonly user_id: string
  readonly roles: string
  readonly created: number
  readonly changed: number
  readonly login_name: string
  readonly display_name: string
  readonly user_org: string
  /** The organisation that the thing is or belongs to; a grant to the one that has it. */
  readonly org: string
  readonly org_name: string | null
  /** The project, or that of the grant; empty elsewhere. */
  readonly project: string
  readonly project_name: string | null
  readonly project_org: string | null
}

const insert = statement(
  `INSERT INTO administrators (instance, id, level, target, project, user_id, org, roles, created,
     changed)
   VALUES ($instance, $key, $level, $target, $project, $userId, $owner, $roles, $time, $time)`,
)
const change = statement(
  `UPDATE administrators SET roles = $roles, changed = $time
   WHERE instance = $instance AND id = $key`,
)
const remove = statement("DELETE FROM administrators WHERE instance = $instance AND id = $key")
const removeUser = statement(
  "DELETE FROM administrators WHERE instance = $instance AND user_id = $id",
)
const removeOrg = statement(
  "DELETE FROM administrators WHERE instance = $instance AND level = 'org' AND target = $id",
)
const removeProject = statement(
  "DELETE FROM administrators WHERE instance = $instance AND project = $id",
)
const removeGrant = statement(
  `DELETE FROM administrators
   WHERE instance = $instance AND level = 'grant' AND target = $id`,
)

/** Administrators of every level; `roles` reads "|A|B|", so that one of them can be searched. */
export const memberView = view<
  InstanceEvent | OrgEvent | MemberEvent | UserEvent | ProjectEvent | ProjectGrantEvent
>({
  name: "member",
  tables: {
    administrators: {
      columns: `id TEXT NOT NULL, level TEXT NOT NULL, target TEXT NOT NULL,
        project TEXT NOT NULL, user_id TEXT NOT NULL, org TEXT NOT NULL, roles TEXT NOT NULL,
        created INTEGER NOT NULL, changed INTEGER NOT NULL`,
      key: "id",
      indexes: {
        ...{ user: "user_id", target: "target", project: "project", org: "org, created" },
        created: "created",
      },
    },
  },
  on: {
    "instance.member.added": (db, { instance, data: { userId, roles } }) =>
      db.run(insert, {
        ...{ key: instanceKey(userId), level: "instance", target: instance, project: "" },
        ...{ userId, roles: rolesText(roles) },
      }),
    "instance.member.changed": (db, { data: { userId, roles } }) =>
      db.run(change, { key: instanceKey(userId), roles: rolesText(roles) }),
    "instance.member.removed": (db, { data: { userId } }) =>
      db.run(remove, { key: instanceKey(userId) }),
    "org.member.added": (db, { id, data: { orgId, userId, roles } }) =>
      db.run(insert, {
        ...{ key: id, level: "org", target: orgId, project: "" },
        ...{ userId, roles: rolesText(roles) },
      }),
    "org.member.changed": (db, { id, data: { roles } }) =>
      db.run(change, { key: id, roles: rolesText(roles) }),
    "org.member.removed": (db, { id }) => db.run(remove, { key: id }),
    "project.member.added": (db, { id, data: { projectId, userId, roles } }) =>
      db.run(insert, {
        ...{ key: id, level: "project", target: projectId, project: projectId },
        ...{ userId, roles: rolesText(roles) },
      }),
    "project.member.changed": (db, { id, data: { roles } }) =>
      db.run(change, { key: id, roles: rolesText(roles) }),
    "project.member.removed": (db, { id }) => db.run(remove, { key: id }),
    "project.grant.member.added": (db, { id, data: { projectId, grantId, userId, roles } }) =>
      db.run(insert, {
        ...{ key: id, level: "grant", target: grantId, project: projectId },
        ...{ userId, roles: rolesText(roles) },
      }),
    "project.grant.member.changed": (db, { id, data: { roles } }) =>
      db.run(change, { key: id, roles: rolesText(roles) }),
    "project.grant.member.removed": (db, { id }) => db.run(remove, { key: id }),
    "org.removed": (db) => db.run(removeOrg),
    "user.removed": (db) => db.run(removeUser),
    "project.removed": (db) => db.run(removeProject),
    "project.grant.removed": (db) => db.run(removeGrant),
  },
})

const stand = statement<{ changed: number }>(
  "SELECT changed FROM administrators WHERE instance = $instance AND id = $key",
)

/** When the roles of an administrator last changed, ms UTC; undefined where there is none. */
export const memberChanged = (cx: Cx, target: Target, userId: string): number | undefined =>
  cx.store.get(cx, stand, { key: keyOf(target, userId) })?.changed

const keyOf = (target: Target, userId: string) =>
  target.level === "instance" ? instanceKey(userId) : memberId(target.level, target.id, userId)

const instanceKey = (userId: string) => `instance//${encodeURIComponent(userId)}`

const rolesText = (roles: readonly string[]) => `|${roles.join("|")}|`

export const rolesIn = (text: string): readonly string[] => text.split("|").filter(Boolean)

const mine = statement<{ level: Membership["level"]; id: string; roles: string }>(
  `SELECT level, target AS id, roles FROM administrators
   WHERE instance = $instance AND user_id = $userId`,
)

/** What a user is an administrator of; every call to the API asks. */
export const memberships = cachedBy(
  (cx, userId): readonly Membership[] =>
    cx.store
      .all(cx, mine, { userId })
      .map(({ level, id, roles }) => ({ level, id, roles: rolesIn(roles) })),
  memberView,
)

const ofTarget = statement<{ user_id: string; roles: string }>(
  `SELECT user_id, roles FROM administrators
   WHERE instance = $instance AND level = $level AND target = $target ORDER BY created LIMIT 1000`,
)

/** The users who hold a role on something, and their roles there; the earliest first. */
export const administratorsOn = (cx: Cx, { level, id }: Pick<Membership, "level" | "id">) =>
  cx.store
    .all(cx, ofTarget, { level, target: id })
    .map(({ user_id, roles }) => ({ userId: user_id, roles: rolesIn(roles) }))

/** Whether a user has a manager role, at whatever level. */
export const isManager = (cx: Cx, userId: string): boolean => memberships(cx, userId).length > 0

const holder = statement<{ id: string }>(
  `SELECT id FROM administrators WHERE instance = $instance AND instr(roles, $role) > 0 LIMIT 1`,
)

/** Whether anybody has a role, wherever. */
export const isRoleHeld = (cx: Cx, key: string): boolean =>
  cx.store.get(cx, holder, { role: rolesText([key]) }) !== undefined

/** Names stand where they belong, so a list joins what it shows. */
const administrators: Searchable = {
  table: `(SELECT a.*, u.user_name AS login_name,
      u.user_name_folded AS login_name_folded, u.display_name, u.display_name_folded,
      u.listed_name_folded, u.org AS user_org,
      o.name AS org_name, p.name AS project_name, p.org AS project_org
    FROM administrators a
    JOIN users u ON u.instance = a.instance AND u.id = a.user_id
    LEFT JOIN orgs o ON o.instance = a.instance AND o.id = a.org
    LEFT JOIN projects p ON p.instance = a.instance AND p.id = a.project)`,
  columns: [
    ...["level", "target", "user_id", "org", "roles", "created", "changed", "user_org"],
    ...["project", "project_org"],
    ...["login_name", "login_name_folded", "display_name", "display_name_folded"],
    "listed_name_folded",
  ],
  names: ["display_name", "listed_name"],
  also: { display_name_folded: "listed_name_folded" },
  owner: {},
  key: "id",
  sort: "created",
}

/**
 * The administrators that the caller may see: each level by its own permission, and what the people
 * of an organisation administer elsewhere by that on their memberships.
 */
export function searchAdministrators(
  cx: Cx,
  query: { readonly page: Page; readonly sort?: string; readonly filters: readonly Filter[] },
): Promise<Found<AdministratorRow>> {
  const kinds: Kinds | undefined = cx.scope?.kinds
  if (!kinds) throw new Error("a search of administrators needs the scope of each level")
  const visible: Filter = {
    any: [
      { all: [isLevel("instance"), seen(kinds.instance, [])] },
      { all: [isLevel("org"), seen(kinds.org, ["org"])] },
      { all: [isLevel("project"), seen(kinds.project, ["org", "project"])] },
      { all: [isLevel("grant"), seen(kinds.grant, ["org", "project_org", "project", "grant"])] },
      { all: [{ not: isLevel("instance") }, seen(kinds.user, ["user_org"])] },
    ],
  }
  const all: Scope = { all: true, orgs: [], projects: [], grants: [] }
  const filters = [visible, ...query.filters]
  return search<AdministratorRow>({ ...cx, scope: all }, administrators, { ...query, filters })
}

type Kinds = { readonly [Kind in Membership["level"] | "user"]?: Scope }

const isLevel = (level: Membership["level"]): Filter => ({ equals: "level", value: level })

/** Rows of one level: `by` says which ids of the scope may name them. */
function seen(scope: Scope | undefined, by: readonly Owner[]): Filter {
  if (!scope) return { any: [] }
  if (scope.all) return { all: [] }
  const owners: Record<Owner, Filter> = {
    org: { oneOf: "org", values: scope.orgs },
    user_org: { oneOf: "user_org", values: scope.orgs },
    project_org: { oneOf: "project_org", values: scope.orgs },
    project: { oneOf: "project", values: scope.projects },
    grant: { oneOf: "target", values: scope.grants },
  }
  return { any: by.map((each) => owners[each]) }
}

type Owner = "org" | "user_org" | "project_org" | "project" | "grant"

/** How the interface names a grant; undefined where there is none. */
export const grantTarget = (
  cx: Cx,
  { projectId, organizationId }: { readonly projectId: string; readonly organizationId: string },
): Exclude<Target, { level: "instance" }> | undefined => {
  const id = grantIdOf(cx, projectId, organizationId)
  return id === undefined ? undefined : { level: "grant", id }
}
