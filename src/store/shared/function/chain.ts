/**
 * The checksum chain of the log. Each write adds a row: the head of the log, and a hash of the
 * previous row with a random value, so that two histories never have the same hash, whatever they
 * contain. A trigger adds the rows, so that nodes without support for the chain add them, too.
 */
export const chainAdditions = `
ALTER TABLE latchkey.log ADD COLUMN IF NOT EXISTS chain text NOT NULL DEFAULT '';
CREATE TABLE IF NOT EXISTS latchkey.chain (
  position bigint NOT NULL,
  number bigint NOT NULL,
  sum text COLLATE "C" NOT NULL,
  PRIMARY KEY (position, number)
);
`

/** Chain rows to keep beyond what all nodes have: a node may lose its last commits. */
const keptChainPositions = 100_000

export const chainFunctions = `
CREATE OR REPLACE FUNCTION latchkey.chain_1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- A log that is restored by hand has none of what it loses.
  IF NEW.position < OLD.position OR NEW.number < OLD.number THEN
    DELETE FROM latchkey.chain WHERE position > NEW.position OR number > NEW.number;
    RETURN NEW;
  END IF;
  NEW.chain := encode(sha256(convert_to(concat_ws(' ', OLD.chain, NEW.position, NEW.number,
    gen_random_uuid()), 'UTF8')), 'hex');
  INSERT INTO latchkey.chain (position, number, sum) VALUES (NEW.position, NEW.number, NEW.chain)
  ON CONFLICT (position, number) DO UPDATE SET sum = excluded.sum;
  RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER chain BEFORE UPDATE OF position, number ON latchkey.log FOR EACH ROW
WHEN (OLD.position IS DISTINCT FROM NEW.position OR OLD.number IS DISTINCT FROM NEW.number)
EXECUTE FUNCTION latchkey.chain_1();

-- Everything written before the chain existed is its first link.
INSERT INTO latchkey.chain (position, number, sum)
SELECT position, number, encode(sha256(convert_to(gen_random_uuid()::text, 'UTF8')), 'hex')
FROM latchkey.log WHERE NOT EXISTS (SELECT FROM latchkey.chain);

-- The link of a position: that of the write that reached it.
CREATE OR REPLACE FUNCTION latchkey.mark_1(in_position bigint, in_number bigint)
RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_build_object('position', c.position, 'number', c.number, 'sum', c.sum)
  FROM latchkey.chain c
  WHERE (c.position, c.number) >= (in_position, in_number) AND c.number >= in_number
  ORDER BY c.position, c.number LIMIT 1
$$;

-- Whether the log has the same history as a node; true for a node without a hash.
CREATE OR REPLACE FUNCTION latchkey.has_1(in_position bigint, in_number bigint, in_sum text)
RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT in_sum = '' OR EXISTS (
    SELECT FROM latchkey.chain c
    WHERE c.position = in_position AND c.number = in_number AND c.sum = in_sum
  )
$$;

-- Like append_3, for a node that sends its chain link.
CREATE OR REPLACE FUNCTION latchkey.append_4(
  in_part integer, in_run text, in_batch bigint, in_steps text,
  in_position bigint, in_number bigint, in_limit integer, in_now bigint, in_odd integer,
  in_mark_position bigint, in_mark_number bigint, in_mark text
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  answer json;
BEGIN
  IF NOT latchkey.has_1(in_mark_position, in_mark_number, in_mark) THEN
    RAISE SQLSTATE 'LK005' USING MESSAGE = 'the log has another history';
  END IF;
  answer := latchkey.append_3(in_part, in_run, in_batch, in_steps,
    in_position, in_number, in_limit, in_now, in_odd);
  RETURN json_build_object('outcomes', answer->'outcomes', 'page', answer->'page',
    'mark', latchkey.mark_1(
      (answer->'page'->>'position')::bigint, (answer->'page'->>'number')::bigint));
END $$;

-- Removes links that no node of the last week needs.
CREATE OR REPLACE FUNCTION latchkey.trim_chain_1(in_limit integer)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  upto bigint;
  deleted_rows integer;
BEGIN
  SELECT least(l.position - ${keptChainPositions}, (SELECT min(n.position) FROM latchkey.node n
    WHERE n.seen > clock_timestamp() - interval '7 days')) INTO upto FROM latchkey.log l;
  DELETE FROM latchkey.chain WHERE (position, number) IN (
    SELECT position, number FROM latchkey.chain WHERE position < upto
    ORDER BY position, number LIMIT in_limit
  );
  GET DIAGNOSTICS deleted_rows = ROW_COUNT;
  RETURN deleted_rows;
END $$;
`
