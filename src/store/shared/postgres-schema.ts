import { chainAdditions } from "./function/chain.ts"
import { readerAdditions } from "./postgres-readers.ts"

/** Incremented with every change of the database objects. */
export const sharedSchema = 10

/**
 * The lowest version whose programs can run at the same time: the functions they call exist and do
 * the same. Stored in the database for programs with a lower version.
 */
export const oldestSchema = 5

/** PostgreSQL 14. */
export const oldestServer = 140_000

/**
 * Everything is in its own schema, so that a database can contain other things. `log` has one row,
 * and an append locks it until its transaction ends: positions have no gaps and follow the order of
 * commits, and no reader sees a position before earlier ones.
 * Other changes have a number, in the same order: claims and blobs next to their content, and
 * removals in `change`. A number does not reveal what it replaces.
 * Changes are removed once every node has them, up to `trimmed`; a new node needs none.
 * A node has one row, by its part of the IDs. `run` is its current process, so that one that was
 * considered dead can no longer write; `batch` is its last batch with the result, so that a
 * repeated one is applied once.
 */
export const sharedTables = `
CREATE TABLE latchkey.log (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  id text NOT NULL,
  fingerprint text NOT NULL,
  schema integer NOT NULL,
  position bigint NOT NULL DEFAULT 0,
  number bigint NOT NULL DEFAULT 0,
  id_time bigint NOT NULL DEFAULT 0,
  trimmed bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10);
CREATE TABLE latchkey.event (
  position bigint PRIMARY KEY,
  instance text COLLATE "C" NOT NULL,
  stream text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  version integer NOT NULL,
  type text COLLATE "C" NOT NULL,
  revision integer NOT NULL,
  data text COLLATE "C" NOT NULL,
  private text COLLATE "C",
  time bigint NOT NULL,
  editor_user text COLLATE "C" NOT NULL,
  editor_client text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  correlation text COLLATE "C" NOT NULL,
  erase text COLLATE "C"
);
CREATE UNIQUE INDEX event_stream ON latchkey.event (instance, id, stream, version);
CREATE TABLE latchkey.claim (
  instance text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  stream text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  expires bigint,
  number bigint NOT NULL UNIQUE,
  position bigint NOT NULL,
  PRIMARY KEY (instance, kind, key)
);
CREATE INDEX claim_expires ON latchkey.claim (expires) WHERE expires IS NOT NULL;
CREATE TABLE latchkey.blob (
  instance text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  stream text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  bytes bytea NOT NULL,
  number bigint NOT NULL UNIQUE,
  position bigint NOT NULL,
  PRIMARY KEY (instance, id, stream, name)
);
CREATE TABLE latchkey.change (
  number bigint PRIMARY KEY,
  position bigint NOT NULL,
  kind text NOT NULL,
  value bigint,
  instance text COLLATE "C",
  stream text COLLATE "C",
  id text COLLATE "C",
  name text COLLATE "C"
);
CREATE TABLE latchkey.node (
  part integer PRIMARY KEY CHECK (part BETWEEN 0 AND 255),
  folder text NOT NULL UNIQUE,
  run text NOT NULL,
  batch bigint NOT NULL DEFAULT 0,
  answer json,
  number bigint NOT NULL DEFAULT 0,
  seen timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 10);
CREATE TABLE latchkey.data_key (
  id text PRIMARY KEY,
  purpose text NOT NULL,
  wrapped text NOT NULL,
  active boolean NOT NULL
);
CREATE UNIQUE INDEX data_key_active ON latchkey.data_key (purpose) WHERE active;
CREATE TABLE latchkey.lease (
  name text PRIMARY KEY,
  part integer NOT NULL,
  until timestamptz NOT NULL
);
CREATE TABLE latchkey.reactor (name text PRIMARY KEY, position bigint NOT NULL);
`

/**
 * Later additions, also applied to new logs; they do nothing if they exist. `epoch` records the
 * head of the log when another server took over the database, detected by its timeline. `used`
 * contains one-time uses that are no events. `failed_event` contains the reactors' failed events,
 * for the next leader. `moving` marks a log that is being moved from a data directory, or was moved
 * to one; no node may use it.
 */
export const sharedAdditions = `
ALTER TABLE latchkey.log
  ADD COLUMN IF NOT EXISTS epoch integer NOT NULL DEFAULT 1,
  ADD COLUMN IF NOT EXISTS timeline text NOT NULL DEFAULT '',
  ADD COLUMN IF NOT EXISTS moving text;
ALTER TABLE latchkey.node
  ADD COLUMN IF NOT EXISTS epoch integer NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS position bigint NOT NULL DEFAULT 0;
CREATE TABLE IF NOT EXISTS latchkey.epoch (
  epoch integer PRIMARY KEY,
  position bigint NOT NULL,
  number bigint NOT NULL
);
CREATE TABLE IF NOT EXISTS latchkey.used (what text COLLATE "C" PRIMARY KEY, until bigint NOT NULL);
CREATE INDEX IF NOT EXISTS used_until ON latchkey.used (until);
CREATE TABLE IF NOT EXISTS latchkey.failed_event (
  reactor text NOT NULL,
  position bigint NOT NULL,
  instance text COLLATE "C" NOT NULL,
  failures integer NOT NULL,
  error text NOT NULL,
  last bigint NOT NULL,
  PRIMARY KEY (reactor, position)
);
${readerAdditions}
${chainAdditions}`
