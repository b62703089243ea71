import type { PostgresClient } from "../shared/postgres-client.ts"
import { addToSum, emptySum, type Row, type RowSum } from "./log-rows.ts"

const maxPageRows = 500

const formatRow = (row: Row): string => JSON.stringify(row)

/** Inserts events into the log unchanged; all or none. */
export const insertEvents = (client: PostgresClient, rows: readonly Row[]) =>
  client.query(
    `INSERT INTO latchkey.event (position, instance, stream, id, version, type, revision, data,
       private, time, editor_user, editor_client, owner, correlation, erase)
     SELECT (e.value->>0)::bigint, e.value->>1, e.value->>2, e.value->>3, (e.value->>4)::integer,
       e.value->>5, (e.value->>6)::integer, e.value->>7, e.value->>8, (e.value->>9)::bigint,
       e.value->>10, e.value->>11, e.value->>12, e.value->>13, e.value->>14
     FROM json_array_elements(($1::text)::json) e`,
    [JSON.stringify(rows)],
  )

/** Inserts claims; the first one gets the number after `number`. */
export const insertClaims = (
  client: PostgresClient,
  rows: readonly Row[],
  at: { readonly number: number; readonly position: number },
) =>
  client.query(
    `INSERT INTO latchkey.claim (instance, kind, key, stream, id, expires, number, position)
     SELECT e.value->>0, e.value->>1, e.value->>2, e.value->>3, e.value->>4,
       (e.value->>5)::bigint, $2::bigint + e.ordinality, $3::bigint
     FROM json_array_elements(($1::text)::json) WITH ORDINALITY e`,
    [JSON.stringify(rows), at.number, at.position],
  )

export const insertBlob = (
  client: PostgresClient,
  row: Row,
  at: { readonly number: number; readonly position: number },
) =>
  client.query(
    `INSERT INTO latchkey.blob (instance, id, stream, name, bytes, number, position)
     SELECT e->>0, e->>1, e->>2, e->>3, decode(e->>4, 'base64'), $2::bigint, $3::bigint
     FROM (SELECT ($1::text)::json AS e) r`,
    [formatRow(row), at.number, at.position],
  )

/** Sums of the database's rows, computed like those of a file. */
export async function sumEvents(client: PostgresClient): Promise<RowSum> {
  const sum = emptySum()
  for (let position = 0; ; ) {
    const rows = await client.query<{ row: Row }>(
      `SELECT json_build_array(position, instance, stream, id, version, type, revision, data,
         private, time, editor_user, editor_client, owner, correlation, erase) AS row
       FROM latchkey.event WHERE position > $1::bigint ORDER BY position LIMIT ${maxPageRows}`,
      [position],
    )
    const last = rows.at(-1)
    if (!last) return sum
    addToSum(
      sum,
      rows.map(({ row }) => row),
    )
    position = Number(last.row[0])
  }
}

export async function sumClaims(client: PostgresClient, onlyPermanent = false): Promise<RowSum> {
  const sum = emptySum()
  for (let number = 0; ; ) {
    const rows = await client.query<{ row: Row; number: number }>(
      `SELECT json_build_array(instance, kind, key, stream, id, expires) AS row,
         number::float8 AS number FROM latchkey.claim
       WHERE number > $1::bigint ${onlyPermanent ? "AND expires IS NULL" : ""}
       ORDER BY number LIMIT ${maxPageRows}`,
      [number],
    )
    const last = rows.at(-1)
    if (!last) return sum
    addToSum(
      sum,
      rows.map(({ row }) => row),
    )
    number = last.number
  }
}

export async function sumBlobs(client: PostgresClient): Promise<RowSum> {
  const sum = emptySum()
  for (let number = 0; ; ) {
    const [found] = await client.query<{ row: Row; number: number }>(
      `SELECT json_build_array(instance, id, stream, name,
         replace(encode(bytes, 'base64'), chr(10), '')) AS row, number::float8 AS number
       FROM latchkey.blob WHERE number > $1::bigint ORDER BY number LIMIT 1`,
      [number],
    )
    if (!found) return sum
    addToSum(sum, [found.row])
    number = found.number
  }
}
