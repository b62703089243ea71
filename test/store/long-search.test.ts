// Every strategy of a search through a long table, compared with a filter in memory.
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest"
import type { Scope } from "../../src/kernel/context.ts"
import {
  aggregate,
  type Event,
  type Filter,
  fold,
  foldName,
  integer,
  type Searchable,
  search,
  statement,
  type TextMethod,
  table,
  text,
  view,
} from "../../src/store/index.ts"
import { foldedPrefix } from "../../src/store/search/prefix.ts"
import { type SeededRandom, seededRandom } from "../support/seeded-random.ts"
import { openTestEnvironment, type TestEnvironment } from "../support/test-environment.ts"

type Row = {
  readonly id: string
  readonly name: string
  readonly mail: string
  readonly nick: string
  readonly state: string
  readonly org: string
  readonly rank: number
}
type Folded = Row & Readonly<Record<"name_folded" | "mail_folded" | "nick_folded", string>>
type ThingEvent = Event<"thing.set", Row> | Event<"thing.gone", Record<never, never>>

const thing = aggregate<ThingEvent, null>({
  stream: "thing",
  initial: null,
  evolve: { "thing.set": () => null, "thing.gone": () => null },
})
const setRow = statement(
  `INSERT INTO things (instance, id, name, name_folded, mail, mail_folded, nick,
     nick_folded, state, org, rank)
   VALUES ($instance, $id, $name, $nameFolded, $mail, $mailFolded, $nick,
     $nickFolded, $state, $org, $rank)
   ON CONFLICT DO UPDATE SET name = excluded.name, name_folded = excluded.name_folded,
     mail = excluded.mail, mail_folded = excluded.mail_folded, nick = excluded.nick,
     nick_folded = excluded.nick_folded, state = excluded.state, org = excluded.org,
     rank = excluded.rank`,
)
const removeRow = statement("DELETE FROM things WHERE instance = $instance AND id = $id")
const texts = ["name", "name_folded", "mail", "mail_folded", "nick", "nick_folded"] as const
const thingTable = table(
  "things",
  {
    id: text(),
    name: text(),
    name_folded: text(),
    mail: text(),
    mail_folded: text(),
    nick: text(),
    nick_folded: text(),
    state: text(),
    org: text(),
    rank: integer(),
  },
  {
    key: ["id"],
    indexes: {
      rank: ["rank", "id", "org", "state", "name", "mail", "nick_folded", "nick"],
      name: ["name_folded", "name", "mail_folded"],
      mail: ["mail_folded", "mail"],
      state: ["state", "rank"],
      org: ["org", "rank"],
      nick: ["nick_folded", "nick", "rank"],
    },
    dominant: { state: "active", nick: "" },
    texts,
  },
)
const things = view<ThingEvent>({
  name: "thing",
  tables: [thingTable],
  on: {
    "thing.set": (db, { data }) => {
      const [nameFolded, mailFolded] = [foldName(data.name), fold(data.mail)]
      db.run(setRow, { ...data, nameFolded, mailFolded, nickFolded: fold(data.nick) })
    },
    "thing.gone": (db) => db.run(removeRow),
  },
})
const columns = [...texts, "state", "org", "rank"] as const
const searchable: Searchable = {
  table: "things",
  key: "id",
  sort: "rank",
  columns,
  names: ["name"],
  owner: { org: "org", self: "id" },
}

/** Characters with special case folding, SQL and pattern characters, and the ends of planes. */
const letters = "a,A,an,Ann,b,e,I,ß,É,e\u0301,ﬁ,ΑΣ,Σ,σ,İ,i,ı,한,1,12,ǅ,Ⅷ,ａ,\u0307"
const signs = ["%", "_", "*", "[", "]", "?", "\\", "'", '"', ";", "--", " ", "@", ".", "\u{1F600}"]
const ends = ["\uFFFD", "\uE000", "\uD7FF", "\u{10FFFF}", "\t", "\u0001"]
const syllables = [...letters.split(","), ...signs, ...ends]
const randomWord = ({ next, pick }: SeededRandom) =>
  Array.from({ length: next(4) }, () => pick(syllables)).join("")

