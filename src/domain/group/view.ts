import { type Cx, foldName, type Searchable, statement, view } from "../../store/index.ts"
import { isOrgThere, type OrgEvent } from "../org/index.ts"
import { missing } from "./commands.ts"
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
  if (!row) throw missing()
  return row
}

/** What the access to a group hangs from; undefined where it, or its organisation, is gone. */
export function groupChain(cx: Cx, id: string) {
  const { status, orgId } = cx.store.state(cx, group, id)
  const isThere = status === "active" && isOrgThere(cx, orgId)
  return isThere ? ({ instance: true, org: orgId } as const) : undefined
}
