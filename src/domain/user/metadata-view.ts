import { type Cx, type Filter, fold, type Searchable, statement, view } from "../../store/index.ts"
import type { UserEvent } from "../user-model/index.ts"

/** One thing that is noted about a user. Times are ms UTC. */
export type MetadataRow = {
  readonly user_id: string
  readonly org: string
  readonly meta_key: string
  readonly value: Uint8Array
  readonly created: number
  readonly changed: number
  /** Of the user's stream, when it was noted. */
  readonly version: number
}

const set = statement(
  `INSERT INTO user_metadata (instance, user_id, org, meta_key, meta_key_folded, value, created,
     changed, version)
   VALUES ($instance, $id, $owner, $key, $folded, $value, $time, $time, $version)
   ON CONFLICT DO UPDATE
   SET value = excluded.value, changed = excluded.changed, version = excluded.version`,
)
const remove = statement(
  "DELETE FROM user_metadata WHERE instance = $instance AND user_id = $id AND meta_key = $key",
)
const removeAll = statement(
  "DELETE FROM user_metadata WHERE instance = $instance AND user_id = $id",
)

export const userMetadataView = view<UserEvent>({
  name: "user_metadata",
  revision: 2,
  tables: {
    user_metadata: {
      columns: `user_id TEXT NOT NULL, org TEXT NOT NULL, meta_key TEXT NOT NULL,
        meta_key_folded TEXT NOT NULL, value BLOB NOT NULL, created INTEGER NOT NULL,
        changed INTEGER NOT NULL, version INTEGER NOT NULL`,
      key: "user_id, meta_key",
      indexes: { named: "meta_key" },
    },
  },
  on: {
    // Once it is erased its user is removed, a little later in the log.
    "user.metadata.set": (db, { data: { key }, private: secret }) => {
      const value = Buffer.from(secret?.value ?? "", "base64")
      db.run(set, { key, folded: fold(key), value })
    },
    "user.metadata.removed": (db, { data: { key } }) => db.run(remove, { key }),
    "user.removed": (db) => db.run(removeAll),
  },
})

const ofUser = statement<{ key: string; value: Uint8Array }>(
  `SELECT meta_key AS key, value FROM user_metadata
   WHERE instance = $instance AND user_id = $userId ORDER BY meta_key`,
)

/** All that is noted about a user, by key. */
export const heldMetadata = (cx: Cx, userId: string): ReadonlyMap<string, Uint8Array> =>
  new Map(cx.store.all(cx, ofUser, { userId }).map(({ key, value }) => [key, value]))

/** Keys are unique for a user, and a list is of one. */
export const metadataEntries: Searchable = {
  table: "user_metadata",
  key: "meta_key",
  sort: "meta_key",
  owner: { org: "org", self: "user_id" },
  columns: ["user_id", "meta_key_folded"],
}

const entries = {
  table: "user_metadata",
  columns: ["user_id", "meta_key", "meta_key_folded", "value"],
} as const

/** Users about whom something is noted that a filter finds, by its key or its value. */
export const hasMetadata = (filter: Filter): Filter => ({
  in: "id",
  column: "user_id",
  of: entries,
  where: filter,
})
