// Why a node can't start on a log in PostgreSQL.
import { Fault } from "../../../kernel/fault.ts"

const startFault = (id: string, message: string) =>
  new Fault("failed_precondition", `start.${id}`, message)

export const oldServerError = (version: number) =>
  startFault(
    "database_old",
    `PostgreSQL ${Math.floor(version / 10_000)} is too old; use version 14 or a newer one`,
  )

export const encodingError = (encoding: string) =>
  startFault(
    "database_encoding",
    `the database keeps texts as ${encoding}; make one with the encoding UTF8`,
  )

export const replicaError = () =>
  startFault(
    "database_replica",
    "the setting database leads to a replica, where nothing can be written; name the primary",
  )

export const newerError = (schema: number, known: number) =>
  startFault(
    "database_newer",
    `the log in PostgreSQL was written by a newer Latchkey (it takes schema ${schema}, this one ` +
      `knows up to ${known}); start that version`,
  )

export const otherKeyError = () =>
  startFault(
    "master_key_wrong",
    "the log in PostgreSQL was begun with another master key than this node's; give every node " +
      "the same one, with LATCHKEY_MASTER_KEY or --master-key-file",
  )

export const otherLogError = () =>
  startFault(
    "database_other",
    "this data folder belongs to another log than the one in that database; start with an empty " +
      "folder, or name the other database",
  )

export const goneError = () =>
  startFault(
    "database_empty",
    "this data folder belongs to a log in PostgreSQL, and that database has none; nothing was " +
      "changed. Name the right database, or restore it",
  )

export const crowdedError = () =>
  startFault("nodes_many", "256 nodes have been there within a day; start no more of them")
