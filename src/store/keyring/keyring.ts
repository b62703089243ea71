import type { Random } from "../../kernel/crypto/random.ts"
import {
  createDataKey,
  type DataKeyRow,
  fingerprint,
  purposes,
  rewrap,
  type Secrets,
  secretsOf,
} from "../../kernel/crypto/secret.ts"
import type { Store } from "../store.ts"
import type { Node } from "../store-parts.ts"
import { rekeyUpgradeSnapshot } from "../upgrade/snapshot-keys.ts"
import { findNextKeys, readDataKeys, replaceKeys, storeNextKeys } from "./data-keys.ts"

/**
 * Loads the data keys of this database, and creates them on the first start. Nothing may be sealed
 * with a key that a power cut could lose, so new keys are synced to disk first.
 */
export function openKeyring(store: Store, random: Random, master: Uint8Array): Secrets {
  const { database } = store
  finishMasterKey(store, master)
  const readKeys = () => readDataKeys(database)
  const missing = purposes.filter(
    (purpose) => !readKeys().some((row) => row.active && row.purpose === purpose),
  )
  if (missing.length > 0) {
    const insert = database.prepare(
      "INSERT INTO data_key (id, purpose, wrapped, active) VALUES (?, ?, ?, 1)",
    )
    database.transaction(() => {
      for (const purpose of missing) {
        const key = createDataKey(random, master, purpose)
        insert.run(key.id, key.purpose, key.wrapped)
      }
    })()
    database.run("PRAGMA wal_checkpoint(FULL)")
  }
  return secretsOf(random, master, readKeys())
}

/** The data keys, if another process has opened the database and created missing ones. */
export const readKeyring = ({ database }: Store, random: Random, master: Uint8Array): Secrets =>
  secretsOf(random, master, readDataKeys(database))

/**
 * Stores the data keys wrapped with another master key next to the current ones: from now on,
 * either master key works. The next one used stays. Requires exclusive access; synced to disk when
 * the store closes.
 */
export function prepareMasterKey(
  store: Store,
  random: Random,
  { from, to }: { readonly from: Uint8Array; readonly to: Uint8Array },
): void {
  const { database } = store
  const keys = rewrap(random, from, to, readDataKeys(database))
  storeNextKeys(database, {
    fingerprint: fingerprint(to),
    keys: keys.map(({ id, wrapped }) => ({ id, wrapped })),
  })
  database.run("PRAGMA wal_checkpoint(FULL)")
}

/**
 * The master key in use decides which wrapped keys stay. The copy from before an upgrade is
 * converted first: as long as the next keys are stored, this is repeated.
 */
function finishMasterKey({ database }: Store, master: Uint8Array): void {
  const next = findNextKeys(database)
  if (!next) return
  const keys = next.fingerprint === fingerprint(master) ? next.keys : []
  if (keys.length > 0) rekeyUpgradeSnapshot(database.filename, master, keys)
  replaceKeys(database, keys)
  database.run("PRAGMA wal_checkpoint(FULL)")
}

/**
 * The data keys of a shared log, created by the first node. They are also stored in the node's own
 * file, so that a copy of it is complete.
 */
export async function openSharedKeyring(
  { database, exclusive }: Store,
  node: Node,
  { random, master }: { readonly random: Random; readonly master: Uint8Array },
): Promise<Secrets> {
  const sharedKeys = await node.keys([])
  const missing = purposes.filter(
    (each) => !sharedKeys.some((row) => row.active && row.purpose === each),
  )
  const newKeys = missing.map((each) => ({ ...createDataKey(random, master, each), active: true }))
  const wrapped = newKeys.length > 0 ? await node.keys(newKeys) : sharedKeys
  const insert = database.prepare(
    "INSERT OR REPLACE INTO data_key (id, purpose, wrapped, active) VALUES (?, ?, ?, ?)",
  )
  await exclusive(() => {
    for (const row of wrapped) insert.run(row.id, row.purpose, row.wrapped, row.active ? 1 : 0)
  })
  // Reason for the cast: only our nodes write these rows, with valid purposes.
  return secretsOf(random, master, wrapped as readonly DataKeyRow[])
}
