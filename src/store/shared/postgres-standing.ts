import { type PostgresClient, requireRow } from "./postgres-client.ts"
import { type Epochs, type Me, markValues } from "./postgres-epoch.ts"
import type { Head, NodeStanding, Place, SharedFailure, SharedLog, Use } from "./shared-log.ts"
import { shown, told, wholeMs } from "./wire.ts"

/** LK001: another process has this node's place. */
export const standingFunctions = `
-- Of uses of what counts once those that were the first. Rows are taken in one order, and what
-- nobody needs is dropped last, past what others hold: so no two nodes wait for each other.
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

-- The same, one by one, for nodes of the version before.
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

-- Notes how far a node has come, and answers where all of them stand.
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

-- The same, with what has come since, and of which version each is.
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

-- By the database's clock: those of the nodes may differ. A node that began again has what it had.
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

/** What nodes tell each other beside the log, and ask of it while somebody waits. */
export function standingOf(
  client: PostgresClient,
  me: Me,
  epochs: Epochs,
): Pick<SharedLog, "head" | "spendOnce" | "lease" | "nodes" | Failures> {
  return {
    head: async ({ mark }: Place): Promise<Head> => {
      // With a value it is a statement that the database keeps: it is asked with every request.
      const [row] = await client.ask<Omit<Head, "isSame"> & { epoch: number; line: boolean }>(
        `SELECT position::float8 AS position, number::float8 AS number, epoch,
           floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS time,
           timeline = latchkey.timeline_2()
             AND latchkey.has_1($2::bigint, $3::bigint, $4) AS line
         FROM latchkey.log WHERE one = $1`,
        [true, ...markValues(mark)],
      )
      const { epoch, line, ...head } = requireRow(row)
      return { ...head, isSame: line && epoch === epochs.now() }
    },
    spendOnce: (uses, now) => spendOnce(client, uses, now),
    lease: async (name, ms) => {
      const [row] = await client.ask<{ has: boolean }>(
        "SELECT latchkey.lease_1($1::integer, $2, $3, $4::integer) AS has",
        [...me, name, ms],
      )
      return requireRow(row).has
    },
    nodes: async ({ position }, lease) => {
      const [row] = await client.ask<{ nodes: NodeStanding[] }>(
        "SELECT latchkey.nodes_3($1::integer, $2, $3::bigint, $4) AS nodes",
        [...me, position, lease],
      )
      return requireRow(row).nodes
    },
    ...failuresOf(client),
  }
}

/** The clocks of nodes differ by seconds; what counts no more on one may count on another. */
const slackMs = 60_000

async function spendOnce(client: PostgresClient, uses: readonly Use[], now: number) {
  const rows = uses.map(({ what, until }) => ({ what, until: wholeMs(until) }))
  const [row] = await client.ask<{ firsts: readonly string[] }>(
    "SELECT latchkey.use_3(($1::text)::json, $2::bigint) AS firsts",
    [JSON.stringify(rows), now - slackMs],
  )
  const firsts = new Set(requireRow(row).firsts)
  // Of those of one batch that are the same one counts.
  return uses.map(({ what }) => firsts.delete(what))
}

type Failures = "failures" | "failed" | "unfailed" | "failedAgain"

function failuresOf(client: PostgresClient): Pick<SharedLog, Failures> {
  return {
    failures: async () => {
      const rows = await client.ask<SharedFailure>(
        `SELECT reactor, position::float8 AS position, instance, failures, error,
           last::float8 AS last FROM latchkey.failed_event`,
      )
      return rows.map((row) => ({ ...row, instance: told(row.instance), error: told(row.error) }))
    },
    failed: async ({ reactor, position, instance, error, last }) => {
      await client.ask(
        `INSERT INTO latchkey.failed_event AS f
           (reactor, position, instance, failures, error, last)
         VALUES ($1, $2::bigint, $3, 1, $4, $5::bigint)
         ON CONFLICT (reactor, position) DO UPDATE SET failures = f.failures + 1,
           error = excluded.error, last = excluded.last`,
        [reactor, position, shown(instance), shown(error), last],
      )
    },
    unfailed: async ({ reactor, position }) => {
      await client.ask(
        "DELETE FROM latchkey.failed_event WHERE reactor = $1 AND position = $2::bigint",
        [reactor, position],
      )
    },
    failedAgain: async ({ instance, reactor, position }) => {
      await client.ask(
        `UPDATE latchkey.failed_event SET last = 0 WHERE ($1::text IS NULL OR instance = $1)
           AND ($2::text IS NULL OR reactor = $2) AND ($3::bigint IS NULL OR position = $3)`,
        [instance === undefined ? null : shown(instance), reactor ?? null, position ?? null],
      )
    },
  }
}
