import type { Database } from "bun:sqlite"
import { type DataKeyRow, fingerprint } from "../../kernel/crypto/secret.ts"

type Row = Omit<DataKeyRow, "active"> & { readonly active: number }

/** A data key by its id, as a master key has wrapped it. */
export type Wrapped = Pick<DataKeyRow, "id" | "wrapped">

/** What is laid down while the master key is being replaced: the data keys under the next one. */
export type NextKeys = { readonly fingerprint: string; readonly keys: readonly Wrapped[] }

/** By what `meta` has them. */
const nextKeys = "data_keys_next"

export const dataKeysIn = (database: Database): readonly DataKeyRow[] =>
  database
    .query<Row, []>("SELECT id, purpose, wrapped, active FROM data_key")
    .all()
    .map((row) => ({ ...row, active: row.active === 1 }))

export function nextKeysIn(database: Database): NextKeys | undefined {
  const found = database
    .query<{ value: string }, [string]>("SELECT value FROM meta WHERE key = ?")
    .get(nextKeys)
  return found ? JSON.parse(found.value) : undefined
}

export function layDownNext(database: Database, next: NextKeys): void {
  database
    .prepare("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)")
    .run(nextKeys, JSON.stringify(next))
}

/** As they are under a master key that has come, or is about to. */
export function keysUnder(database: Database, master: Uint8Array): readonly Wrapped[] {
  const next = nextKeysIn(database)
  return next?.fingerprint === fingerprint(master) ? next.keys : dataKeysIn(database)
}

/** From now on they are these, under one master key alone. */
export function settleKeys(database: Database, keys: readonly Wrapped[]): void {
  const set = database.prepare("UPDATE data_key SET wrapped = ? WHERE id = ?")
  const drop = database.prepare("DELETE FROM meta WHERE key = ?")
  database.transaction(() => {
    for (const { id, wrapped } of keys) set.run(wrapped, id)
    drop.run(nextKeys)
  })()
}
