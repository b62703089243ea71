import {
  type ChangesOf,
  type Cx,
  type Envelope,
  foldName,
  integer,
  type RowOf,
  table,
  text,
  type ViewWriter,
  view,
} from "../../store/index.ts"
import type { ActionEvent, ActionStatus } from "./model.ts"

const actionTable = table(
  "actions",
  {
    id: text(),
    org: text(),
    name: text(),
    name_folded: text(),
    state: text<ActionStatus>(),
    created: integer(),
    changed: integer(),
    version: integer(),
  },
  {
    key: ["id"],
    indexes: {
      org: ["org", "created"],
      name: ["name_folded", "name"],
      state: ["state", "created"],
      created: ["created"],
    },
  },
)

/** An action in a list, without its script; times are in ms since the epoch. */
export type ActionRow = RowOf<typeof actionTable>

const change = (
  db: ViewWriter,
  { id, time, version }: Envelope,
  changes: ChangesOf<typeof actionTable>,
) => actionTable.update(db, { id }, { ...changes, changed: time, version })

export const actionView = view<ActionEvent>({
  name: "action",
  tables: [actionTable],
  on: {
    "action.added": (db, { id, owner, data: { name }, time, version }) =>
      actionTable.insert(db, {
        id,
        org: owner,
        name,
        name_folded: foldName(name),
        state: "active",
        created: time,
        changed: time,
        version,
      }),
    "action.changed": (db, event) => {
      const { name } = event.data
      change(db, event, { name, name_folded: name && foldName(name) })
    },
    "action.deactivated": (db, event) => change(db, event, { state: "inactive" }),
    "action.reactivated": (db, event) => change(db, event, { state: "active" }),
    "action.removed": (db, { id }) => actionTable.remove(db, { id }),
  },
})

export const actions = actionTable.searchable({
  columns: ["id", "org", "name", "name_folded", "state", "created"],
  names: ["name"],
  owner: { org: "org" },
  key: "id",
  sort: "created",
})

const inOrg = actionTable.select(["id"], "AND org = $orgId ORDER BY id LIMIT $limit")

/** Up to `limit` action IDs of an organization. */
export const actionsOf = (cx: Cx, orgId: string, limit: number): readonly string[] =>
  cx.store.all(cx, inOrg, { orgId, limit }).map(({ id }) => id)
