// A small room for the tests of pruning: visits that end one day, and a book of who came.
import {
  aggregate,
  type Cx,
  type Event,
  type Receipt,
  statement,
  view,
} from "../../src/store/index.ts"

export const hour = 3_600_000
export const day = 24 * hour

export type VisitEvent =
  | Event<"visit.begun", { name: string }, { face: string }>
  | Event<"visit.prolonged", { until: number }>
  | Event<"visit.ended">

type Visit = { readonly status: "absent" | "here" | "gone"; readonly until?: number }

/** Stays as long as nobody says until when; a visit that ended is kept for an hour. */
export const visit = aggregate<VisitEvent, Visit & { readonly beginnings: number }>({
  stream: "visit",
  retention: "transient",
  expires: ({ until }) => until,
  initial: { status: "absent", beginnings: 0 },
  evolve: {
    "visit.begun": ({ beginnings }) => ({ status: "here", beginnings: beginnings + 1 }),
    "visit.prolonged": (state, { data }) => ({ ...state, until: data.until }),
    "visit.ended": (state, { time }) => ({ ...state, status: "gone", until: time + hour }),
  },
})

export type EntryEvent = Event<"entry.written", { name: string }>

/** One line for everybody who came, in a stream of its own. */
export const entry = aggregate<EntryEvent, null>({
  stream: "entry",
  retention: "audit",
  initial: null,
  evolve: { "entry.written": () => null },
})

const taken = { id: "visit.chair_taken", message: "The chair is taken." }

/** Sits down on a chair for a day. */
export const begin = visit.command<{ name: string; chair?: string }>((_, input, { now }) => [
  {
    type: "visit.begun",
    data: { name: input.name },
    private: { face: "round" },
    claims: [{ take: "chair", key: input.chair ?? input.name, expires: now + day, taken }],
  },
])
export const prolong = visit.command<number>((_, until) => [
  { type: "visit.prolonged", data: { until } },
])
export const end = visit.command((state) =>
  state.status === "here" ? [{ type: "visit.ended", data: {} }] : [],
)
export const write = entry.command<string>((_, name) => [{ type: "entry.written", data: { name } }])

const insert = statement(
  `INSERT INTO visits (instance, id, name, owner, version)
   VALUES ($instance, $id, $name, $owner, $version)`,
)
const note = statement(
  "UPDATE visits SET version = $version WHERE instance = $instance AND id = $id",
)
const remove = statement("DELETE FROM visits WHERE instance = $instance AND id = $id")
const record = statement("INSERT INTO entries (instance, id, name) VALUES ($instance, $id, $name)")
const forget = statement("DELETE FROM entries WHERE instance = $instance AND id = $id")

export const visits = view<VisitEvent | EntryEvent>({
  name: "visit",
  tables: {
    visits: {
      columns: `id TEXT NOT NULL, name TEXT NOT NULL, owner TEXT NOT NULL,
        version INTEGER NOT NULL`,
      key: "id",
    },
    entries: { columns: "id TEXT NOT NULL, name TEXT NOT NULL", key: "id" },
  },
  on: {
    "visit.begun": (db, { data, version }) => db.run(version === 1 ? insert : note, data),
    "visit.prolonged": (db) => db.run(note),
    "visit.ended": (db) => db.run(note),
    "entry.written": (db, { data }) => db.run(record, data),
  },
  dropped: { visit: (db) => db.run(remove), entry: (db) => db.run(forget) },
})

const allVisits = statement("SELECT * FROM visits WHERE instance = $instance ORDER BY id")
const allEntries = statement("SELECT * FROM entries WHERE instance = $instance ORDER BY id")

/** What the view shows. */
export const shown = (cx: Cx) => [cx.store.all(cx, allVisits), cx.store.all(cx, allEntries)]

export const visitRooms = { aggregates: [visit, entry], views: [visits] } as const

export type { Receipt }
