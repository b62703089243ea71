import { epochFunctions } from "./postgres-epoch.ts"
import { readerFunctions } from "./postgres-readers.ts"
import { standingFunctions } from "./postgres-standing.ts"

/**
 * What runs in the database, so that a batch of steps costs one way there and back, and the row of
 * the log is held no longer than the batch takes. The names carry the version of what they are
 * handed: nodes of two versions work side by side.
 *
 * What they refuse has codes of its own: LK001, another process has this node's place; LK002, a
 * batch of this node that is older than its last; LK003, a claim that somebody else holds; LK004, a
 * node that was away for so long that nobody can tell it any more what went meanwhile; LK005, a
 * node that has not looked yet whether it has more than was left when another server took over;
 * LK006, a log that is being moved, or was moved away; LK007, a log that may have events which a
 * node can't read; LK008, a node whose clock is off; LK009 never leaves the database.
 */
export const sharedFunctions = `
-- A part of the log after a place, of one moment: called alone, all of it has one snapshot.
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
  -- Numbers of claims that are gone, or were taken again, are nobody's.
  ELSIF upto = head THEN last_number := head_number; END IF;
  SELECT json_agg(json_build_array(position, instance, stream, id, version, type, revision, data,
    private, time, editor_user, editor_client, owner, correlation, erase) ORDER BY position)
  INTO events
  FROM latchkey.event WHERE position > in_position AND position <= upto;
  RETURN json_build_object('head', head, 'headNumber', head_number, 'position', upto,
    'number', coalesce(last_number, in_number), 'events', events, 'changes', changes);
END $$;

-- Holds the log for whoever appends, and refuses who has lost their place.
CREATE OR REPLACE FUNCTION latchkey.hold_1(in_part integer, in_run text)
RETURNS latchkey.log LANGUAGE plpgsql AS $$
DECLARE
  head latchkey.log;
  its_epoch integer;
BEGIN
  -- What is answered must be on disk, whatever the database was told.
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

-- Writes one step after a position and a number; answers the position and the number it ends at.
CREATE OR REPLACE FUNCTION latchkey.write_1(
  in_step json, INOUT at_position bigint, INOUT at_number bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  in_instance text := in_step->>'instance';
  claim json;
  event json;
  blob json;
  place bigint;
  old bigint;
  nth bigint;
BEGIN
  place := at_position + json_array_length(in_step->'events');
  FOR claim, nth IN
    SELECT c.value, c.ordinality FROM json_array_elements(in_step->'claims') WITH ORDINALITY c
  LOOP
    IF claim->>'release' IS NOT NULL THEN
      DELETE FROM latchkey.claim c
      WHERE c.instance = claim->>'instance' AND c.kind = claim->>'release'
        AND c.key = claim->>'key' AND c.stream = claim->>'stream' AND c.id = claim->>'id'
      RETURNING c.number INTO old;
      IF FOUND THEN
        at_number := at_number + 1;
        INSERT INTO latchkey.change (number, position, kind, value)
        VALUES (at_number, place, 'release', old);
      END IF;
    ELSE
      at_number := at_number + 1;
      INSERT INTO latchkey.claim AS c (instance, kind, key, stream, id, expires, number, position)
      VALUES (claim->>'instance', claim->>'take', claim->>'key', claim->>'stream', claim->>'id',
        (claim->>'expires')::bigint, at_number, place)
      ON CONFLICT ON CONSTRAINT claim_pkey DO UPDATE SET stream = excluded.stream,
        id = excluded.id, expires = excluded.expires, number = excluded.number,
        position = excluded.position
      WHERE (c.stream = excluded.stream AND c.id = excluded.id)
        OR c.expires <= (in_step->>'time')::bigint;
      IF NOT FOUND THEN RAISE SQLSTATE 'LK003' USING MESSAGE = nth - 1; END IF;
    END IF;
  END LOOP;
  INSERT INTO latchkey.event (position, instance, stream, id, version, type, revision, data,
    private, time, editor_user, editor_client, owner, correlation, erase)
  SELECT at_position + e.ordinality, e.value->>0, e.value->>1, e.value->>2, (e.value->>3)::integer,
    e.value->>4, (e.value->>5)::integer, e.value->>6, e.value->>7, (e.value->>8)::bigint,
    e.value->>9, e.value->>10, e.value->>11, e.value->>12, e.value->>13
  FROM json_array_elements(in_step->'events') WITH ORDINALITY e;
  FOR event IN
    SELECT e.value FROM json_array_elements(in_step->'events') e WHERE e.value->>13 IS NOT NULL
  LOOP
    UPDATE latchkey.event e SET private = NULL
    WHERE e.instance = event->>0 AND e.stream = event->>1 AND e.id = event->>2
      AND e.version < (event->>3)::integer AND e.private IS NOT NULL
      AND ((event->>13)::json->'types' IS NULL OR e.type IN
        (SELECT json_array_elements_text((event->>13)::json->'types')));
    IF (event->>13)::json->'types' IS NULL THEN
      DELETE FROM latchkey.blob b
      WHERE b.instance = event->>0 AND b.stream = event->>1 AND b.id = event->>2;
    END IF;
  END LOOP;
  FOR blob IN SELECT b.value FROM json_array_elements(in_step->'blobs') b LOOP
    at_number := at_number + 1;
    IF blob->>'drop' IS NOT NULL THEN
      DELETE FROM latchkey.blob b WHERE b.instance = in_instance AND b.id = blob->>'id'
        AND b.stream = blob->>'stream' AND b.name = blob->>'drop';
      INSERT INTO latchkey.change (number, position, kind, instance, stream, id, name)
      VALUES (at_number, place, 'drop', in_instance, blob->>'stream', blob->>'id', blob->>'drop');
    ELSE
      INSERT INTO latchkey.blob (instance, id, stream, name, bytes, number, position)
      VALUES (in_instance, blob->>'id', blob->>'stream', blob->>'put',
        decode(blob->>'bytes', 'base64'), at_number, place)
      ON CONFLICT ON CONSTRAINT blob_pkey DO UPDATE SET bytes = excluded.bytes,
        number = excluded.number, position = excluded.position;
    END IF;
  END LOOP;
  at_position := place;
END $$;

-- What a step expects and does not find; nothing where all is as expected.
CREATE OR REPLACE FUNCTION latchkey.conflict_1(in_step json) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_build_object('kind', 'conflict', 'stream', e.value->>'stream', 'id', e.value->>'id')
  FROM json_array_elements(in_step->'expect') e
  WHERE (e.value->>'version')::integer <> coalesce((
    SELECT max(v.version) FROM latchkey.event v
    WHERE v.instance = in_step->>'instance' AND v.id = e.value->>'id'
      AND v.stream = e.value->>'stream'
  ), 0)
  LIMIT 1
$$;

CREATE OR REPLACE FUNCTION latchkey.append_1(
  in_part integer, in_run text, in_batch bigint, in_steps json,
  in_position bigint, in_number bigint, in_limit integer
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  head latchkey.log := latchkey.hold_1(in_part, in_run);
  me latchkey.node;
  step json;
  outcome json;
  outcomes json[] := '{}';
  outcomes_json json;
  place bigint := head.position;
  num bigint := head.number;
  ids bigint := head.id_time;
  nth text;
BEGIN
  SELECT * INTO STRICT me FROM latchkey.node WHERE part = in_part;
  IF me.batch = in_batch THEN
    RETURN json_build_object('outcomes', me.answer,
      'page', latchkey.page_1(in_position, in_number, in_limit));
  END IF;
  IF me.batch > in_batch THEN RAISE SQLSTATE 'LK002' USING MESSAGE = 'an older batch'; END IF;
  FOR step IN SELECT s.value FROM json_array_elements(in_steps) s LOOP
    outcome := latchkey.conflict_1(step);
    IF outcome IS NULL THEN
      BEGIN
        SELECT w.at_position, w.at_number INTO STRICT place, num
        FROM latchkey.write_1(step, place, num) w;
        outcome := json_build_object('kind', 'appended', 'position', place);
        ids := greatest(ids, (step->>'idTime')::bigint);
      EXCEPTION WHEN SQLSTATE 'LK003' THEN
        GET STACKED DIAGNOSTICS nth = MESSAGE_TEXT;
        outcome := json_build_object('kind', 'taken', 'claim', nth::integer);
      END;
    END IF;
    outcomes := outcomes || outcome;
  END LOOP;
  IF place > head.position OR num > head.number THEN
    UPDATE latchkey.log SET position = place, number = num, id_time = ids;
    PERFORM pg_notify('latchkey', place::text);
  END IF;
  outcomes_json := array_to_json(outcomes);
  UPDATE latchkey.node SET batch = in_batch, answer = outcomes_json,
    seen = clock_timestamp() WHERE part = in_part;
  RETURN json_build_object('outcomes', outcomes_json,
    'page', latchkey.page_1(in_position, in_number, in_limit));
END $$;

-- The same for a node that says what its clock shows, which must be about right; who asks again
-- what came of a batch is told, whatever it shows now.
CREATE OR REPLACE FUNCTION latchkey.append_2(
  in_part integer, in_run text, in_batch bigint, in_steps json,
  in_position bigint, in_number bigint, in_limit integer, in_now bigint, in_odd integer
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  ahead bigint := in_now - floor(extract(epoch FROM statement_timestamp()) * 1000);
BEGIN
  IF abs(ahead) > in_odd AND NOT EXISTS (
    SELECT FROM latchkey.node WHERE part = in_part AND run = in_run AND batch = in_batch
  ) THEN RAISE SQLSTATE 'LK008' USING MESSAGE = ahead; END IF;
  RETURN latchkey.append_1(
    in_part, in_run, in_batch, in_steps, in_position, in_number, in_limit);
END $$;

-- Writes steps as one, where each is as it expects and claims only what is free; nothing where one
-- is not, or is of a kind that is rare: then each must be looked at by itself. What a step expects
-- is what there was before its own events, and after those of the steps before it.
CREATE OR REPLACE FUNCTION latchkey.write_all_1(
  in_steps jsonb, in_position bigint, in_number bigint
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  ends bigint[];
  claims integer;
  taken integer;
  earliest bigint;
  ids bigint;
BEGIN
  IF jsonb_path_exists(in_steps, '$[*].claims[*].release')
    OR jsonb_path_exists(in_steps, '$[*].blobs[*]')
    OR jsonb_path_exists(in_steps, '$[*].events[*][13] ? (@ != null)') THEN RETURN NULL; END IF;
  SELECT array_agg(n.ends ORDER BY n.nth), sum(n.claims), min(n.time), max(n.ids)
  INTO ends, claims, earliest, ids
  FROM (
    SELECT s.ordinality AS nth,
      in_position + sum(jsonb_array_length(s.value->'events')) OVER (ORDER BY s.ordinality) AS ends,
      jsonb_array_length(s.value->'claims') AS claims,
      (s.value->>'time')::bigint AS time, (s.value->>'idTime')::bigint AS ids
    FROM jsonb_array_elements(in_steps) WITH ORDINALITY s
  ) n;
  INSERT INTO latchkey.event (position, instance, stream, id, version, type, revision, data,
    private, time, editor_user, editor_client, owner, correlation, erase)
  SELECT in_position + row_number() OVER (ORDER BY s.ordinality, e.ordinality),
    e.value->>0, e.value->>1, e.value->>2, (e.value->>3)::integer, e.value->>4,
    (e.value->>5)::integer, e.value->>6, e.value->>7, (e.value->>8)::bigint, e.value->>9,
    e.value->>10, e.value->>11, e.value->>12, NULL
  FROM jsonb_array_elements(in_steps) WITH ORDINALITY s,
    jsonb_array_elements(s.value->'events') WITH ORDINALITY e;
  IF EXISTS (
    SELECT FROM jsonb_array_elements(in_steps) WITH ORDINALITY s,
      jsonb_array_elements(s.value->'expect') e
    WHERE (e.value->>'version')::integer <> coalesce((
      SELECT max(v.version) FROM latchkey.event v
      WHERE v.instance = s.value->>'instance' AND v.id = e.value->>'id'
        AND v.stream = e.value->>'stream'
        AND v.position <= coalesce(ends[s.ordinality - 1], in_position)
    ), 0)
  ) THEN RAISE SQLSTATE 'LK009' USING MESSAGE = 'a step expects something else'; END IF;
  INSERT INTO latchkey.claim AS c (instance, kind, key, stream, id, expires, number, position)
  SELECT n.value->>'instance', n.value->>'take', n.value->>'key', n.value->>'stream',
    n.value->>'id', (n.value->>'expires')::bigint,
    in_number + row_number() OVER (ORDER BY s.ordinality, n.ordinality), ends[s.ordinality]
  FROM jsonb_array_elements(in_steps) WITH ORDINALITY s,
    jsonb_array_elements(s.value->'claims') WITH ORDINALITY n
  ON CONFLICT ON CONSTRAINT claim_pkey DO UPDATE SET stream = excluded.stream,
    id = excluded.id, expires = excluded.expires, number = excluded.number,
    position = excluded.position
  WHERE (c.stream = excluded.stream AND c.id = excluded.id) OR c.expires <= earliest;
  GET DIAGNOSTICS taken = ROW_COUNT;
  IF taken < claims THEN RAISE SQLSTATE 'LK009' USING MESSAGE = 'a claim is held'; END IF;
  UPDATE latchkey.log SET position = ends[array_length(ends, 1)], number = in_number + claims,
    id_time = greatest(id_time, ids)
  WHERE position < ends[array_length(ends, 1)] OR claims > 0;
  IF FOUND THEN PERFORM pg_notify('latchkey', ends[array_length(ends, 1)]::text); END IF;
  RETURN (
    SELECT json_agg(json_build_object('kind', 'appended', 'position', e.place) ORDER BY e.nth)
    FROM unnest(ends) WITH ORDINALITY e (place, nth)
  );
-- A key that two of them claim, a stream that two of them write: one of them comes first.
EXCEPTION WHEN SQLSTATE 'LK009' OR unique_violation OR cardinality_violation THEN RETURN NULL;
END $$;

-- What append_2 does, all steps at once where that can be.
CREATE OR REPLACE FUNCTION latchkey.append_3(
  in_part integer, in_run text, in_batch bigint, in_steps text,
  in_position bigint, in_number bigint, in_limit integer, in_now bigint, in_odd integer
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  head latchkey.log;
  ahead bigint := in_now - floor(extract(epoch FROM statement_timestamp()) * 1000);
  outcomes json;
BEGIN
  IF abs(ahead) <= in_odd THEN
    head := latchkey.hold_1(in_part, in_run);
    IF EXISTS (SELECT FROM latchkey.node WHERE part = in_part AND batch < in_batch) THEN
      outcomes := latchkey.write_all_1(in_steps::jsonb, head.position, head.number);
    END IF;
  END IF;
  IF outcomes IS NULL THEN
    RETURN latchkey.append_2(in_part, in_run, in_batch, in_steps::json,
      in_position, in_number, in_limit, in_now, in_odd);
  END IF;
  UPDATE latchkey.node SET batch = in_batch, answer = outcomes,
    seen = clock_timestamp() WHERE part = in_part;
  RETURN json_build_object('outcomes', outcomes,
    'page', latchkey.page_1(in_position, in_number, in_limit));
END $$;

-- Drops streams that nobody has added to since; the newest event stays.
CREATE OR REPLACE FUNCTION latchkey.drop_1(in_part integer, in_run text, in_streams json)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  head latchkey.log := latchkey.hold_1(in_part, in_run);
  one json;
  num bigint := head.number;
  gone integer;
  total integer := 0;
BEGIN
  FOR one IN SELECT s.value FROM json_array_elements(in_streams) s LOOP
    CONTINUE WHEN (
      SELECT e.version IS DISTINCT FROM (one->>'version')::integer OR e.position = head.position
      FROM latchkey.event e WHERE e.instance = one->>'instance' AND e.id = one->>'id'
        AND e.stream = one->>'stream' ORDER BY e.version DESC LIMIT 1
    ) IS NOT FALSE;
    DELETE FROM latchkey.event e WHERE e.instance = one->>'instance' AND e.id = one->>'id'
      AND e.stream = one->>'stream';
    GET DIAGNOSTICS gone = ROW_COUNT;
    total := total + gone;
    num := num + 1;
    INSERT INTO latchkey.change (number, position, kind, instance, stream, id, value)
    VALUES (num, head.position, 'forget', one->>'instance', one->>'stream', one->>'id',
      (one->>'expires')::bigint);
  END LOOP;
  IF num > head.number THEN
    UPDATE latchkey.log SET number = num;
    PERFORM pg_notify('latchkey', head.position::text);
  END IF;
  RETURN total;
END $$;

CREATE OR REPLACE FUNCTION latchkey.drop_claims_1(
  in_part integer, in_run text, in_before bigint, in_limit integer
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  head latchkey.log := latchkey.hold_1(in_part, in_run);
  gone integer;
BEGIN
  DELETE FROM latchkey.claim WHERE number IN (
    SELECT number FROM latchkey.claim WHERE expires <= in_before LIMIT in_limit
  );
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN gone;
END $$;

-- Notes how far a node has come, and drops what all nodes of the last week have heard of.
CREATE OR REPLACE FUNCTION latchkey.trim_1(
  in_part integer, in_run text, in_number bigint, in_limit integer
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  head latchkey.log := latchkey.hold_1(in_part, in_run);
  upto bigint;
  gone integer;
BEGIN
  UPDATE latchkey.node SET number = in_number, seen = clock_timestamp() WHERE part = in_part;
  SELECT min(number) INTO upto FROM latchkey.node
  WHERE seen > clock_timestamp() - interval '7 days';
  DELETE FROM latchkey.change WHERE number IN (
    SELECT number FROM latchkey.change WHERE number <= upto ORDER BY number LIMIT in_limit
  );
  GET DIAGNOSTICS gone = ROW_COUNT;
  IF gone > 0 THEN UPDATE latchkey.log SET trimmed = greatest(trimmed, upto); END IF;
  RETURN gone;
END $$;

-- Every node takes its own rows of a removed instance away by itself, so nobody need be told.
CREATE OR REPLACE FUNCTION latchkey.purge_1(
  in_part integer, in_run text, in_instance text, in_keep text, in_limit integer
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  head latchkey.log := latchkey.hold_1(in_part, in_run);
  gone integer;
  total integer;
BEGIN
  DELETE FROM latchkey.event WHERE position IN (
    SELECT position FROM latchkey.event WHERE instance = in_instance AND stream <> in_keep
      AND position < head.position LIMIT in_limit
  );
  GET DIAGNOSTICS total = ROW_COUNT;
  DELETE FROM latchkey.blob WHERE number IN (
    SELECT number FROM latchkey.blob WHERE instance = in_instance AND stream <> in_keep
    LIMIT in_limit
  );
  GET DIAGNOSTICS gone = ROW_COUNT;
  total := total + gone;
  DELETE FROM latchkey.claim WHERE number IN (
    SELECT number FROM latchkey.claim WHERE instance = in_instance LIMIT in_limit
  );
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN total + gone;
END $$;

-- The place of a node: its own from before, else one that nobody has, or that was left for long.
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
${standingFunctions}
${readerFunctions}`
