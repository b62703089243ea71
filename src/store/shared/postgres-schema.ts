import { chainAdditions } from "./function/chain.ts"
import { readerAdditions } from "./postgres-readers.ts"

/** Raised with every change of what lies in the database. */
export const sharedSchema = 10

/**
 * The lowest of those numbers whose programs can go on beside this one: what they call is there,
 * and does what it did. The database has it beside the number, for those who come with a lower one.
 */
export const oldestSchema = 5

/** PostgreSQL 14. */
export const oldestServer = 140_000

/**
 * All lies in a schema of its own, so that a database may hold other things. `log` has one row,
 * and whoever appends holds it until their transaction ends: positions are without gaps and in the
 * order of the commits, and no reader ever sees one before those that come before it.
 *
 * What is not an event has a number, in the same order: claims and blobs beside what they hold, and
 * what went in `change`. A number says nothing of what it stood for.
 *
 * Changes are dropped once every node has heard of them, up to `trimmed`; a new node needs none.
 *
 * A node has one row, by its part of ids. `run` is the process that has it, so that one which was
 * taken for dead writes nothing any more; `batch` is the last that it sent, with its answer, so
 * that one which is sent again happens once.
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
 * What came later, made beside the tables above as well as on its own: nothing happens where it is
 * there already. `epoch` has where the log ended when another server took the database over, which
 * it tells by its timeline. `used` has what counts once and is no event. `failed_event` is what
 * reactors have gone on without, for whichever node works next. `moving` says that a log comes from
 * a data folder and is not whole yet, or has gone to one, and no node may use it.
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
