import type { Scope } from "../../kernel/context.ts"
import type { Found, Page } from "../../kernel/page.ts"
import {
  type Cx,
  cachedBy,
  coded,
  type Envelope,
  type Filter,
  integer,
  type RowOf,
  type Searchable,
  search,
  statement,
  table,
  text,
  type ViewWriter,
  view,
} from "../../store/index.ts"
import { effectiveGroupIds, membershipViews } from "../group/index.ts"
import type { InstanceEvent } from "../instance/index.ts"
import type { OrgEvent } from "../org/index.ts"
import type { ProjectEvent } from "../project/index.ts"
import { grantIdOf, type ProjectGrantEvent } from "../project-grant/index.ts"
import type { UserEvent } from "../user-model/index.ts"
import { groupAdministratorView, groupsWithRole, rolesByGroup } from "./group/view.ts"
import { type MemberEvent, memberId, type Target } from "./model.ts"
import { rolesIn, rolesText } from "./roles-text.ts"

/** Roles of a user on the instance, an organisation, a project or a grant of one. */
export type Membership = {
  readonly level: Target["level"]
  readonly id: string
  readonly roles: readonly string[]
  /** The group that has the roles; absent for the user's own. */
  readonly groupId?: string
}

export const administratorTable = table(
  "administrators",
  {
    id: text(),
    level: text<Membership["level"]>(),
    target: text(),
    /** The project, or that of the grant; empty elsewhere. */
    project: text(),
    user_id: text(),
    /** The organisation that the thing is or belongs to; a grant to the one that has it. */
    org: text(),
    roles: coded(rolesText, rolesIn),
    created: integer(),
    changed: integer(),
  },
  {
    key: ["id"],
    indexes: {
      user: ["user_id"],
      target: ["target"],
      project: ["project"],
      org: ["org", "created"],
      created: ["created"],
    },
  },
)

/** An administrator as listed, with the names of the user and of the thing. Times are ms UTC. */
export type AdministratorRow = RowOf<typeof administratorTable> & {
  readonly login_name: string
  readonly display_name: string
  readonly user_org: string
  readonly org_name: string | null
  readonly project_name: string | null
  readonly project_org: string | null
}

type Added = Pick<AdministratorRow, "id" | "level" | "target" | "user_id" | "roles">

const add = (db: ViewWriter, { owner, time }: Envelope, row: Added, project = "") =>
  administratorTable.insert(db, { ...row, project, org: owner, created: time, changed: time })

const change = (
  db: ViewWriter,
  { id, data, time }: Envelope & { readonly data: { readonly roles: readonly string[] } },
) => administratorTable.update(db, { id }, { roles: data.roles, changed: time })

const remove = (db: ViewWriter, { id }: Envelope) => administratorTable.remove(db, { id })

/** Administrators of every level. */
export const memberView = view<
  InstanceEvent | OrgEvent | MemberEvent | UserEvent | ProjectEvent | ProjectGrantEvent
>({
  name: "member",
  tables: [administratorTable],
  on: {
    "instance.member.added": (db, event) => {
      const { userId, roles } = event.data
      const target = event.instance
      const id = instanceKey(userId)
      add(db, event, { id, level: "instance", target, user_id: userId, roles })
    },
    "instance.member.changed": (db, { data: { userId, roles }, time }) =>
      administratorTable.update(db, { id: instanceKey(userId) }, { roles, changed: time }),
    "instance.member.removed": (db, { data: { userId } }) =>
      administratorTable.remove(db, { id: instanceKey(userId) }),
    "org.member.added": (db, event) => {
      const { orgId, userId, roles } = event.data
      add(db, event, { id: event.id, level: "org", target: orgId, user_id: userId, roles })
    },
    "org.member.changed": change,
    "org.member.removed": remove,
    "project.member.added": (db, event) => {
      const { projectId, userId, roles } = event.data
      const row = { id: event.id, target: projectId, user_id: userId, roles }
      add(db, event, { ...row, level: "project" }, projectId)
    },
    "project.member.changed": change,
    "project.member.removed": remove,
    "project.grant.member.added": (db, event) => {
      const { projectId, grantId, userId, roles } = event.data
      const row = { id: event.id, target: grantId, user_id: userId, roles }
      add(db, event, { ...row, level: "grant" }, projectId)
    },
    "project.grant.member.changed": change,
    "project.grant.member.removed": remove,
    "org.removed": (db, { id }) => administratorTable.remove(db, { level: "org", target: id }),
    "user.removed": (db, { id }) => administratorTable.remove(db, { user_id: id }),
    "project.removed": (db, { id: project }) => administratorTable.remove(db, { project }),
    "project.grant.removed": (db, { id }) =>
      administratorTable.remove(db, { level: "grant", target: id }),
  },
})

