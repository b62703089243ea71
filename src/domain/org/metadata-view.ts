import { blob, type Cx, fold, integer, type RowOf, table, text, view } from "../../store/index.ts"
import type { OrgEvent } from "./model.ts"

const metadataTable = table(
  "org_metadata",
  {
    org: text(),
    meta_key: text(),
    meta_key_folded: text(),
    value: blob(),
    created: integer(),
    changed: integer(),
  },
  { key: ["org", "meta_key"] },
)

/** A metadata entry of an organization. Times are in ms since the epoch. */
export type MetadataRow = RowOf<typeof metadataTable>

export const orgMetadataView = view<OrgEvent>({
  name: "org_metadata",
  revision: 2,
  tables: [metadataTable],
  on: {
    // If the value was erased, the organization is removed soon after.
    "org.metadata.set": (db, { id: org, data: { key }, private: secret, time }) => {
      const value = Buffer.from(secret?.value ?? "", "base64")
      const row = { org, meta_key: key, meta_key_folded: fold(key), value }
      metadataTable.upsert(db, { ...row, created: time, changed: time }, ["value", "changed"])
    },
    "org.metadata.removed": (db, { id: org, data: { key } }) =>
      metadataTable.remove(db, { org, meta_key: key }),
    "org.removed": (db, { id: org }) => metadataTable.remove(db, { org }),
  },
})

const ofOrg = metadataTable.select(["meta_key", "value"], "AND org = $orgId ORDER BY meta_key")

/** The metadata of an organization by key. */
export const metadataOfOrg = (cx: Cx, orgId: string): ReadonlyMap<string, Uint8Array> =>
  new Map(cx.store.all(cx, ofOrg, { orgId }).map(({ meta_key, value }) => [meta_key, value]))

/** Keys are unique per organization, and a list contains one organization. */
export const metadataEntries = metadataTable.searchable({
  key: "meta_key",
  sort: "meta_key",
  owner: { org: "org" },
  columns: ["org", "meta_key_folded"],
})
