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
import { rekeyBefore } from "../upgrade/before-keys.ts"
import { dataKeysIn, layDownNext, nextKeysIn, settleKeys } from "./data-keys.ts"

/**
 * The data keys of this database, made on its first start. Nothing may be sealed with a key that a
 * power cut could take, so new ones are on disk before they are handed out.
 */
export function openKeyring(store: Store, random: Random, master: Uint8Array): Secrets {
  const { database } = store
  finishMasterKey(store, master)
  const read = () => dataKeysIn(database)
  const missing = purposes.filter(
    (purpose) => !read().some((row) => row.active && row.purpose === purpose),
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
  return secretsOf(random, master, read())
}

/** The data keys, where another process has the database and has made those that were missing. */
export const readKeyring = ({ database }: Store, random: Random, master: Uint8Array): Secrets =>
  secretsOf(random, master, dataKeysIn(database))

/**
 * Lays the data keys down under another master key beside those under this one: from now on either
 * of the two opens them. Whichever is used next is the one that stays. Nobody else may have the
 * store; it is on disk when that is closed.
 */
export function prepareMasterKey(
  store: Store,
  random: Random,
  { from, to }: { readonly from: Uint8Array; readonly to: Uint8Array },
): void {
  const { database } = store
  const keys = rewrap(random, from, to, dataKeysIn(database))
  layDownNext(database, {
    fingerprint: fingerprint(to),
    keys: keys.map(({ id, wrapped }) => ({ id, wrapped })),
  })
  database.run("PRAGMA wal_checkpoint(FULL)")
}

/**
 * The master key that came decides: all is under it from now on, or stays so. What is kept from
 * before an upgrade comes along first: as long as the next keys lie there, this is done anew.
 */
function finishMasterKey({ database }: Store, master: Uint8Array): void {
  const next = nextKeysIn(database)
  if (!next) return
  const keys = next.fingerprint === fingerprint(master) ? next.keys : []
  if (keys.length > 0) rekeyBefore(database.filename, master, keys)
  settleKeys(database, keys)
  database.run("PRAGMA wal_checkpoint(FULL)")
}

/**
 * The data keys of the log that a node shares: whichever node came first has made them. The node's
 * own file has them, too, so that a copy of it is whole.
 */
export async function shareKeyring(
  { database, exclusive }: Store,
  node: Node,
  { random, master }: { readonly random: Random; readonly master: Uint8Array },
): Promise<Secrets> {
  const kept = await node.keys([])
  const missing = purposes.filter((each) => !kept.some((row) => row.active && row.purpose === each))
  const made = missing.map((each) => ({ ...createDataKey(random, master, each), active: true }))
  const wrapped = made.length > 0 ? await node.keys(made) : kept
  const insert = database.prepare(
    "INSERT OR REPLACE INTO data_key (id, purpose, wrapped, active) VALUES (?, ?, ?, ?)",
  )
  await exclusive(() => {
    for (const row of wrapped) insert.run(row.id, row.purpose, row.wrapped, row.active ? 1 : 0)
  })
  // Reason for the cast: what stands there has been put there by one of us, a purpose at a time.
  return secretsOf(random, master, wrapped as readonly DataKeyRow[])
}