const stand = administratorTable.select(["changed"], "AND id = $key")

/** When the roles of an administrator last changed, ms UTC; undefined where there is none. */
export const memberChanged = (cx: Cx, target: Target, userId: string): number | undefined =>
  cx.store.get(cx, stand, { key: keyOf(target, userId) })?.changed

const keyOf = (target: Target, userId: string) =>
  target.level === "instance" ? instanceKey(userId) : memberId(target.level, target.id, userId)

const instanceKey = (userId: string) => `instance//${encodeURIComponent(userId)}`

const mine = administratorTable.select(["level", "target", "roles"], "AND user_id = $userId")

/**
 * What a user is an administrator of, by roles of their own and those of their groups; every call
 * to the API reads it.
 */
export const memberships = cachedBy(
  (cx, userId): readonly Membership[] => [
    ...ownMemberships(cx, userId),
    ...membershipsByGroups(cx, userId),
  ],
  memberView,
  groupAdministratorView,
  ...membershipViews,
)

/** What a user is an administrator of by roles of their own. */
export const ownMemberships = (cx: Cx, userId: string): readonly Membership[] =>
  cx.store.all(cx, mine, { userId }).map(({ level, target: id, roles }) => ({ level, id, roles }))

/** What the groups of a user let them administer, and by which group. */
export function membershipsByGroups(
  cx: Cx,
  userId: string,
): readonly (Membership & { readonly groupId: string })[] {
  const byGroup = rolesByGroup(cx, "")
  if (byGroup.size === 0) return []
  return effectiveGroupIds(cx, userId)
    .flatMap((groupId) => byGroup.get(groupId) ?? [])
    .map(({ groupId, level, target, roles }) => {
      return { groupId, level, id: level === "instance" ? cx.instance : target, roles }
    })
}

const ofTarget = administratorTable.select(
  ["user_id", "roles"],
  "AND level = $level AND target = $target ORDER BY created LIMIT 1000",
)

/** The users who have roles of their own on something, and these; the earliest first. */
export const administratorsOn = (cx: Cx, { level, id }: Pick<Membership, "level" | "id">) =>
  cx.store
    .all(cx, ofTarget, { level, target: id })
    .map(({ user_id, roles }) => ({ userId: user_id, roles }))

/** Whether a user has a manager role, at whatever level. */
export const isManager = (cx: Cx, userId: string): boolean => memberships(cx, userId).length > 0

const holder = statement<{ id: string }>(
  `SELECT id FROM administrators WHERE instance = $instance AND instr(roles, $role) > 0 LIMIT 1`,
)

/** Whether a user or a group has a role, wherever. */
export const isRoleHeld = (cx: Cx, key: string): boolean =>
  cx.store.get(cx, holder, { role: rolesText([key]) }) !== undefined ||
  groupsWithRole(cx, key).length > 0

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
    "level",
    "target",
    "user_id",
    "org",
    "roles",
    "created",
    "changed",
    "user_org",
    "project",
    "project_org",
    "login_name",
    "login_name_folded",
    "display_name",
    "display_name_folded",
    "listed_name_folded",
  ],
  decode: administratorTable.decode,
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
  const ofPeople: Filter = { all: [{ not: isLevel("instance") }, seen(kinds.user, ["user_org"])] }
  const visible: Filter = { any: [...visibleBy(kinds), ofPeople] }
  const all: Scope = { all: true, orgs: [], projects: [], grants: [] }
  const filters = [visible, ...query.filters]
  return search<AdministratorRow>({ ...cx, scope: all }, administrators, { ...query, filters })
}

/** What is visible of each level by the permission to see its administrators. */
export const visibleBy = (kinds: Kinds): readonly Filter[] => [
  { all: [isLevel("instance"), seen(kinds.instance, [])] },
  { all: [isLevel("org"), seen(kinds.org, ["org"])] },
  { all: [isLevel("project"), seen(kinds.project, ["org", "project"])] },
  { all: [isLevel("grant"), seen(kinds.grant, ["org", "project_org", "project", "grant"])] },
]

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
