// Faults that prevent a node from starting on a log in PostgreSQL.
import { Fault } from "../../../kernel/fault.ts"

const startError = (id: string, message: string) =>
  new Fault("failed_precondition", `start.${id}`, message)

export const oldServerError = (version: number) =>
  startError(
    "database_old",
    `PostgreSQL ${Math.floor(version / 10_000)} is too old; use version 14 or later`,
  )

export const encodingError = (encoding: string) =>
  startError(
    "database_encoding",
    `the database uses the encoding ${encoding}; create one with the encoding UTF8`,
  )

export const replicaError = () =>
  startError(
    "database_replica",
    "the setting database points to a read-only replica; name the primary",
  )

export const newerSchemaError = (schema: number, supported: number) =>
  startError(
    "database_newer",
    "the log in PostgreSQL was written by a newer version of Latchkey (it requires schema " +
      `${schema}, this version supports up to ${supported}); start that version`,
  )

export const masterKeyDiffersError = () =>
  startError(
    "master_key_wrong",
    "the log in PostgreSQL was created with a different master key than this node's; give " +
      "every node the same one, with LATCHKEY_MASTER_KEY or --master-key-file",
  )

export const logDiffersError = () =>
  startError(
    "database_other",
    "this data directory belongs to a different log than the one in that database; start " +
      "with an empty data directory, or name the other database",
  )

export const logMissingError = () =>
  startError(
    "database_empty",
    "this data directory belongs to a log in PostgreSQL, but that database has none; " +
      "nothing was changed. Name the right database, or restore it",
  )

export const tooManyNodesError = () =>
  startError("nodes_many", "256 nodes have been running in the last day; no more can be started")
