import { Database } from "bun:sqlite"
import { existsSync, rmSync, statSync, utimesSync } from "node:fs"
import { opensAll } from "../../kernel/crypto/secret.ts"
import { Fault } from "../../kernel/fault.ts"
import { diskFaultOf, diskTroubleOf } from "../disk-error.ts"
import { dataKeysIn, keysUnder, settleKeys, type Wrapped } from "../keyring/data-keys.ts"
import { openSource } from "../snapshot.ts"

// What is kept from before an upgrade has data keys of its own: the database's, under the master
// key of then. A key that was replaced, perhaps because it was stolen, must not open them either.

/** Where what was before the last upgrade is kept. */
export const snapshotBefore = (file: string): string => `${file}-before`
const journal = (file: string) => `${snapshotBefore(file)}-journal`

/** The journal last: what it would mend is gone then. */
export function removeBefore(file: string): void {
  for (const each of [snapshotBefore(file), journal(file)]) rmSync(each, { force: true })
}

/**
 * Puts what is kept from before an upgrade under the master key that has come; `keys` are those of
 * the database under it. Removes what is damaged, or has others: the folder never opens it again.
 */
export function rekeyBefore(file: string, master: Uint8Array, keys: readonly Wrapped[]): void {
  const snapshot = snapshotBefore(file)
  if (!existsSync(snapshot)) return
  const { atime, mtime } = statSync(snapshot)
  if (isRekeyed(snapshot, master, keys)) utimesSync(snapshot, atime, mtime)
  else removeBefore(file)
}

function isRekeyed(snapshot: string, master: Uint8Array, keys: readonly Wrapped[]): boolean {
  try {
    using copy = openCopy(snapshot)
    return rekey(copy, master, keys)
  } catch (cause) {
    if (diskTroubleOf(cause, snapshot)?.kind === "damaged") return false
    throw diskFaultOf(cause, snapshot) ?? cause
  }
}

/**
 * Sees to it that the master key opens what is kept from before an upgrade, and refuses with
 * nothing changed where it can't: a replacement of the key may not have come to its end.
 */
export function openBefore(file: string, master: Uint8Array): void {
  const snapshot = snapshotBefore(file)
  try {
    using copy = openCopy(snapshot)
    if (opensAll(master, dataKeysIn(copy))) return
    if (!rekey(copy, master, keysBeside(file, master))) throw sealedError(snapshot)
  } catch (cause) {
    throw diskFaultOf(cause, snapshot) ?? cause
  }
}

/** Answers false, with nothing changed, where the master key would not open all of them. */
function rekey(copy: Database, master: Uint8Array, keys: readonly Wrapped[]): boolean {
  const wrapped = new Map(keys.map((key) => [key.id, key.wrapped]))
  const rows = dataKeysIn(copy).map((row) => ({
    ...row,
    wrapped: wrapped.get(row.id) ?? row.wrapped,
  }))
  if (!opensAll(master, rows)) return false
  settleKeys(copy, rows)
  return true
}

/** Those of the database; none where it is what is wrong, which is why somebody goes back. */
function keysBeside(file: string, master: Uint8Array): readonly Wrapped[] {
  try {
    using database = openSource({ file, isInUse: false })
    return keysUnder(database, master)
  } catch (cause) {
    if (cause instanceof Fault || diskTroubleOf(cause, file)) return []
    throw cause
  }
}

/** With a journal of its own: a process that is killed leaves nothing half. */
function openCopy(snapshot: string): Database {
  const database = new Database(snapshot, { readwrite: true, strict: true })
  database.run("PRAGMA synchronous = FULL")
  // The keys of before are overwritten.
  database.run("PRAGMA secure_delete = ON")
  if (process.platform === "darwin") database.run("PRAGMA fullfsync = ON")
  return database
}

const sealedError = (snapshot: string) =>
  new Fault(
    "failed_precondition",
    "upgrade.sealed_before",
    `the master key does not open ${snapshot}, which was sealed with another one; nothing was ` +
      "changed. Restore a backup made before the upgrade instead, with its key, into a new folder",
  )
