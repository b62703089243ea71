import type { Append, NewEvent } from "../log/log.ts"
import { type PostgresClient, requireRow } from "./postgres-client.ts"
import type { AppendOutcome } from "./shared-log.ts"

/**
 * Nodes of two versions run at the same time during an upgrade, so that what only the newer one can
 * read must not be written yet. Each node registers the event types and revisions that it can read.
 * `kind` contains what may be in the log: it is added when every current node can read it; a node
 * that can't read all of it can't join.
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

-- Allows event types that every node can read; returns those that some can't. A node that was
-- silent for a minute is treated as stopped, and is rejected on return if it can't read them. Nodes
-- of versions that don't register their types predate all types that they can't read.
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

type RetryStatement = <T>(work: () => Promise<T>) => Promise<T>

/** Tracks what may be written: what every node can read. */
export type NodeReaders = {
  /** The transactions that some node can't read yet, with the events concerned. */
  readonly early: (steps: readonly Append[]) => Promise<ReadonlyMap<Append, readonly NewEvent[]>>
}

/** `insist` repeats a statement with an unknown outcome: registering twice does no harm. */
export function createReaders(client: PostgresClient, insist: RetryStatement): NodeReaders {
  /** Registered types stay registered. */
  const allowed = new Map<string, number>()
  const ask = async (kinds: ReadonlyMap<string, number>): Promise<ReadonlySet<string>> => {
    const found = await insist(async () => {
      const [row] = await client.query<{ unread: readonly string[] }>(
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
          .flatMap(({ events }) =>
            events.map((event) => [kindKeyOf(event), event.revision] as const),
          )
          .filter(([name, revision]) => (allowed.get(name) ?? 0) < revision),
      )
      if (kinds.size === 0) return new Map()
      const unread = await ask(kinds)
      return new Map(
        steps.flatMap((step) => {
          const early = step.events.filter((event) => unread.has(kindKeyOf(event)))
          return early.length > 0 ? [[step, early] as const] : []
        }),
      )
    },
  }
}

const kindKeyOf = ({ stream, type }: Append["events"][number]) => `${stream}/${type}`

/**
 * Appends what all nodes can read, and reports the rest. Events with a downcast payload are written
 * in the previous revision, so that their operations work during an upgrade.
 */
export async function appendReadable<T extends { readonly outcomes: readonly AppendOutcome[] }>(
  { early }: NodeReaders,
  steps: readonly Append[],
  append: (steps: readonly Append[]) => Promise<T>,
): Promise<T> {
  const news = await early(steps)
  if (news.size === 0) return append(steps)
  const result = steps.map((step) => downcastStep(step, news.get(step) ?? []))
  const heldBack = await early(result)
  const answer = await append(result.filter((step) => !heldBack.has(step)))
  const remaining = answer.outcomes.values()
  const outcomes = result.map((step): AppendOutcome => {
    const type = heldBack.get(step)?.[0]?.type
    if (type !== undefined) return { kind: "early", type }
    const { value } = remaining.next()
    if (!value) throw new Error("PostgreSQL returned the result of another batch")
    return value
  })
  return { ...answer, outcomes }
}

/** The transaction with downcast payloads for its early events, if all have one. */
function downcastStep(step: Append, early: readonly NewEvent[]): Append {
  if (early.length === 0) return step
  const isEarly = new Set(early)
  const events = step.events.map((event) =>
    isEarly.has(event) ? { ...event, ...event.before } : event,
  )
  return { ...step, events }
}
