import { type PostgresClient, requireRow } from "./postgres-client.ts"
import { type EpochTracker, markValues, type NodeIdentity } from "./postgres-epoch.ts"
import type {
  LogHead,
  LogPosition,
  NodeStatus,
  OneTimeUse,
  SharedFailure,
  SharedLog,
} from "./shared-log.ts"
import { escapeText, toWholeMs, unescapeText } from "./wire.ts"

/** LK001: another process is this node. */
export const coordinationFunctions = `
-- The first uses among one-time uses. Rows are locked in a fixed order, and expired ones are
-- removed last, skipping locked rows, so that nodes can't deadlock.
CREATE OR REPLACE FUNCTION latchkey.use_3(in_uses json, in_now bigint)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  firsts json;
BEGIN
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  WITH first AS (
    INSERT INTO latchkey.used AS u (what, until)
    SELECT n.value->>'what' COLLATE "C", max((n.value->>'until')::bigint)
    FROM json_array_elements(in_uses) n GROUP BY 1 ORDER BY 1
    ON CONFLICT (what) DO UPDATE SET until = excluded.until WHERE u.until <= in_now
    RETURNING u.what
  ) SELECT coalesce(json_agg(what), '[]'::json) INTO firsts FROM first;
  DELETE FROM latchkey.used WHERE what IN (
    SELECT what FROM latchkey.used WHERE until <= in_now LIMIT 400 FOR UPDATE SKIP LOCKED
  );
  RETURN firsts;
END $$;

-- The same, one at a time, for nodes of the previous version.
CREATE OR REPLACE FUNCTION latchkey.use_2(in_uses json, in_now bigint)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  use json;
  firsts boolean[] := '{}';
BEGIN
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  DELETE FROM latchkey.used WHERE what IN (
    SELECT what FROM latchkey.used WHERE until <= in_now LIMIT 100 FOR UPDATE SKIP LOCKED
  );
  FOR use IN SELECT u.value FROM json_array_elements(in_uses) u LOOP
    INSERT INTO latchkey.used AS u (what, until) VALUES (use->>'what', (use->>'until')::bigint)
    ON CONFLICT (what) DO UPDATE SET until = excluded.until WHERE u.until <= in_now;
    firsts := firsts || FOUND;
  END LOOP;
  RETURN array_to_json(firsts);
END $$;

-- Stores a node's position, and returns the status of all nodes.
CREATE OR REPLACE FUNCTION latchkey.nodes_2(
  in_part integer, in_run text, in_position bigint, in_lease text
) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  UPDATE latchkey.node SET position = in_position, seen = clock_timestamp()
  WHERE part = in_part AND run = in_run;
  RETURN (SELECT coalesce(json_agg(json_build_object('part', n.part, 'isSelf', n.part = in_part,
    'seenMs', floor(extract(epoch FROM clock_timestamp() - n.seen) * 1000),
    'position', n.position, 'leads', EXISTS (SELECT 1 FROM latchkey.lease l
      WHERE l.name = in_lease AND l.part = n.part AND l.until > clock_timestamp())
  ) ORDER BY n.part), '[]'::json)
  FROM latchkey.node n WHERE n.seen > clock_timestamp() - interval '1 day');
END $$;

-- The same, with the number of missing events and the version of each node.
CREATE OR REPLACE FUNCTION latchkey.nodes_3(
  in_part integer, in_run text, in_position bigint, in_lease text
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  head bigint;
BEGIN
  UPDATE latchkey.node SET position = in_position, seen = clock_timestamp()
  WHERE part = in_part AND run = in_run;
  SELECT position INTO STRICT head FROM latchkey.log;
  RETURN (SELECT coalesce(json_agg(json_build_object('part', n.part, 'isSelf', n.part = in_part,
    'seenMs', greatest(floor(extract(epoch FROM clock_timestamp() - n.seen) * 1000), 0),
    'position', n.position, 'behind', greatest(head - n.position, 0), 'version', n.version,
    'leads', EXISTS (SELECT 1 FROM latchkey.lease l
      WHERE l.name = in_lease AND l.part = n.part AND l.until > clock_timestamp())
  ) ORDER BY n.part), '[]'::json)
  FROM latchkey.node n WHERE n.seen > clock_timestamp() - interval '1 day');
END $$;

-- By the database clock, because the nodes' clocks may differ. A restarted node keeps its lease.
CREATE OR REPLACE FUNCTION latchkey.lease_1(
  in_part integer, in_run text, in_name text, in_ms integer
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM latchkey.node WHERE part = in_part AND run = in_run;
  IF NOT FOUND THEN RAISE SQLSTATE 'LK001' USING MESSAGE = 'another process is this node'; END IF;
  INSERT INTO latchkey.lease AS l (name, part, until)
  VALUES (in_name, in_part, clock_timestamp() + in_ms * interval '1 millisecond')
  ON CONFLICT (name) DO UPDATE SET part = excluded.part, until = excluded.until
  WHERE l.part = excluded.part OR l.until <= clock_timestamp();
  RETURN FOUND;
END $$;
`

