import type { Database } from "bun:sqlite"
import { type DataKeyRow, fingerprint } from "../../kernel/crypto/secret.ts"

type DataKeyTableRow = Omit<DataKeyRow, "active"> & { readonly active: number }

/** A data key by ID, wrapped with a master key. */
export type WrappedKey = Pick<DataKeyRow, "id" | "wrapped">

/** The data keys wrapped with the next master key, while it is being replaced. */
export type NextKeys = { readonly fingerprint: string; readonly keys: readonly WrappedKey[] }

/** The name of the row in `meta`. */
const nextKeysName = "data_keys_next"

export const readDataKeys = (database: Database): readonly DataKeyRow[] =>
  database
    .query<DataKeyTableRow, []>("SELECT id, purpose, wrapped, active FROM data_key")
    .all()
    .map((row) => ({ ...row, active: row.active === 1 }))

export function findNextKeys(database: Database): NextKeys | undefined {
  const found = database
    .query<{ value: string }, [string]>("SELECT value FROM meta WHERE key = ?")
    .get(nextKeysName)
  return found ? JSON.parse(found.value) : undefined
}

export function storeNextKeys(database: Database, next: NextKeys): void {
  database
    .prepare("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)")
    .run(nextKeysName, JSON.stringify(next))
}

/** The data keys as wrapped by a master key that is current or prepared. */
export function wrappedKeysFor(database: Database, master: Uint8Array): readonly WrappedKey[] {
  const next = findNextKeys(database)
  return next?.fingerprint === fingerprint(master) ? next.keys : readDataKeys(database)
}

/** Replaces the wrapped data keys and discards the prepared ones. */
export function replaceKeys(database: Database, keys: readonly WrappedKey[]): void {
  const set = database.prepare("UPDATE data_key SET wrapped = ? WHERE id = ?")
  const deleteNext = database.prepare("DELETE FROM meta WHERE key = ?")
  database.transaction(() => {
    for (const { id, wrapped } of keys) set.run(wrapped, id)
    deleteNext.run(nextKeysName)
  })()
}
