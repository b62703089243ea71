import { type Cx, fold, type Searchable, statement, view } from "../../store/index.ts"
import type { OrgEvent } from "./model.ts"

/** One thing that is noted about an organisation. Times are ms UTC. */
export type MetadataRow = {
  readonly org: string
  readonly meta_key: string
  readonly value: Uint8Array
  readonly created: number
  readonly changed: number
}

const set = statement(
  `INSERT INTO org_metadata (instance, org, meta_key, meta_key_folded, value, created, changed)
   VALUES ($instance, $id, $key, $folded, $value, $time, $time)
   ON CONFLICT DO UPDATE SET value = excluded.value, changed = excluded.changed`,
)
const remove = statement(
  "DELETE FROM org_metadata WHERE instance = $instance AND org = $id AND meta_key = $key",
)
const removeAll = statement("DELETE FROM org_metadata WHERE instance = $instance AND org = $id")

export const orgMetadataView = view<OrgEvent>({
  name: "org_metadata",
  revision: 2,
  tables: {
    org_metadata: {
      columns: `org TEXT NOT NULL, meta_key TEXT NOT NULL, meta_key_folded TEXT NOT NULL,
        value BLOB NOT NULL, created INTEGER NOT NULL, changed INTEGER NOT NULL`,
      key: "org, meta_key",
    },
  },
  on: {
    // Once it is erased its organisation is removed, a little later in the log.
    "org.metadata.set": (db, { data: { key }, private: secret }) => {
      const value = Buffer.from(secret?.value ?? "", "base64")
      db.run(set, { key, folded: fold(key), value })
    },
    "org.metadata.removed": (db, { data: { key } }) => db.run(remove, { key }),
    "org.removed": (db) => db.run(removeAll),
  },
})

const ofOrg = statement<{ key: string; value: Uint8Array }>(
  `SELECT meta_key AS key, value FROM org_metadata
   WHERE instance = $instance AND org = $orgId ORDER BY meta_key`,
)

/** All that is noted about an organisation, by key. */
export const heldMetadata = (cx: Cx, orgId: string): ReadonlyMap<string, Uint8Array> =>
  new Map(cx.store.all(cx, ofOrg, { orgId }).map(({ key, value }) => [key, value]))

/** Keys are unique for an organisation, and a list is of one. */
export const metadataEntries: Searchable = {
  table: "org_metadata",
  key: "meta_key",
  sort: "meta_key",
  owner: { org: "org" },
  columns: ["org", "meta_key_folded"],
}
