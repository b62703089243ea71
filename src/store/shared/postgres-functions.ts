import { appendFunctions } from "./function/append.ts"
import { chainFunctions } from "./function/chain.ts"
import { dropFunctions } from "./function/drop.ts"
import { coordinationFunctions } from "./postgres-coordination.ts"
import { epochFunctions } from "./postgres-epoch.ts"
import { readerFunctions } from "./postgres-readers.ts"

/**
 * Functions that run in the database, so that a batch takes a single round trip, and the row of the
 * log is only locked as long as the batch takes. Their names contain the version of their
 * parameters: nodes of two versions can run at the same time.
 * They raise their own codes: LK001, another process is this node; LK002, a batch of this node
 * older than its last; LK003, a claim held by another stream; LK004, a node that was offline for
 * too long to catch up; LK005, a node that has not verified its position after a takeover, or has a
 * different history than the log; LK006, a log that is being moved, or was moved away; LK007, a log
 * that may have events which a node can't read; LK008, a node whose clock is wrong; LK009 is
 * internal.
 */
export const sharedFunctions = `
-- A section of the log after a position; called alone, it reads a single snapshot.
CREATE OR REPLACE FUNCTION latchkey.page_1(
  in_position bigint, in_number bigint, in_limit integer
) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  head bigint;
  head_number bigint;
  upto bigint;
  many bigint;
  last_number bigint := in_number;
  last_position bigint;
  changes json;
  events json;
BEGIN
  SELECT l.position, l.number INTO head, head_number FROM latchkey.log l;
  SELECT count(*), max(e.position) INTO many, upto FROM (
    SELECT position FROM latchkey.event
    WHERE position > in_position ORDER BY position LIMIT in_limit
  ) e;
  IF many < in_limit THEN upto := head; END IF;
  -- Numbers go up with positions, so that the next few hold all that is looked for: to walk on to
  -- those after the page would read all that is left, once for each page.
  SELECT count(*), max(c.number), max(c.position), json_agg(c.what ORDER BY c.number)
  INTO many, last_number, last_position, changes
  FROM (
    (SELECT number, position, json_build_array(number, position, 'take', instance, kind, key,
       stream, id, expires) AS what
     FROM (SELECT * FROM latchkey.claim WHERE number > in_number ORDER BY number LIMIT in_limit) n
     WHERE position <= upto)
    UNION ALL
    (SELECT number, position, json_build_array(number, position, 'put', instance, stream, id,
       name)
     FROM (SELECT number, position, instance, stream, id, name FROM latchkey.blob
       WHERE number > in_number ORDER BY number LIMIT in_limit) n
     WHERE position <= upto)
    UNION ALL
    (SELECT number, position, CASE kind
       WHEN 'release' THEN json_build_array(number, position, kind, value)
       WHEN 'forget' THEN
         json_build_array(number, position, kind, instance, stream, id, value)
       ELSE json_build_array(number, position, kind, instance, stream, id, name) END
     FROM (SELECT * FROM latchkey.change WHERE number > in_number ORDER BY number LIMIT in_limit) n
     WHERE position <= upto)
    ORDER BY number LIMIT in_limit
  ) c;
  -- What comes after a change that is not here yet may need it.
  IF many = in_limit THEN upto := last_position;
  -- Numbers of claims that were released, or taken again, have no owner.
  ELSIF upto = head THEN last_number := head_number; END IF;
  SELECT json_agg(json_build_array(position, instance, stream, id, version, type, revision, data,
    private, time, editor_user, editor_client, owner, correlation, erase) ORDER BY position)
  INTO events
  FROM latchkey.event WHERE position > in_position AND position <= upto;
  RETURN json_build_object('head', head, 'headNumber', head_number, 'position', upto,
    'number', coalesce(last_number, in_number), 'events', events, 'changes', changes);
END $$;

-- Locks the log for an append, and rejects a node whose identity was taken over.
CREATE OR REPLACE FUNCTION latchkey.hold_1(in_part integer, in_run text)
RETURNS latchkey.log LANGUAGE plpgsql AS $$
DECLARE
  head latchkey.log;
  its_epoch integer;
BEGIN
  -- A confirmed append must be on disk, whatever the database's configuration.
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  SELECT * INTO STRICT head FROM latchkey.log FOR UPDATE;
  SELECT n.epoch INTO its_epoch FROM latchkey.node n
  WHERE part = in_part AND run = in_run FOR UPDATE;
  IF NOT FOUND THEN RAISE SQLSTATE 'LK001' USING MESSAGE = 'another process is this node'; END IF;
  IF head.moving IS NOT NULL THEN RAISE SQLSTATE 'LK006' USING MESSAGE = head.moving; END IF;
  IF its_epoch <> head.epoch OR head.timeline <> latchkey.timeline_2() THEN
    RAISE SQLSTATE 'LK005' USING MESSAGE = 'another server has taken over';
  END IF;
  RETURN head;
END $$;
${appendFunctions}
${dropFunctions}
${chainFunctions}

-- The number of a node: its previous one, otherwise a free one or one unused for long.
CREATE OR REPLACE FUNCTION latchkey.join_1(in_folder text, in_run text, in_number bigint)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  head latchkey.log;
  mine integer;
BEGIN
  SELECT * INTO STRICT head FROM latchkey.log FOR UPDATE;
  IF head.moving IS NOT NULL THEN RAISE SQLSTATE 'LK006' USING MESSAGE = head.moving; END IF;
  IF in_number > 0 AND in_number < head.trimmed THEN
    RAISE SQLSTATE 'LK004' USING MESSAGE = 'away for too long';
  END IF;
  SELECT part INTO mine FROM latchkey.node WHERE folder = in_folder;
  IF mine IS NULL THEN
    SELECT min(p) INTO mine FROM generate_series(0, 255) p
    WHERE p NOT IN (SELECT part FROM latchkey.node);
  END IF;
  IF mine IS NULL THEN
    SELECT part INTO mine FROM latchkey.node
    WHERE seen < clock_timestamp() - interval '1 day' ORDER BY seen LIMIT 1;
  END IF;
  IF mine IS NULL THEN RETURN NULL; END IF;
  INSERT INTO latchkey.node (part, folder, run, number) VALUES (mine, in_folder, in_run, in_number)
  ON CONFLICT (part) DO UPDATE SET folder = excluded.folder, run = excluded.run, batch = 0,
    answer = NULL, number = excluded.number, seen = clock_timestamp();
  RETURN json_build_object('part', mine, 'idTime', head.id_time);
END $$;
${epochFunctions}
${coordinationFunctions}
${readerFunctions}`