const methods: readonly TextMethod[] = ["equals", "starts_with", "contains", "ends_with"]
const states = ["active", "active", "active", "active", "locked", ""]
const orgs = ["a", "b", "c"]

function filterOf(random: SeededRandom, depth: number): Filter {
  const { next, pick } = random
  const inner = () => Array.from({ length: next(4) }, () => filterOf(random, depth + 1))
  switch (next(depth > 2 ? 5 : 8)) {
    case 0:
      return { equals: "state", value: pick(states) }
    case 1:
      return { oneOf: pick(["state", "org"]), values: [pick(states), pick(orgs), pick(orgs)] }
    case 2:
      return { compare: "rank", by: pick(["<", "<=", ">", ">="]), value: next(24) / 2 }
    case 3: {
      const many = Array.from({ length: 60 }, (_, count) => `${count}`)
      if (next(3) === 0)
        return { oneOf: "name_folded", values: [...many, ...syllables.map(foldName)] }
      return { oneOf: "id", values: [`${next(80)}`, `${next(80)}`, "none"] }
    }
    case 4:
      return { equals: "rank", value: next(12) }
    case 5:
      return { any: inner() }
    case 6:
      return { not: filterOf(random, depth + 1) }
    default:
      return { all: inner() }
  }
}

const textOf = (random: SeededRandom): Filter => {
  const text = random.pick([...texts, "state"])
  const value = valueFrom(random)
  const method = random.pick(methods)
  return { text, method, value }
}

/** A word or a part of a stored value: few words of more than two characters occur in any. */
function valueFrom(random: SeededRandom): string {
  const { next, pick } = random
  if (rows.size === 0 || next(2) === 0) return randomWord(random)
  const { name, mail } = pick([...rows.values()])
  const characters = [...pick([name, mail])]
  const from = next(2) && next(characters.length + 1)
  return characters.slice(from, from + 1 + next(8)).join("")
}

/** A user search: the same text in any of the names. */
function anyNameFilter(random: SeededRandom): Filter {
  const value = valueFrom(random)
  const inside = (text: string): Filter => ({ text, method: "contains", value })
  const others: readonly Filter[] = [{ oneOf: "org", values: [random.pick(orgs)] }]
  return {
    any: [inside("mail_folded"), { any: [inside("name_folded"), ...others.slice(random.next(2))] }],
  }
}

const someFilter = (random: SeededRandom): Filter =>
  random.pick([textOf, anyNameFilter, () => filterOf(random, 0), textOf])(random)

function matches(row: Folded, filter: Filter): boolean {
  if ("all" in filter) return filter.all.every((each) => matches(row, each))
  if ("any" in filter) return filter.any.some((each) => matches(row, each))
  if ("not" in filter) return !matches(row, filter.not)
  const of = (name: string) => new Map<string, unknown>(Object.entries(row)).get(name)
  if ("equals" in filter) return of(filter.equals) === filter.value
  if ("oneOf" in filter) return filter.values.some((value) => of(filter.oneOf) === value)
  if ("compare" in filter) {
    const value = Number(of(filter.compare))
    if (filter.by === "<") return value < filter.value
    if (filter.by === "<=") return value <= filter.value
    return filter.by === ">" ? value > filter.value : value >= filter.value
  }
  if ("in" in filter) throw new Error("nothing is looked for in another table")
  const text = `${of(filter.text)}`
  const foldedBy = filter.text === "name_folded" ? foldName : fold
  const value = filter.text.endsWith("_folded") ? foldedBy(filter.value) : filter.value
  if (filter.method === "equals") return text === value
  if (filter.method === "starts_with") return text.startsWith(value)
  return filter.method === "contains" ? text.includes(value) : text.endsWith(value)
}

const compareBytes = (one: string, other: string) =>
  Buffer.compare(Buffer.from(one), Buffer.from(other))

