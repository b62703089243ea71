import {
  type Cx,
  type Filter,
  foldName,
  integer,
  type RowOf,
  statement,
  table,
  text,
  view,
} from "../../store/index.ts"
import { type OrgEvent, orgExists } from "../org/index.ts"
import type { UserEvent } from "../user-model/index.ts"
import { groupNotFoundError } from "./commands.ts"
import type { GroupUserEvent } from "./member.ts"
import { type GroupEvent, group } from "./model.ts"
import type { NestingEvent } from "./nesting.ts"

const groupTable = table(
  "groups",
  {
    id: text(),
    org: text(),
    name: text(),
    name_folded: text(),
    description: text(),
    created: integer(),
    changed: integer(),
  },
  {
    key: ["id"],
    indexes: { org: ["org", "created"], name: ["name_folded"], created: ["created"] },
  },
)

/** A group as listed; times are ms UTC. */
export type GroupRow = RowOf<typeof groupTable>

export const groupView = view<GroupEvent | OrgEvent>({
  name: "group",
  revision: 2,
  tables: [groupTable],
  on: {
    "group.added": (db, { id, owner, data: { name, description }, time }) =>
      groupTable.insert(db, {
        id,
        org: owner,
        name,
        name_folded: foldName(name),
        description,
        created: time,
        changed: time,
      }),
    "group.changed": (db, { id, data: { name, description }, time }) => {
      const name_folded = name && foldName(name)
      groupTable.update(db, { id }, { name, name_folded, description, changed: time })
    },
    "group.removed": (db, { id }) => groupTable.remove(db, { id }),
    "org.removed": (db, { id: org }) => groupTable.remove(db, { org }),
  },
})

const userTable = table(
  "group_users",
  { id: text(), group_id: text(), user_id: text(), org: text(), created: integer() },
  {
    key: ["id"],
    indexes: {
      group: ["group_id", "created"],
      user: ["user_id"],
      org: ["org", "created"],
      created: ["created"],
    },
  },
)

/** A user in a group as listed; `created` is when they were added, ms UTC. */
export type GroupUserRow = RowOf<typeof userTable> & {
  readonly display_name: string
  readonly user_name: string
  readonly user_org: string
}

export const groupUserView = view<GroupUserEvent | GroupEvent | UserEvent | OrgEvent>({
  name: "group_user",
  tables: [userTable],
  on: {
    "group.user.added": (db, { id, owner, data: { groupId, userId }, time }) =>
      userTable.insert(db, { id, group_id: groupId, user_id: userId, org: owner, created: time }),
    "group.user.removed": (db, { id }) => userTable.remove(db, { id }),
    "group.removed": (db, { id }) => userTable.remove(db, { group_id: id }),
    "user.removed": (db, { id }) => userTable.remove(db, { user_id: id }),
    "org.removed": (db, { id: org }) => userTable.remove(db, { org }),
  },
})

const nestingTable = table(
  "group_groups",
  {
    id: text(),
    group_id: text(),
    /** The group that is the member. */
    member_id: text(),
    org: text(),
    created: integer(),
  },
  {
    key: ["id"],
    indexes: {
      group: ["group_id", "created"],
      member: ["member_id", "group_id"],
      org: ["org", "created"],
      created: ["created"],
    },
  },
)

/** A listed member group, with its name; `created` is when it was added, ms UTC. */
export type MemberGroupRow = RowOf<typeof nestingTable> & { readonly name: string }

const nestingId = (groupId: string, memberGroupId: string): string =>
  [groupId, memberGroupId].map(encodeURIComponent).join("/")

/** Memberships of groups in groups. */
export const groupNestingView = view<NestingEvent | GroupEvent | OrgEvent>({
  name: "group_nesting",
  tables: [nestingTable],
  on: {
    "group.group.added": (db, { owner, data: { groupId, memberGroupId }, time }) =>
      nestingTable.insert(db, {
        id: nestingId(groupId, memberGroupId),
        group_id: groupId,
        member_id: memberGroupId,
        org: owner,
        created: time,
      }),
    "group.group.removed": (db, { data: { groupId, memberGroupId } }) =>
      nestingTable.remove(db, { id: nestingId(groupId, memberGroupId) }),
    "group.removed": (db, { id }) => {
      nestingTable.remove(db, { group_id: id })
      nestingTable.remove(db, { member_id: id })
    },
    "org.removed": (db, { id: org }) => nestingTable.remove(db, { org }),
  },
})

export const memberGroups = nestingTable.searchable({
  columns: ["org", "group_id", "member_id", "created"],
  joined: {
    select: "g.name, g.name_folded",
    from: "JOIN groups g ON g.instance = t.instance AND g.id = t.member_id",
    columns: ["name", "name_folded"],
  },
  names: ["name"],
  owner: { org: "org" },
  key: "id",
  sort: "created",
})

/** Groups that a group is a direct member of. */
export const hasMemberGroupFilter = (memberGroupId: string): Filter => ({
  in: "id",
  column: "group_id",
  of: { table: "group_groups", columns: ["group_id", "member_id"] },
  where: { equals: "member_id", value: memberGroupId },
})

export const groupUsers = userTable.searchable({
  columns: ["org", "group_id", "user_id", "created"],
  joined: {
    select: `u.user_name, u.user_name_folded, u.display_name, u.display_name_folded,
      u.org AS user_org`,
    from: "JOIN users u ON u.instance = t.instance AND u.id = t.user_id",
    columns: ["user_name", "user_name_folded", "display_name", "display_name_folded"],
  },
  names: ["display_name"],
  owner: { org: "org" },
  key: "id",
  sort: "created",
})

/** Filters by the groups that a user is in. */
export const hasUserFilter = (userId: string): Filter => ({
  in: "id",
  column: "group_id",
  of: { table: "group_users", columns: ["group_id", "user_id"] },
  where: { equals: "user_id", value: userId },
})

export const groups = groupTable.searchable({
  columns: ["org", "name", "name_folded", "created", "changed"],
  names: ["name"],
  owner: { org: "org" },
  key: "id",
  sort: "created",
})

const groupById = groupTable.select("*", "AND id = $groupId")

/** The row of a group. Throws if it does not exist. */
export function getGroup(cx: Cx, id: string): GroupRow {
  const row = cx.store.get(cx, groupById, { groupId: id })
  if (!row) throw groupNotFoundError()
  return row
}

const namesOfUser = statement<{ name: string }>(
  `SELECT g.name FROM group_users t JOIN groups g ON g.instance = t.instance AND g.id = t.group_id
   WHERE t.instance = $instance AND t.user_id = $userId ORDER BY g.name`,
)

/** The names of the groups that a user is in. */
export const groupNamesOfUser = (cx: Cx, userId: string): readonly string[] =>
  cx.store.all(cx, namesOfUser, { userId }).map(({ name }) => name)

/**
 * The owner chain of a group, for access checks; undefined if the group or its organization does
 * not exist.
 */
export function groupChain(cx: Cx, id: string) {
  const { status, orgId } = cx.store.state(cx, group, id)
  const isThere = status === "active" && orgExists(cx, orgId)
  return isThere ? ({ instance: true, org: orgId } as const) : undefined
}
