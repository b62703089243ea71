import {
  type Cx,
  type Filter,
  foldName,
  type Searchable,
  statement,
  view,
} from "../../store/index.ts"
import { isOrgThere, type OrgEvent } from "../org/index.ts"
import type { UserEvent } from "../user-model/index.ts"
import { missingError } from "./commands.ts"
import type { GroupUserEvent } from "./member.ts"
import { type GroupEvent, group } from "./model.ts"

/** A group as it is listed; times are ms UTC. */
export type GroupRow = {
  readonly id: string
  readonly org: string
  readonly name: string
  readonly description: string
  readonly created: number
  readonly changed: number
}

const insert = statement(
  `INSERT INTO groups (instance, id, org, name, name_folded, description, created, changed)
   VALUES ($instance, $id, $owner, $name, $folded, $description, $time, $time)`,
)
const change = statement(
  `UPDATE groups SET name = coalesce($name, name), name_folded = coalesce($folded, name_folded),
     description = coalesce($description, description), changed = $time
   WHERE instance = $instance AND id = $id`,
)
const remove = statement("DELETE FROM groups WHERE instance = $instance AND id = $id")
const removeAll = statement("DELETE FROM groups WHERE instance = $instance AND org = $id")

export const groupView = view<GroupEvent | OrgEvent>({
  name: "group",
  revision: 2,
  tables: {
    groups: {
      columns: `id TEXT NOT NULL, org TEXT NOT NULL, name TEXT NOT NULL,
        name_folded TEXT NOT NULL, description TEXT NOT NULL, created INTEGER NOT NULL,
        changed INTEGER NOT NULL`,
      key: "id",
      indexes: { org: "org, created", name: "name_folded", created: "created" },
    },
  },
  on: {
    "group.added": (db, { data: { name, description } }) =>
      db.run(insert, { name, folded: foldName(name), description }),
    "group.changed": (db, { data: { name, description } }) =>
      db.run(change, {
        name: name ?? null,
        folded: name === undefined ? null : foldName(name),
        description: description ?? null,
      }),
    "group.removed": (db) => db.run(remove),
    "org.removed": (db) => db.run(removeAll),
  },
})

/** Somebody in a group as they are listed; `created` is since when, ms UTC. */
export type GroupUserRow = {
  readonly id: string
  readonly group_id: string
  readonly user_id: string
  readonly display_name: string
  readonly user_name: string
  readonly user_org: string
  readonly created: number
}

const enter = statement(
  `INSERT INTO group_users (instance, id, group_id, user_id, org, created)
   VALUES ($instance, $id, $groupId, $userId, $owner, $time)`,
)
const leave = statement("DELETE FROM group_users WHERE instance = $instance AND id = $id")
const leaveGroup = statement(
  "DELETE FROM group_users WHERE instance = $instance AND group_id = $id",
)
const leaveAll = statement("DELETE FROM group_users WHERE instance = $instance AND user_id = $id")
const leaveOrg = statement("DELETE FROM group_users WHERE instance = $instance AND org = $id")

export const groupUserView = view<GroupUserEvent | GroupEvent | UserEvent | OrgEvent>({
  name: "group_user",
  tables: {
    group_users: {
      columns: `id TEXT NOT NULL, group_id TEXT NOT NULL, user_id TEXT NOT NULL,
        org TEXT NOT NULL, created INTEGER NOT NULL`,
      key: "id",
      indexes: {
        group: "group_id, created",
        user: "user_id",
        org: "org, created",
        created: "created",
      },
    },
  },
  on: {
    "group.user.added": (db, { data: { groupId, userId } }) => db.run(enter, { groupId, userId }),
    "group.user.removed": (db) => db.run(leave),
    "group.removed": (db) => db.run(leaveGroup),
    "user.removed": (db) => db.run(leaveAll),
    "org.removed": (db) => db.run(leaveOrg),
  },
})

export const groupUsers: Searchable = {
  table: "group_users",
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
}

/** Groups that a user is in. */
export const hasUser = (userId: string): Filter => ({
  ...{
    in: "id",
    column: "group_id",
    of: { table: "group_users", columns: ["group_id", "user_id"] },
  },
  where: { equals: "user_id", value: userId },
})

export const groups: Searchable = {
  table: "groups",
  columns: ["org", "name", "name_folded", "created", "changed"],
  names: ["name"],
  owner: { org: "org" },
  key: "id",
  sort: "created",
}

const one = statement<GroupRow>("SELECT * FROM groups WHERE instance = $instance AND id = $groupId")

/** One group as it is shown; faults where there is none. */
export function findGroup(cx: Cx, id: string): GroupRow {
  const row = cx.store.get(cx, one, { groupId: id })
  if (!row) throw missingError()
  return row
}

const namesOfUser = statement<{ name: string }>(
  `SELECT g.name FROM group_users t JOIN groups g ON g.instance = t.instance AND g.id = t.group_id
   WHERE t.instance = $instance AND t.user_id = $userId ORDER BY g.name`,
)

/** The names of the groups that somebody is in. */
export const groupsOfUser = (cx: Cx, userId: string): readonly string[] =>
  cx.store.all(cx, namesOfUser, { userId }).map(({ name }) => name)

/** What the access to a group hangs from; undefined where it, or its organisation, is gone. */
export function groupChain(cx: Cx, id: string) {
  const { status, orgId } = cx.store.state(cx, group, id)
  const isThere = status === "active" && isOrgThere(cx, orgId)
  return isThere ? ({ instance: true, org: orgId } as const) : undefined
}
