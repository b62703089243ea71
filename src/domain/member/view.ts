import type { Scope } from "../../kernel/context.ts"
import type { Page, SearchResult } from "../../kernel/page.ts"
import {
  type Cx,
  cacheQueryByKey,
  codec,
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
import { findGrantIdInOrg, type ProjectGrantEvent } from "../project-grant/index.ts"
import type { UserEvent } from "../user-model/index.ts"
import { groupAdministratorView, groupsWithRole, rolesByGroup } from "./group/view.ts"
import { type MemberEvent, memberId, type Target } from "./model.ts"
import { formatRoles, parseRoles } from "./roles-text.ts"

/** Roles of a user on the instance, an organization, a project or a project grant. */
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
    /** The project, or that of the project grant; empty for other levels. */
    project: text(),
    user_id: text(),
    /**
     * The organization that the resource is or belongs to; for a project grant, the one it was
     * granted to.
     */
    org: text(),
    roles: codec(formatRoles, parseRoles),
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

/** A listed administrator, with the names of the user and the resource. Times are ms UTC. */
export type AdministratorRow = RowOf<typeof administratorTable> & {
  readonly login_name: string
  readonly display_name: string
  readonly user_org: string
  readonly org_name: string | null
  readonly project_name: string | null
  readonly project_org: string | null
}

type AddedAdministrator = Pick<AdministratorRow, "id" | "level" | "target" | "user_id" | "roles">

const add = (db: ViewWriter, { owner, time }: Envelope, row: AddedAdministrator, project = "") =>
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

const changedByKey = administratorTable.select(["changed"], "AND id = $key")

/** When the roles of an administrator last changed, ms UTC; undefined if the user has none. */
export const memberChangedAt = (cx: Cx, target: Target, userId: string): number | undefined =>
  cx.store.get(cx, changedByKey, { key: keyOf(target, userId) })?.changed

const keyOf = (target: Target, userId: string) =>
  target.level === "instance" ? instanceKey(userId) : memberId(target.level, target.id, userId)

const instanceKey = (userId: string) => `instance//${encodeURIComponent(userId)}`

const membershipsOfUser = administratorTable.select(
  ["level", "target", "roles"],
  "AND user_id = $userId",
)

/**
 * The administrator roles of a user: their own and those of their groups. Every API call reads
 * them.
 */
export const listMemberships = cacheQueryByKey(
  (cx, userId): readonly Membership[] => [
    ...listOwnMemberships(cx, userId),
    ...listMembershipsFromGroups(cx, userId),
  ],
  memberView,
  groupAdministratorView,
  ...membershipViews,
)

/** The administrator roles that a user has directly. */
export const listOwnMemberships = (cx: Cx, userId: string): readonly Membership[] =>
  cx.store
    .all(cx, membershipsOfUser, { userId })
    .map(({ level, target: id, roles }) => ({ level, id, roles }))

/** The administrator roles that a user has through groups, with the group. */
export function listMembershipsFromGroups(
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

const administratorsOfTarget = administratorTable.select(
  ["user_id", "roles"],
  "AND level = $level AND target = $target ORDER BY created LIMIT 1000",
)

/** The users who have roles of their own on a resource, with these roles; earliest first. */
export const listAdministratorsOn = (cx: Cx, { level, id }: Pick<Membership, "level" | "id">) =>
  cx.store
    .all(cx, administratorsOfTarget, { level, target: id })
    .map(({ user_id, roles }) => ({ userId: user_id, roles }))

/** Whether a user has an administrator role on any level. */
export const isManager = (cx: Cx, userId: string): boolean => listMemberships(cx, userId).length > 0

const anyUserWithRole = statement<{ id: string }>(
  `SELECT id FROM administrators WHERE instance = $instance AND instr(roles, $role) > 0 LIMIT 1`,
)

/** Whether any user or group has a role, on any resource. */
export const isRoleAssigned = (cx: Cx, key: string): boolean =>
  cx.store.get(cx, anyUserWithRole, { role: formatRoles([key]) }) !== undefined ||
  groupsWithRole(cx, key).length > 0

/** Names are stored in their own tables only, so listing joins them. */
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
 * The administrators that the caller can see: each level has its own permission, and memberships of
 * an organization's users elsewhere have another one.
 */
export function searchAdministrators(
  cx: Cx,
  query: { readonly page: Page; readonly sort?: string; readonly filters: readonly Filter[] },
): Promise<SearchResult<AdministratorRow>> {
  const kinds: ScopesByLevel | undefined = cx.scope?.kinds
  if (!kinds) throw new Error("a search of administrators requires the scope of each level")
  const ofUsers: Filter = {
    all: [{ not: isLevel("instance") }, visibleRows(kinds.user, ["user_org"])],
  }
  const visible: Filter = { any: [...visibleBy(kinds), ofUsers] }
  const all: Scope = { all: true, orgs: [], projects: [], grants: [] }
  const filters = [visible, ...query.filters]
  return search<AdministratorRow>({ ...cx, scope: all }, administrators, { ...query, filters })
}

/** Filters rows of each level by the permission to see its administrators. */
export const visibleBy = (kinds: ScopesByLevel): readonly Filter[] => [
  { all: [isLevel("instance"), visibleRows(kinds.instance, [])] },
  { all: [isLevel("org"), visibleRows(kinds.org, ["org"])] },
  { all: [isLevel("project"), visibleRows(kinds.project, ["org", "project"])] },
  { all: [isLevel("grant"), visibleRows(kinds.grant, ["org", "project_org", "project", "grant"])] },
]

type ScopesByLevel = { readonly [Kind in Membership["level"] | "user"]?: Scope }

const isLevel = (level: Membership["level"]): Filter => ({ equals: "level", value: level })

/** Filters rows of one level; `by` lists the columns that contain IDs of the scope. */
function visibleRows(scope: Scope | undefined, by: readonly OwnerColumn[]): Filter {
  if (!scope) return { any: [] }
  if (scope.all) return { all: [] }
  const owners: Record<OwnerColumn, Filter> = {
    org: { oneOf: "org", values: scope.orgs },
    user_org: { oneOf: "user_org", values: scope.orgs },
    project_org: { oneOf: "project_org", values: scope.orgs },
    project: { oneOf: "project", values: scope.projects },
    grant: { oneOf: "target", values: scope.grants },
  }
  return { any: by.map((each) => owners[each]) }
}

type OwnerColumn = "org" | "user_org" | "project_org" | "project" | "grant"

/** Finds a project grant by project and organization; undefined if there is none. */
export const findGrantTarget = (
  cx: Cx,
  { projectId, organizationId }: { readonly projectId: string; readonly organizationId: string },
): Exclude<Target, { level: "instance" }> | undefined => {
  const id = findGrantIdInOrg(cx, projectId, organizationId)
  return id === undefined ? undefined : { level: "grant", id }
}