/** By the column, its spelling, where most are equal the rank, then the ID. */
function inOrder(rows: readonly Folded[], sort: string, asc: boolean): readonly Folded[] {
  const of = (row: Folded, name: string) => new Map<string, unknown>(Object.entries(row)).get(name)
  const isAlike = sort === "state" || sort === "nick_folded"
  const by = [sort, sort.replace(/_folded$/, ""), ...(isAlike ? ["rank"] : []), "id"]
  const compare = (one: Folded, other: Folded) => {
    for (const name of by) {
      const [a, b] = [of(one, name), of(other, name)]
      const found = typeof a === "number" ? a - Number(b) : compareBytes(`${a}`, `${b}`)
      if (found !== 0) return asc ? found : -found
    }
    return 0
  }
  return rows.toSorted(compare)
}

const modules = { aggregates: [thing], views: [things] }
let world: TestEnvironment
const rows = new Map<string, Folded>()
beforeAll(() => {
  world = openTestEnvironment(modules)
})
beforeEach(async () => {
  rows.clear()
  const page = { offset: 0, limit: 100_000, asc: true }
  const { rows: left } = await search<Row>(world.cx(), searchable, { page, filters: [] })
  await world.store.transact(world.cx(), (tx) => {
    for (const { id } of left) tx.append(thing, id, [{ type: "thing.gone", data: {} }])
  })
})
afterAll(() => world.close())

const fullScope: Scope = { all: true, orgs: [], projects: [], grants: [] }

async function writeRows(instance: string, random: SeededRandom, times: number): Promise<void> {
  const { next } = random
  await world.store.transact(world.cx({ instance }), (tx) => {
    for (let time = 0; time < times; time++) {
      const id = `${next(80)}`
      if (next(4) === 0) {
        tx.append(thing, id, [{ type: "thing.gone", data: {} }])
        if (instance === "i1") rows.delete(id)
        continue
      }
      const row = rowOf(random, id)
      tx.append(thing, id, [{ type: "thing.set", data: row }])
      if (instance === "i1") rememberRow(row)
    }
  })
}

function rowOf(random: SeededRandom, id: string): Row {
  const { next, pick } = random
  const [name, mail] = [randomWord(random), randomWord(random)]
  const nick = next(4) ? "" : randomWord(random)
  return { id, name, mail, nick, state: pick(states), org: pick(orgs), rank: next(12) }
}

function rememberRow(row: Row): void {
  const [name_folded, mail_folded] = [foldName(row.name), fold(row.mail)]
  rows.set(row.id, { ...row, name_folded, mail_folded, nick_folded: fold(row.nick) })
}

/** One search of each table in memory and in the store, for any number of rows. */
async function tryOnce(random: SeededRandom): Promise<void> {
  await tryFilters(
    random,
    Array.from({ length: random.next(4) }, () => someFilter(random)),
  )
}

async function tryFilters(random: SeededRandom, filters: readonly Filter[]): Promise<void> {
  const { next, pick } = random
  const page = { offset: next(3) && next(60), limit: 1 + next(12), asc: next(2) === 0 }
  const sort = pick(sorts)
  const limits = { orgs: orgs.slice(next(4)), self: `${next(80)}` }
  const scope = next(3) ? fullScope : { ...fullScope, all: false, ...limits }
  const seen = [...rows.values()].filter(
    (row) => scope.all || scope.orgs.includes(row.org) || row.id === limits.self,
  )
  const found = seen.filter((row) => filters.every((filter) => matches(row, filter)))
  const wanted = inOrder(found, sort, page.asc).slice(page.offset, page.offset + page.limit)
  const few = pick([0, 3, 10, 20, 20, 100])
  const caller = { kind: "system", name: `${random.next(1e9)}` } as const
  const cx = world.cx({ instance: "i1", scope, caller })
  const query = { page, sort, filters }
  for (const most of [few, 5000]) {
    const answer = await search<Row>(cx, searchable, query, most)
    const asked = JSON.stringify({ query, scope, most })
    expect([answer.total, answer.rows.map(({ id }) => id)], asked).toEqual([
      found.length,
      wanted.map(({ id }) => id),
    ])
  }
}

