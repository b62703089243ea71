import type { Append, NewEvent } from "../log/log.ts"
import { type PostgresClient, requireRow } from "./postgres-client.ts"
import type { Outcome } from "./shared-log.ts"

/**
 * Nodes of two versions work side by side for as long as an upgrade takes, so what only the newer
 * one can read must not be written yet. Each node says what it reads: the revisions of event types,
 * by their names. `kind` has what may be in the log: what somebody was allowed to write, once every
 * node that was there could read it; whoever can't read all of that joins no more.
 */
export const readerAdditions = `
ALTER TABLE latchkey.log ADD COLUMN IF NOT EXISTS oldest integer NOT NULL DEFAULT 0;
ALTER TABLE latchkey.node
  ADD COLUMN IF NOT EXISTS version text NOT NULL DEFAULT '',
  ADD COLUMN IF NOT EXISTS reads jsonb;
CREATE TABLE IF NOT EXISTS latchkey.kind (
  name text COLLATE "C" PRIMARY KEY,
  revision integer NOT NULL
);
`

/** LK007: a log that may have events which a node can't read. */
export const readerFunctions = `
CREATE OR REPLACE FUNCTION latchkey.join_2(
  in_folder text, in_run text, in_number bigint, in_version text, in_reads jsonb
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  joined json;
  newer text;
BEGIN
  PERFORM 1 FROM latchkey.log FOR UPDATE;
  SELECT k.name INTO newer FROM latchkey.kind k
  WHERE coalesce((in_reads->>k.name)::integer, 0) < k.revision ORDER BY k.name LIMIT 1;
  IF FOUND THEN RAISE SQLSTATE 'LK007' USING MESSAGE = newer; END IF;
  joined := latchkey.join_1(in_folder, in_run, in_number);
  UPDATE latchkey.node SET version = in_version, reads = in_reads
  WHERE part = (joined->>'part')::integer;
  RETURN joined;
END $$;

-- Lets event types be written that every node can read; answers those that some can't. A node that
-- was silent for a minute is gone, and what it can't read then it says when it is back. Those of a
-- version that says nothing were there before any event type that they can't read.
CREATE OR REPLACE FUNCTION latchkey.begin_1(in_kinds jsonb)
RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  unread jsonb;
BEGIN
  PERFORM 1 FROM latchkey.log FOR UPDATE;
  SELECT coalesce(jsonb_agg(k.key), '[]'::jsonb) INTO unread FROM jsonb_each_text(in_kinds) k
  WHERE EXISTS (
    SELECT 1 FROM latchkey.node n
    WHERE n.seen > clock_timestamp() - interval '1 minute' AND n.reads IS NOT NULL
      AND coalesce((n.reads->>k.key)::integer, 0) < k.value::integer
  );
  INSERT INTO latchkey.kind AS w (name, revision)
  SELECT k.key, k.value::integer FROM jsonb_each_text(in_kinds) k WHERE NOT unread ? k.key
  ON CONFLICT (name) DO UPDATE SET revision = greatest(w.revision, excluded.revision);
  RETURN unread;
END $$;
`

type Insist = <T>(work: () => Promise<T>) => Promise<T>

/** What may be written: what every node can read. */
export type Readers = {
  /** Of steps those that some node can't read yet, with the events that it can't. */
  readonly early: (steps: readonly Append[]) => Promise<ReadonlyMap<Append, readonly NewEvent[]>>
}

/** `insist` asks again where nobody knows whether it happened: to be allowed twice does no harm. */
export function readersOf(client: PostgresClient, insist: Insist): Readers {
  /** What was allowed once is forever. */
  const allowed = new Map<string, number>()
  const ask = async (kinds: ReadonlyMap<string, number>): Promise<ReadonlySet<string>> => {
    const found = await insist(async () => {
      const [row] = await client.ask<{ unread: readonly string[] }>(
        "SELECT latchkey.begin_1(($1::text)::jsonb) AS unread",
        [JSON.stringify(Object.fromEntries(kinds))],
      )
      return requireRow(row)
    })
    const unread = new Set(found.unread)
    for (const [name, revision] of kinds) if (!unread.has(name)) allowed.set(name, revision)
    return unread
  }
  return {
    early: async (steps) => {
      const kinds = new Map(
        steps
          .flatMap(({ events }) => events.map((event) => [kindOf(event), event.revision] as const))
          .filter(([name, revision]) => (allowed.get(name) ?? 0) < revision),
      )
      if (kinds.size === 0) return new Map()
      const unread = await ask(kinds)
      return new Map(
        steps.flatMap((step) => {
          const early = step.events.filter((event) => unread.has(kindOf(event)))
          return early.length > 0 ? [[step, early] as const] : []
        }),
      )
    },
  }
}

const kindOf = ({ stream, type }: Append["events"][number]) => `${stream}/${type}`

/**
 * Appends what may be, and says of the rest what can't be read. Events that have a payload of the
 * revision before are written in that one, so that what they are for goes on during an upgrade.
 */
export async function withoutEarly<T extends { readonly outcomes: readonly Outcome[] }>(
  { early }: Readers,
  steps: readonly Append[],
  append: (steps: readonly Append[]) => Promise<T>,
): Promise<T> {
  const news = await early(steps)
  if (news.size === 0) return append(steps)
  const written = steps.map((step) => readableBy(step, news.get(step) ?? []))
  const held = await early(written)
  const answer = await append(written.filter((step) => !held.has(step)))
  const rest = answer.outcomes.values()
  const outcomes = written.map((step): Outcome => {
    const type = held.get(step)?.[0]?.type
    if (type !== undefined) return { kind: "early", type }
    const { value } = rest.next()
    if (!value) throw new Error("PostgreSQL answered for another batch")
    return value
  })
  return { ...answer, outcomes }
}

/** The step with earlier payloads of its early events, where these have one. */
function readableBy(step: Append, early: readonly NewEvent[]): Append {
  if (early.length === 0) return step
  const isEarly = new Set(early)
  const events = step.events.map((event) =>
    isEarly.has(event) ? { ...event, ...event.before } : event,
  )
  return { ...step, events }
}
