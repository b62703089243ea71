import { Database } from "bun:sqlite"
import { existsSync, rmSync, statSync, utimesSync } from "node:fs"
import { canUnwrapAll } from "../../kernel/crypto/secret.ts"
import { Fault } from "../../kernel/fault.ts"
import { classifyDiskFailure, toDiskFault } from "../disk-error.ts"
import { readDataKeys, replaceKeys, type WrappedKey, wrappedKeysFor } from "../keyring/data-keys.ts"
import { openSource } from "../snapshot.ts"

// The snapshot from before an upgrade contains its own wrapped data keys, under the master key of
// that time. A replaced master key, which may have been stolen, must not decrypt them either.

/** The path of the snapshot from before the last upgrade. */
export const upgradeSnapshotOf = (file: string): string => `${file}-before`
const journalOf = (file: string) => `${upgradeSnapshotOf(file)}-journal`

/** The journal last: without the snapshot it is useless. */
export function removeUpgradeSnapshot(file: string): void {
  for (const each of [upgradeSnapshotOf(file), journalOf(file)]) rmSync(each, { force: true })
}

/**
 * Rewraps the snapshot's data keys with the new master key; `keys` are those of the database under
 * it. Removes a snapshot that is damaged or has different keys, because it could never be opened
 * again.
 */
export function rekeyUpgradeSnapshot(
  file: string,
  master: Uint8Array,
  keys: readonly WrappedKey[],
): void {
  const snapshot = upgradeSnapshotOf(file)
  if (!existsSync(snapshot)) return
  const { atime, mtime } = statSync(snapshot)
  if (isRekeyed(snapshot, master, keys)) utimesSync(snapshot, atime, mtime)
  else removeUpgradeSnapshot(file)
}

function isRekeyed(snapshot: string, master: Uint8Array, keys: readonly WrappedKey[]): boolean {
  try {
    using copy = openCopy(snapshot)
    return rewrapKeys(copy, master, keys)
  } catch (cause) {
    if (classifyDiskFailure(cause, snapshot)?.kind === "damaged") return false
    throw toDiskFault(cause, snapshot) ?? cause
  }
}

/**
 * Makes sure that the master key opens the snapshot, and throws without changing anything if it
 * can't: a key replacement may have been interrupted.
 */
export function ensureSnapshotOpens(file: string, master: Uint8Array): void {
  const snapshot = upgradeSnapshotOf(file)
  try {
    using copy = openCopy(snapshot)
    if (canUnwrapAll(master, readDataKeys(copy))) return
    if (!rewrapKeys(copy, master, databaseKeysFor(file, master)))
      throw snapshotSealedError(snapshot)
  } catch (cause) {
    throw toDiskFault(cause, snapshot) ?? cause
  }
}

/** Returns false, without changing anything, if the master key can't unwrap all keys. */
function rewrapKeys(copy: Database, master: Uint8Array, keys: readonly WrappedKey[]): boolean {
  const wrapped = new Map(keys.map((key) => [key.id, key.wrapped]))
  const rows = readDataKeys(copy).map((row) => ({
    ...row,
    wrapped: wrapped.get(row.id) ?? row.wrapped,
  }))
  if (!canUnwrapAll(master, rows)) return false
  replaceKeys(copy, rows)
  return true
}

/** The database's keys; none if the database is damaged, which may be why the upgrade is undone. */
function databaseKeysFor(file: string, master: Uint8Array): readonly WrappedKey[] {
  try {
    using database = openSource({ file, isInUse: false })
    return wrappedKeysFor(database, master)
  } catch (cause) {
    if (cause instanceof Fault || classifyDiskFailure(cause, file)) return []
    throw cause
  }
}

/** With its own journal, so that an interrupted process leaves nothing incomplete. */
function openCopy(snapshot: string): Database {
  const database = new Database(snapshot, { readwrite: true, strict: true })
  database.run("PRAGMA synchronous = FULL")
  // The old keys are overwritten.
  database.run("PRAGMA secure_delete = ON")
  if (process.platform === "darwin") database.run("PRAGMA fullfsync = ON")
  return database
}

const snapshotSealedError = (snapshot: string) =>
  new Fault(
    "failed_precondition",
    "upgrade.sealed_before",
    `the master key does not open ${snapshot}, which is sealed with a different one; ` +
      "nothing was changed. Restore a backup made before the upgrade instead, with its key, " +
      "into a new data directory",
  )
