import {
  blob,
  type Cx,
  type Filter,
  fold,
  integer,
  type RowOf,
  table,
  text,
  view,
} from "../../store/index.ts"
import type { UserEvent } from "../user-model/index.ts"

const metadataTable = table(
  "user_metadata",
  {
    user_id: text(),
    org: text(),
    meta_key: text(),
    meta_key_folded: text(),
    value: blob(),
    created: integer(),
    changed: integer(),
    /** Version of the user's stream when it was set. */
    version: integer(),
  },
  { key: ["user_id", "meta_key"], indexes: { named: ["meta_key"] } },
)

/** A metadata entry of a user; times are ms UTC. */
export type MetadataRow = RowOf<typeof metadataTable>

export const userMetadataView = view<UserEvent>({
  name: "user_metadata",
  revision: 2,
  tables: [metadataTable],
  on: {
    // An erased entry means that its user is removed by a later event.
    "user.metadata.set": (db, { id, owner, data: { key }, private: secret, time, version }) => {
      const row = {
        user_id: id,
        org: owner,
        meta_key: key,
        meta_key_folded: fold(key),
        value: Buffer.from(secret?.value ?? "", "base64"),
        created: time,
        changed: time,
        version,
      }
      metadataTable.upsert(db, row, ["value", "changed", "version"])
    },
    "user.metadata.removed": (db, { id, data: { key } }) =>
      metadataTable.remove(db, { user_id: id, meta_key: key }),
    "user.removed": (db, { id }) => metadataTable.remove(db, { user_id: id }),
  },
})

const selectByUser = metadataTable.select(
  ["meta_key", "value"],
  "AND user_id = $userId ORDER BY meta_key",
)

/** All metadata of a user, by key. */
export const listMetadata = (cx: Cx, userId: string): ReadonlyMap<string, Uint8Array> =>
  new Map(
    cx.store.all(cx, selectByUser, { userId }).map(({ meta_key, value }) => [meta_key, value]),
  )

/** Keys are unique per user, and each list is of one user. */
export const metadataEntries = metadataTable.searchable({
  key: "meta_key",
  sort: "meta_key",
  owner: { org: "org", self: "user_id" },
  columns: ["user_id", "meta_key_folded"],
})

const entriesTable = {
  table: "user_metadata",
  columns: ["user_id", "meta_key", "meta_key_folded", "value"],
} as const

/** Filters users by metadata key or value. */
export const metadataFilter = (filter: Filter): Filter => ({
  in: "id",
  column: "user_id",
  of: entriesTable,
  where: filter,
})
