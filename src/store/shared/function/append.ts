/**
 * SQL functions that append transactions: a batch in one go if possible, otherwise one by one with
 * a result for each. They lock the log first, with `hold_1`.
 */
export const appendFunctions = `
-- Writes one transaction after a position and number; returns its last position and number.
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

-- The first expected version that differs; null if all match.
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

-- The same for a node that sends its time, which must be about right; a repeated batch returns its
-- outcome regardless of the time.
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

-- Writes several transactions at once if all expected versions match and all claims are free;
-- returns null otherwise, and for rare kinds of changes: each must then be checked alone. A
-- transaction expects the state after the previous ones and before its own events.
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

-- Like append_2, with all transactions at once if possible.
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
END $$;`