/** Coordination between nodes besides the log: heads, leases, one-time uses and reactor state. */
export function createCoordination(
  client: PostgresClient,
  identity: NodeIdentity,
  epochs: EpochTracker,
): Pick<SharedLog, "head" | "spendOnce" | "lease" | "nodes" | FailureOperations> {
  return {
    head: async ({ mark }: LogPosition): Promise<LogHead> => {
      // Statements with parameters are cached by the database; this one runs for every request.
      const [row] = await client.query<Omit<LogHead, "isSame"> & { epoch: number; line: boolean }>(
        `SELECT position::float8 AS position, number::float8 AS number, epoch,
           floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS time,
           timeline = latchkey.timeline_2()
             AND latchkey.has_1($2::bigint, $3::bigint, $4) AS line
         FROM latchkey.log WHERE one = $1`,
        [true, ...markValues(mark)],
      )
      const { epoch, line, ...head } = requireRow(row)
      return { ...head, isSame: line && epoch === epochs.current() }
    },
    spendOnce: (uses, now) => spendOnce(client, uses, now),
    lease: async (name, ms) => {
      const [row] = await client.query<{ has: boolean }>(
        "SELECT latchkey.lease_1($1::integer, $2, $3, $4::integer) AS has",
        [...identity, name, ms],
      )
      return requireRow(row).has
    },
    nodes: async ({ position }, lease) => {
      const [row] = await client.query<{ nodes: NodeStatus[] }>(
        "SELECT latchkey.nodes_3($1::integer, $2, $3::bigint, $4) AS nodes",
        [...identity, position, lease],
      )
      return requireRow(row).nodes
    },
    ...createFailureStore(client),
  }
}

/** Clocks of nodes differ by seconds; what is expired on one may be valid on another. */
const clockToleranceMs = 60_000

async function spendOnce(client: PostgresClient, uses: readonly OneTimeUse[], now: number) {
  const rows = uses.map(({ what: usedKey, until }) => ({ what: usedKey, until: toWholeMs(until) }))
  const [row] = await client.query<{ firsts: readonly string[] }>(
    "SELECT latchkey.use_3(($1::text)::json, $2::bigint) AS firsts",
    [JSON.stringify(rows), now - clockToleranceMs],
  )
  const firstUses = new Set(requireRow(row).firsts)
  // Of identical uses in one batch, only one is the first.
  return uses.map(({ what: usedKey }) => firstUses.delete(usedKey))
}

type FailureOperations = "failures" | "failed" | "unfailed" | "failedAgain"

function createFailureStore(client: PostgresClient): Pick<SharedLog, FailureOperations> {
  return {
    failures: async () => {
      const rows = await client.query<SharedFailure>(
        `SELECT reactor, position::float8 AS position, instance, failures, error,
           last::float8 AS last FROM latchkey.failed_event`,
      )
      return rows.map((row) => ({
        ...row,
        instance: unescapeText(row.instance),
        error: unescapeText(row.error),
      }))
    },
    failed: async ({ reactor, position, instance, error, last }) => {
      await client.query(
        `INSERT INTO latchkey.failed_event AS f
           (reactor, position, instance, failures, error, last)
         VALUES ($1, $2::bigint, $3, 1, $4, $5::bigint)
         ON CONFLICT (reactor, position) DO UPDATE SET failures = f.failures + 1,
           error = excluded.error, last = excluded.last`,
        [reactor, position, escapeText(instance), escapeText(error), last],
      )
    },
    unfailed: async ({ reactor, position }) => {
      await client.query(
        "DELETE FROM latchkey.failed_event WHERE reactor = $1 AND position = $2::bigint",
        [reactor, position],
      )
    },
    failedAgain: async ({ instance, reactor, position }) => {
      await client.query(
        `UPDATE latchkey.failed_event SET last = 0 WHERE ($1::text IS NULL OR instance = $1)
           AND ($2::text IS NULL OR reactor = $2) AND ($3::bigint IS NULL OR position = $3)`,
        [instance === undefined ? null : escapeText(instance), reactor ?? null, position ?? null],
      )
    },
  }
}
