/** SQL functions that prune expired data, and purge removed instances. */
export const dropFunctions = `
-- Removes streams without new events; the newest event of the log stays.
CREATE OR REPLACE FUNCTION latchkey.drop_1(in_part integer, in_run text, in_streams json)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  head latchkey.log := latchkey.hold_1(in_part, in_run);
  one json;
  num bigint := head.number;
  deleted_rows integer;
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
    GET DIAGNOSTICS deleted_rows = ROW_COUNT;
    total := total + deleted_rows;
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
  deleted_rows integer;
BEGIN
  DELETE FROM latchkey.claim WHERE number IN (
    SELECT number FROM latchkey.claim WHERE expires <= in_before LIMIT in_limit
  );
  GET DIAGNOSTICS deleted_rows = ROW_COUNT;
  RETURN deleted_rows;
END $$;

-- Stores a node's position, and removes changes that all nodes of the last week have.
CREATE OR REPLACE FUNCTION latchkey.trim_1(
  in_part integer, in_run text, in_number bigint, in_limit integer
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  head latchkey.log := latchkey.hold_1(in_part, in_run);
  upto bigint;
  deleted_rows integer;
BEGIN
  UPDATE latchkey.node SET number = in_number, seen = clock_timestamp() WHERE part = in_part;
  SELECT min(number) INTO upto FROM latchkey.node
  WHERE seen > clock_timestamp() - interval '7 days';
  DELETE FROM latchkey.change WHERE number IN (
    SELECT number FROM latchkey.change WHERE number <= upto ORDER BY number LIMIT in_limit
  );
  GET DIAGNOSTICS deleted_rows = ROW_COUNT;
  IF deleted_rows > 0 THEN UPDATE latchkey.log SET trimmed = greatest(trimmed, upto); END IF;
  RETURN deleted_rows;
END $$;

-- Every node removes its own rows of a purged instance, so no change is recorded.
CREATE OR REPLACE FUNCTION latchkey.purge_1(
  in_part integer, in_run text, in_instance text, in_keep text, in_limit integer
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  head latchkey.log := latchkey.hold_1(in_part, in_run);
  deleted_rows integer;
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
  GET DIAGNOSTICS deleted_rows = ROW_COUNT;
  total := total + deleted_rows;
  DELETE FROM latchkey.claim WHERE number IN (
    SELECT number FROM latchkey.claim WHERE instance = in_instance LIMIT in_limit
  );
  GET DIAGNOSTICS deleted_rows = ROW_COUNT;
  RETURN total + deleted_rows;
END $$;`
