// A batch that is written at once has the same result as its transactions one by one.
import type { SQL } from "bun"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { systemClock } from "../../src/kernel/clock.ts"
import type { Append, ClaimRequest, NewEvent } from "../../src/store/log/log.ts"
import { openPostgresLog } from "../../src/store/shared/postgres-log.ts"
import type { LogPosition } from "../../src/store/shared/shared-log.ts"
import { encodeSteps, type WirePage } from "../../src/store/shared/wire.ts"
import { type Postgres, startPostgres } from "../support/postgres.ts"
import { needs } from "../support/prerequisite.ts"
import { type SeededRandom, seededRandom } from "../support/seeded-random.ts"

const ids = ["a", "b", "c", "d", "e", "f"]
const runId = "run"
const startTime = 1_000_000

describe.runIf(needs("postgres"))("a batch in PostgreSQL", () => {
  let postgres: Postgres
  let sides: readonly LogUnderTest[]
  beforeAll(async () => {
    postgres = startPostgres()
    sides = await Promise.all(
      ["append_2", "append_3"].map((name) => openLogUnderTest(postgres, name)),
    )
  })
  afterAll(async () => {
    await Promise.all(sides.map(({ sql }) => sql.close()))
    postgres.remove()
  })

  test.each([1, 2, 3, 4])("equals its transactions one by one (%i)", async (seed) => {
    await Promise.all(sides.map(({ empty }) => empty()))
    const { next } = seededRandom(seed)
    const kinds = new Map<string, number>()
    const versions = new Map<string, number>()
    for (let batch = 1; batch <= 60; batch++) {
      const steps = stepsOf({ random: seededRandom(next(1_000_000)), versions, batch })
      const [slow, quick] = await Promise.all(sides.map((side) => side.append(batch, steps)))
      expect(quick).toEqual(slow)
      for (const [index, { kind }] of (slow?.outcomes ?? []).entries()) {
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
        if (kind !== "appended") continue
        for (const event of steps[index]?.events ?? []) versions.set(event.id, event.version)
      }
      // A repeated batch happens once.
      if (batch % 20 === 0) {
        const again = await Promise.all(sides.map((side) => side.append(batch, steps)))
        expect(again).toEqual([slow, slow])
      }
    }
    const [slow, quick] = await Promise.all(sides.map(({ all }) => all()))
    expect(quick).toEqual(slow)
    // Each occurred often enough to be meaningful.
    for (const kind of ["appended", "conflict", "taken"]) {
      expect(kinds.get(kind) ?? 0, kind).toBeGreaterThan(10)
    }
  })

  test("of independent transactions is not checked one by one", async () => {
    const { sql, empty } = sides[1] as LogUnderTest
    await empty()
    const written = async (steps: readonly Append[]) => {
      const text = encodeSteps(steps)
      const call = "SELECT latchkey.write_all_1(($1::text)::jsonb, 0, 0) AS said"
      const [row] = await sql.unsafe(call, [text])
      return row.said
    }
    const [first, ...others] = plainSteps()
    const twice = first ? [first, first, ...others] : []
    expect(await written(twice)).toBe(null)
    expect(await sql.unsafe("SELECT 1 FROM latchkey.event")).toHaveLength(0)
    expect(await written(plainSteps())).toEqual(
      ids.map((_, at) => ({ kind: "appended", position: at + 1 })),
    )
  })

  test("is the same in small pages as in one", async () => {
    const { empty, append, page } = sides[1] as LogUnderTest
    await empty()
    const { next } = seededRandom(5)
    const versions = new Map<string, number>()
    for (let batch = 1; batch <= 60; batch++) {
      const steps = stepsOf({ random: seededRandom(next(1_000_000)), versions, batch })
      for (const [index, { kind }] of (await append(batch, steps)).outcomes.entries()) {
        if (kind !== "appended") continue
        for (const { id, version } of steps[index]?.events ?? []) versions.set(id, version)
      }
    }
    const whole = await page({ position: 0, number: 0 }, 2000)
    expect(whole.changes?.length).toBeGreaterThan(50)
    const small = await readInPages(page, 7)
    expect(small.events).toEqual(whole.events)
    expect(small.changes).toEqual(whole.changes)
  })

  test("is not read beyond the requested page", async () => {
    const { sql, empty } = sides[1] as LogUnderTest
    await empty()
    const many = 5000
    await sql.unsafe(`
      INSERT INTO latchkey.event SELECT n, 'i1', 'account', n, 1, 'account.opened', 1, '{}', NULL,
        0, '', '', '', '', NULL FROM generate_series(1, ${many}) n;
      INSERT INTO latchkey.claim SELECT 'i1', 'name', n, 'account', n, NULL, n, n
        FROM generate_series(1, ${many}, 2) n;
      UPDATE latchkey.log SET position = ${many}, number = ${many};
      ANALYZE latchkey.claim`)
    const rowsRead = `SELECT (seq_tup_read + idx_tup_fetch)::integer AS rows
      FROM pg_stat_xact_user_tables WHERE relid = 'latchkey.claim'::regclass`
    const read = await sql.begin(async (tx) => {
      const [before] = await tx.unsafe(rowsRead)
      await tx.unsafe("SELECT latchkey.page_1(0, 0, 10)")
      const [after] = await tx.unsafe(rowsRead)
      return after.rows - before.rows
    })
    expect(read).toBe(10)
  })
})