/** Random writes and searches. */
async function tryAll(seed: number): Promise<void> {
  const random = seededRandom(seed * 7919)
  await writeRows("i2", random, 30)
  for (let round = 0; round < 15; round++) {
    await writeRows(random.pick(["i1", "i1", "i2"]), random, random.next(20))
    for (let time = 0; time < 15; time++) await tryOnce(random)
  }
}

describe("a search of a long table finds the same as a filter in memory", () => {
  test.each([1, 2])("while rows are added, changed, and removed (%i)", tryAll)
})

describe("a search by a text index does, too", () => {
  let other: TestEnvironment
  beforeAll(() => {
    other = world
    world = openTestEnvironment({ ...modules, textIndexFrom: 0 })
  })
  afterAll(async () => {
    await world.close()
    world = other
  })

  test.each([3, 4])("while rows come, change and go (%i)", tryAll)

  test("for every value of a row", async () => {
    const random = seededRandom(83)
    const { pick, next } = random
    await writeRows("i1", random, 150)
    for (let time = 0; time < 150; time++) {
      const row = pick([...rows.values()])
      const text = pick(texts)
      const characters = [...row[text]]
      const value = characters.slice(next(2) && next(characters.length)).join("")
      await tryFilters(random, [{ text, method: pick(["contains", "ends_with"]), value }])
    }
  })
})

const sorts = ["rank", "name_folded", "mail_folded", "state", "nick_folded", "org", "id", "name"]

describe("a list that is paged during inserts", () => {
  const directions = sorts.flatMap((sort) => [true, false].map((asc) => [sort, asc] as const))
  test.each(directions)(
    "by %s, ascending %s, neither skips nor repeats a row",
    async (sort, asc) => {
      const random = seededRandom(sort.length * 31 + Number(asc))
      await writeRows("i1", random, 150)
      for (const most of [3, 5000]) {
        for (const filters of [[], [{ not: { equals: "org", value: "a" } }], [textOf(random)]]) {
          await readAllPages(random, { sort, asc, filters, most })
        }
      }
    },
  )

  test("continues after its end when it has grown", async () => {
    await writeRows("i1", seededRandom(6), 20)
    const cx = world.cx({ instance: "i1", caller: { kind: "system", name: "patient" } })
    const page = async (offset: number) => {
      const page = { offset, limit: 1000, asc: true }
      const { rows } = await search<Row>(cx, searchable, { page, sort: "id", filters: [] })
      return rows.map(({ id }) => id)
    }
    const all = await page(0)
    await putRow(rowOf(seededRandom(1), "!"))
    await putRow(rowOf(seededRandom(1), "~"))
    expect(await page(all.length)).toEqual(["~"])
    expect(await page(all.length + 1)).toEqual([])
    await putRow(rowOf(seededRandom(1), "~~"))
    expect(await page(all.length + 1)).toEqual(["~~"])
  })

  test("shows everything on its first page, and continues with the next", async () => {
    await writeRows("i1", seededRandom(5), 100)
    const cx = world.cx({ instance: "i1", caller: { kind: "system", name: "later" } })
    const page = async (offset: number) => {
      const { rows } = await search<Row>(cx, searchable, {
        page: { offset, limit: 5, asc: false },
        sort: "id",
        filters: [],
      })
      return rows.map(({ id }) => id)
    }
    const first = await page(0)
    await putRow(rowOf(seededRandom(1), "zz"))
    expect(await page(0)).toEqual(["zz", ...first.slice(0, 4)])
    const [next] = await page(5)
    expect(next).toBe(first[4])
    world.clock.advance(61_000)
    await putRow(rowOf(seededRandom(1), "zzz"))
    expect((await page(5))[0]).toBe(first[3])
  })
})

async function putRow(row: Row): Promise<void> {
  rememberRow(row)
  await world.store.transact(world.cx({ instance: "i1" }), (tx) =>
    tx.append(thing, row.id, [{ type: "thing.set", data: row }]),
  )
}

type PageReading = {
  readonly sort: string
  readonly asc: boolean
  readonly filters: readonly Filter[]
  readonly most: number
}

