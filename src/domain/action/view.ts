import { type Cx, foldName, type Searchable, statement, view } from "../../store/index.ts"
import type { ActionEvent, ActionStatus } from "./model.ts"

/** A script as it is listed, without its text; times are ms UTC. */
export type ActionRow = {
  readonly id: string
  readonly org: string
  readonly name: string
  readonly state: ActionStatus
  readonly created: number
  readonly changed: number
  readonly version: number
}

const insert = statement(
  `INSERT INTO actions (instance, id, org, name, name_folded, state, created, changed, version)
   VALUES ($instance, $id, $owner, $name, $folded, 'active', $time, $time, $version)`,
)
const change = statement(
  `UPDATE actions SET name = coalesce($name, name), name_folded = coalesce($folded, name_folded),
     changed = $time, version = $version
   WHERE instance = $instance AND id = $id`,
)
const turn = statement(
  `UPDATE actions SET state = $state, changed = $time, version = $version
   WHERE instance = $instance AND id = $id`,
)
const remove = statement("DELETE FROM actions WHERE instance = $instance AND id = $id")

export const actionView = view<ActionEvent>({
  name: "action",
  tables: {
    actions: {
      columns: `id TEXT NOT NULL, org TEXT NOT NULL, name TEXT NOT NULL, name_folded TEXT NOT NULL,
        state TEXT NOT NULL, created INTEGER NOT NULL, changed INTEGER NOT NULL,
        version INTEGER NOT NULL`,
      key: "id",
      indexes: {
        org: "org, created",
        name: "name_folded, name",
        state: "state, created",
        created: "created",
      },
    },
  },
  on: {
    "action.added": (db, { data: { name } }) => db.run(insert, { name, folded: foldName(name) }),
    "action.changed": (db, { data: { name } }) =>
      db.run(change, {
        name: name ?? null,
        folded: name === undefined ? null : foldName(name),
      }),
    "action.deactivated": (db) => db.run(turn, { state: "inactive" }),
    "action.reactivated": (db) => db.run(turn, { state: "active" }),
    "action.removed": (db) => db.run(remove),
  },
})

export const actions: Searchable = {
  table: "actions",
  columns: ["id", "org", "name", "name_folded", "state", "created"],
  names: ["name"],
  owner: { org: "org" },
  key: "id",
  sort: "created",
}

const inOrg = statement<{ id: string }>(
  "SELECT id FROM actions WHERE instance = $instance AND org = $orgId ORDER BY id LIMIT $limit",
)

/** Some of the scripts of an organisation. */
export const actionsOf = (cx: Cx, orgId: string, limit: number): readonly string[] =>
  cx.store.all(cx, inOrg, { orgId, limit }).map(({ id }) => id)