/** Reads everything in pages of the given size. */
async function readInPages(page: LogUnderTest["page"], limit: number) {
  const events: unknown[] = []
  const changes: unknown[] = []
  for (let after = { position: 0, number: 0 }; ; ) {
    const found = await page(after, limit)
    events.push(...(found.events ?? []))
    changes.push(...(found.changes ?? []))
    after = found
    if (found.position === found.head && found.number === found.headNumber) break
  }
  return { events, changes }
}

/** Concurrent transactions of different users. */
const plainSteps = (): readonly Append[] =>
  ids.map((id) => ({
    instance: "i1",
    time: startTime,
    expect: [{ stream: "account", id, version: 0 }],
    claims: [{ stream: "account", id, key: id, take: "name", taken: { id: "", message: "" } }],
    events: [eventOf(id, 1, false)],
  }))

type BatchResult = {
  readonly outcomes: readonly { readonly kind: string }[]
  readonly page: unknown
}

type LogUnderTest = {
  readonly sql: SQL
  readonly empty: () => Promise<void>
  readonly append: (batch: number, steps: readonly Append[]) => Promise<BatchResult>
  readonly page: (
    after: Pick<LogPosition, "position" | "number">,
    limit: number,
  ) => Promise<WirePage>
  /** The complete content of the database. */
  readonly all: () => Promise<unknown>
}

async function openLogUnderTest(postgres: Postgres, name: string): Promise<LogUnderTest> {
  const url = await postgres.database()
  const place = { position: 0, number: 0, epoch: 0 }
  const log = await openPostgresLog({
    url,
    folder: "folder",
    follows: undefined,
    place,
    reads: {},
    fingerprint: "key",
    fresh: () => runId,
    clock: systemClock,
  })
  await log.close()
  const sql = postgres.sql(url)
  return {
    sql,
    empty: async () => {
      await sql.unsafe(`TRUNCATE latchkey.event, latchkey.claim, latchkey.blob, latchkey.change;
        UPDATE latchkey.log SET position = 0, number = 0, id_time = 0;
        UPDATE latchkey.node SET batch = 0, answer = NULL`)
    },
    append: async (batch, steps) => {
      const text = name === "append_2" ? "($3::text)::json" : "$3::text"
      const [row] = await sql.unsafe(
        `SELECT latchkey.${name}(
           0, $1, $2::bigint, ${text}, 0, 0, 2000, $4::bigint, 60000) AS said`,
        [runId, batch, encodeSteps(steps), Date.now()],
      )
      return row.said
    },
    page: async ({ position, number }, limit) => {
      const [row] = await sql.unsafe(
        "SELECT latchkey.page_1($1::bigint, $2::bigint, $3::integer) AS page",
        [position, number, limit],
      )
      return row.page
    },
    all: async () => ({
      log: await sql.unsafe("SELECT position, number, id_time FROM latchkey.log"),
      events: await sql.unsafe("SELECT * FROM latchkey.event ORDER BY position"),
      claims: await sql.unsafe("SELECT * FROM latchkey.claim ORDER BY number"),
      blobs: await sql.unsafe("SELECT * FROM latchkey.blob ORDER BY number"),
      changes: await sql.unsafe("SELECT * FROM latchkey.change ORDER BY number"),
    }),
  }
}

type StepInput = {
  readonly random: SeededRandom
  /** The version of each stream. */
  readonly versions: ReadonlyMap<string, number>
  readonly batch: number
}

/** Mostly common transactions, in some batches rare ones. */
function stepsOf(input: StepInput): readonly Append[] {
  const { random } = input
  const isRare = random.next(4) === 0
  return Array.from({ length: 1 + random.next(6) }, () => stepOf(input, isRare))
}

function stepOf({ random, versions, batch }: StepInput, isRare: boolean): Append {
  const { next, pick } = random
  const id = pick(ids)
  const at = versions.get(id) ?? 0
  const version = next(8) === 0 ? next(5) : at
  const time = startTime + batch * 10 + next(3)
  const events = Array.from({ length: next(4) }, (_, nth) =>
    eventOf(id, version + nth + 1, isRare && next(4) === 0),
  )
  const other = pick(ids)
  const expect = [
    { stream: "account", id, version },
    ...(next(2) === 0 ? [{ stream: "account", id: other, version: versions.get(other) ?? 0 }] : []),
  ]
  const claims = Array.from({ length: next(3) }, (): ClaimRequest => {
    const held = { stream: "account", id, key: `${next(2) === 0 ? id : ""}${next(9)}` }
    if (isRare && next(2) === 0) return { ...held, release: "name" }
    const everywhere = next(4) === 0 ? { everywhere: true as const } : {}
    const expires = next(3) === 0 ? { expires: time + next(40) } : {}
    return { ...held, take: "name", taken: { id: "", message: "" }, ...everywhere, ...expires }
  })
  const blobs =
    isRare && next(3) === 0
      ? [{ stream: "account", id, ...pick([{ put: "p", bytes: bytesOf(at) }, { drop: "p" }]) }]
      : []
  return { instance: "i1", time, idTime: time + next(9), expect, events, claims, blobs }
}

const bytesOf = (one: number) => new Uint8Array([one, 0, 255])

const eventOf = (id: string, version: number, isErasing: boolean): NewEvent => ({
  instance: "i1",
  stream: "account",
  id,
  version,
  type: "account.renamed",
  revision: 1,
  data: { name: `a\0"\\ü${version}` },
  private: version % 2 === 0 ? { secret: "s\\0" } : null,
  time: startTime,
  editor: { user: "u\0", client: "" },
  owner: "o",
  correlation: "c",
  erase: isErasing ? {} : null,
})