/** Reads all pages while rows are inserted anywhere; removed rows must not shift others. */
async function readAllPages(
  random: SeededRandom,
  { sort, asc, filters, most }: PageReading,
): Promise<void> {
  const caller = { kind: "system", name: `${random.next(1e9)}` } as const
  const cx = world.cx({ instance: "i1", caller })
  const before = [...rows.values()].filter((row) => filters.every((each) => matches(row, each)))
  const seen: string[] = []
  const gone = new Set<string>()
  for (;;) {
    const page = { offset: seen.length, limit: 7, asc }
    const found = await search<Row>(cx, searchable, { page, sort, filters }, most)
    seen.push(...found.rows.map(({ id }) => id))
    if (found.rows.length < 7) break
    for (let count = random.next(6); count > 0; count--)
      await putRow(rowOf(random, `new-${random.next(1e9)}`))
    const removed = random.pick([...rows.keys()])
    await world.store.transact(cx, (tx) =>
      tx.append(thing, removed, [{ type: "thing.gone", data: {} }]),
    )
    rows.delete(removed)
    gone.add(removed)
  }
  expect(new Set(seen).size).toBe(seen.length)
  const missed = before.filter(({ id }) => !seen.includes(id) && !gone.has(id))
  expect(missed).toEqual([])
}

test("rows that do not match a condition are counted by the index of those that do", async () => {
  const read = vi.spyOn(world.store, "read")
  const not: Filter = { text: "mail_folded", method: "equals", value: "none" }
  const cx = world.cx({ instance: "i1" })
  const page = { offset: 0, limit: 1, asc: true }
  const { total } = await search<Row>(cx, searchable, { page, filters: [{ not }] })
  expect(total).toBe([...rows.values()].filter((row) => !matches(row, not)).length)
  const { database } = world.store
  const table = database
    .query<{ name: string }, []>("SELECT name FROM sqlite_master WHERE name GLOB 'things_[0-9]*'")
    .get()
  const sql = read.mock.calls[0]?.[1].plan.taken?.replaceAll(/\bthings\b/g, `${table?.name}`)
  const steps = database.query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`).all()
  expect(steps.map(({ detail }) => detail).join()).toMatch(/instance=\? AND mail_folded=\?/)
  read.mockRestore()
})

test("rows without the most common value are found by a partial index", async () => {
  const read = vi.spyOn(world.store, "read")
  const not: Filter = { equals: "state", value: "active" }
  const page = { offset: 0, limit: 1, asc: true }
  const cx = world.cx({ instance: "i1" })
  const { total } = await search<Row>(cx, searchable, { page, filters: [{ not }] })
  expect(total).toBe([...rows.values()].filter((row) => !matches(row, not)).length)
  expect(read.mock.calls[0]?.[1].plan.keys).toContain("state <> 'active'")
  read.mockRestore()
})

test("rows that do not match a condition are recounted after inserts", async () => {
  const not: Filter = { text: "mail_folded", method: "equals", value: "none" }
  const page = { offset: 0, limit: 1, asc: true }
  const count = async () => {
    const cx = world.cx({ instance: "i1" })
    return (await search<Row>(cx, searchable, { page, filters: [{ not }] })).total
  }
  const random = seededRandom(77)
  for (const id of ["later-1", "later-2", "later-3"]) {
    expect(await count()).toBe([...rows.values()].filter((row) => !matches(row, not)).length)
    await putRow(rowOf(random, id))
  }
  expect(await count()).toBe([...rows.values()].filter((row) => !matches(row, not)).length)
})

test("a prefix folds to a prefix of the folded text", () => {
  const random = seededRandom(4711)
  for (let time = 0; time < 5000; time++) {
    const whole = `${randomWord(random)}${randomWord(random)}`
    const start = whole.slice(0, random.next(whole.length + 1))
    if (!start.isWellFormed()) continue
    expect(fold(whole).startsWith(foldedPrefix(start)), whole).toBe(true)
    expect(foldName(whole).startsWith(foldedPrefix(start)), whole).toBe(true)
  }
  expect(foldedPrefix("Ann\u00e9 B")).toBe("an")
})
