// Searches of a long table by joined columns, compared with a filter in memory.
import { afterAll, beforeAll, expect, test } from "vitest"
import type { Scope } from "../../src/kernel/context.ts"
import {
  aggregate,
  type Event,
  type Filter,
  fold,
  integer,
  type Searchable,
  search,
  statement,
  table,
  text,
  view,
} from "../../src/store/index.ts"
import { type SeededRandom, seededRandom } from "../support/seeded-random.ts"
import { openTestEnvironment, type TestEnvironment } from "../support/test-environment.ts"

type Person = { readonly id: string; readonly name: string; readonly org: string }
type Loan = { readonly id: string; readonly person: string; readonly state: string }
type LoanEvent =
  | Event<"person.set", Person & { created: number }>
  | Event<"loan.set", Loan & { created: number }>

const loan = aggregate<LoanEvent, null>({
  stream: "loan",
  initial: null,
  evolve: { "person.set": () => null, "loan.set": () => null },
})
const setPerson = statement(
  `INSERT INTO people (instance, id, name, name_folded, org, created)
   VALUES ($instance, $id, $name, $folded, $org, $created)
   ON CONFLICT DO UPDATE SET name = excluded.name, name_folded = excluded.name_folded,
     org = excluded.org`,
)
const setLoan = statement(
  `INSERT INTO loans (instance, id, person, state, created)
   VALUES ($instance, $id, $person, $state, $created)
   ON CONFLICT DO UPDATE SET person = excluded.person, state = excluded.state`,
)
const peopleTable = table(
  "people",
  { id: text(), name: text(), name_folded: text(), org: text(), created: integer() },
  {
    key: ["id"],
    indexes: {
      created: ["created", "id", "org", "name"],
      name: ["name_folded", "name"],
      org: ["org", "created"],
    },
  },
)
const loanTable = table(
  "loans",
  { id: text(), person: text(), state: text(), created: integer() },
  { key: ["id"], indexes: { created: ["created", "id", "state"], person: ["person"] } },
)
const loanView = view<LoanEvent>({
  name: "loan",
  tables: [peopleTable, loanTable],
  on: {
    "person.set": (db, { data }) => db.run(setPerson, { ...data, folded: fold(data.name) }),
    "loan.set": (db, { data }) => db.run(setLoan, data),
  },
})
const loans: Searchable = {
  table: "loans",
  columns: ["person", "state", "created"],
  joined: {
    select: "p.name AS who, p.name_folded AS who_folded, p.org AS home",
    from: "JOIN people p ON p.instance = t.instance AND p.id = t.person",
    columns: ["who", "who_folded", "home"],
  },
  owner: {},
  key: "id",
  sort: "created",
}

const persons = { table: "people", columns: ["id", "name"] } as const

const names = ["Anna", "anna", "Änne", "Ben", "ben\u0001", "Cleo", "", "nn", "%"]
const orgs = ["a", "b", "c"]

let world: TestEnvironment
const peopleRows = new Map<string, Person>()
const loanRows = new Map<string, Loan>()
beforeAll(() => {
  world = openTestEnvironment({ aggregates: [loan], views: [loanView] })
})
afterAll(() => world.close())

async function writeRows({ next, pick }: SeededRandom, times: number): Promise<void> {
  await world.store.transact(world.cx({ instance: "i1" }), (tx) => {
    for (let time = 0; time < times; time++) {
      const person = { id: `p${next(30)}`, name: `${pick(names)}${next(20)}`, org: pick(orgs) }
      const { id } = person
      tx.append(loan, id, [{ type: "person.set", data: { ...person, created: next(9) } }])
      peopleRows.set(id, person)
      const made = {
        id: `${next(80)}`,
        person: pick([...peopleRows.keys()]),
        state: pick(["in", "out"]),
      }
      const data = { ...made, created: Number(made.id) }
      tx.append(loan, made.id, [{ type: "loan.set", data }])
      loanRows.set(made.id, made)
    }
  })
}

function filterOf(random: SeededRandom, depth = 0): Filter {
  const { next, pick } = random
  const inner = () => Array.from({ length: 1 + next(2) }, () => filterOf(random, depth + 1))
  switch (next(depth > 1 ? 4 : 7)) {
    case 0:
      return { equals: "state", value: pick(["in", "out"]) }
    case 1:
      return { oneOf: "home", values: [pick(orgs), pick(orgs)] }
    case 2:
    case 3: {
      const value = pick([pick(names), `${next(20)}`, "n", "nope"])
      const method = pick(["equals", "starts_with", "contains", "ends_with"] as const)
      const isNamed: Filter = { text: "name", method, value }
      if (next(3) === 0) return { in: "person", column: "id", of: persons, where: isNamed }
      return { text: next(2) ? "who" : "who_folded", method, value }
    }
    case 4:
      return { any: inner() }
    case 5:
      return { not: filterOf(random, depth + 1) }
    default:
      return { all: inner() }
  }
}

function matches(row: Loan, filter: Filter): boolean {
  if ("all" in filter) return filter.all.every((each) => matches(row, each))
  if ("any" in filter) return filter.any.some((each) => matches(row, each))
  if ("not" in filter) return !matches(row, filter.not)
  const { name = "", org = "" } = peopleRows.get(row.person) ?? {}
  if ("equals" in filter) return row.state === filter.value
  if ("oneOf" in filter) return filter.values.includes(org)
  if ("compare" in filter) throw new Error("nothing is compared")
  const isText = "in" in filter ? filter.where : filter
  if (!("text" in isText)) throw new Error("people are looked for by their names only")
  const { text, method, value: asked } = isText
  const isFolded = text === "who_folded"
  const [own, value] = isFolded ? [fold(name), fold(asked)] : [name, asked]
  if (method === "equals") return own === value
  if (method === "starts_with") return own.startsWith(value)
  return method === "contains" ? own.includes(value) : own.endsWith(value)
}

const fullScope: Scope = { all: true, orgs: [], projects: [], grants: [] }

test.each([1, 2, 3])(
  "a search by joined columns finds the same as a filter in memory (%i)",
  async (seed) => {
    const random = seededRandom(seed * 7919)
    for (let round = 0; round < 15; round++) {
      await writeRows(random, 1 + random.next(15))
      for (let time = 0; time < 15; time++) {
        const filters = [filterOf(random), ...(random.next(3) ? [] : [filterOf(random)])]
        const found = [...loanRows.values()].filter((row) =>
          filters.every((each) => matches(row, each)),
        )
        const wanted = found.map(({ id }) => Number(id)).sort((a, b) => a - b)
        const most = random.pick([0, 2, 5, 100])
        const caller = { kind: "system", name: `${random.next(1e9)}` } as const
        const cx = world.cx({ instance: "i1", scope: fullScope, caller })
        const page = { offset: 0, limit: 1000, asc: true }
        const answer = await search<Loan>(cx, loans, { page, filters }, most)
        expect(
          [answer.total, answer.rows.map(({ id }) => Number(id))],
          JSON.stringify({ filters, most }),
        ).toEqual([wanted.length, wanted])
      }
    }
  },
)
