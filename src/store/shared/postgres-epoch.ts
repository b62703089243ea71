import { Fault } from "../../kernel/fault.ts"
import type { PostgresClient } from "./postgres-client.ts"
import type { Place } from "./shared-log.ts"

/** A node, by its part of ids, and the process that is this node. */
export type Me = readonly [part: number, run: string]

/**
 * What a node knows of servers that took the database over. One that was not told all may have lost
 * the end of the log, and a node that has it must not go on as if nothing were missing.
 */
export type Epochs = {
  /** The epoch that this node was found to belong to. */
  readonly now: () => number
  /** Looks whether this node may go on from a place. Faults where it has what the log has lost. */
  readonly turn: (from: Place) => Promise<void>
  /** Does it, and once more where another server has taken over and this node may go on. */
  readonly within: <T>(from: Place, work: () => Promise<T>) => Promise<T>
}

/** LK005: a node that has not looked yet whether it has more than was left. */
export const epochFunctions = `
-- A server that takes the database over, or has it from a backup, counts on.
CREATE OR REPLACE FUNCTION latchkey.timeline_2() RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
$$;

-- Begins an epoch where another server has taken over, and says whether a node that has come so far
-- in an older one may go on: not if it has what was lost.
CREATE OR REPLACE FUNCTION latchkey.turn_2(
  in_part integer, in_run text, in_epoch integer, in_position bigint, in_number bigint
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  head latchkey.log;
  lost bigint;
BEGIN
  SELECT * INTO STRICT head FROM latchkey.log FOR UPDATE;
  IF head.moving IS NOT NULL THEN RAISE SQLSTATE 'LK006' USING MESSAGE = head.moving; END IF;
  IF head.timeline <> latchkey.timeline_2() THEN
    IF head.timeline <> '' THEN
      head.epoch := head.epoch + 1;
      INSERT INTO latchkey.epoch (epoch, position, number)
      VALUES (head.epoch, head.position, head.number);
    END IF;
    UPDATE latchkey.log SET timeline = latchkey.timeline_2(), epoch = head.epoch;
  END IF;
  SELECT min(e.position) INTO lost FROM (
    SELECT epoch, position, number FROM latchkey.epoch WHERE epoch > in_epoch
    UNION ALL SELECT head.epoch, head.position, head.number
  ) e WHERE e.position < in_position OR e.number < in_number;
  IF lost IS NULL THEN
    UPDATE latchkey.node SET epoch = head.epoch WHERE part = in_part AND run = in_run;
  END IF;
  RETURN json_build_object('epoch', head.epoch, 'lost', lost);
END $$;
`

/** LK005, which nobody is told. */
const turned = "store.database_turned"

export function epochsOf(client: PostgresClient, me: Me): Epochs {
  let known = 0
  const turn = async ({ epoch, position, number }: Place) => {
    const [row] = await client.ask<{ found: { epoch: number; lost: number | null } }>(
      "SELECT latchkey.turn_2($1::integer, $2, $3::integer, $4::bigint, $5::bigint) AS found",
      [...me, epoch, position, number],
    )
    if (!row) throw new Error("PostgreSQL answered with no row")
    if (row.found.lost !== null) throw lostError(position, row.found.lost)
    known = row.found.epoch
  }
  return {
    now: () => known,
    turn,
    within: async (from, work) => {
      try {
        return await work()
      } catch (cause) {
        if (!(cause instanceof Fault) || cause.id !== turned) throw cause
      }
      await turn(from)
      return work()
    },
  }
}

export const turnedError = () =>
  new Fault("unavailable", turned, "another server has taken the database over")

export const lostError = (position: number, head: number) =>
  new Fault(
    "unavailable",
    "store.database_behind",
    `this data folder has events up to position ${position}, and the log in PostgreSQL has only ` +
      `those up to ${head} of them: it has lost some. Nothing was changed. Restore the database, ` +
      "or, to go on with what it has, start with an empty folder",
  )
