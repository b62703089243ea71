// A small module for tests of pruning: visits that end, and a guest book.
import {
  aggregate,
  type Cx,
  type Envelope,
  type Event,
  integer,
  type Receipt,
  statement,
  table,
  text,
  type ViewWriter,
  view,
} from "../../src/store/index.ts"

export const hour = 3_600_000
export const day = 24 * hour

export type VisitEvent =
  | Event<"visit.begun", { name: string }, { face: string }>
  | Event<"visit.prolonged", { until: number }>
  | Event<"visit.ended">

type Visit = { readonly status: "absent" | "here" | "gone"; readonly until?: number }

/** Lasts until its end is set; an ended visit is kept for an hour. */
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

/** A guest book entry in a separate stream. */
export const entry = aggregate<EntryEvent, null>({
  stream: "entry",
  retention: "audit",
  initial: null,
  evolve: { "entry.written": () => null },
})

const chairTaken = { id: "visit.chair_taken", message: "The chair is taken." }

/** Takes a chair for a day. */
export const beginVisit = visit.command<{ name: string; chair?: string }>((_, input, { now }) => [
  {
    type: "visit.begun",
    data: { name: input.name },
    private: { face: "round" },
    claims: [
      { take: "chair", key: input.chair ?? input.name, expires: now + day, taken: chairTaken },
    ],
  },
])
export const prolongVisit = visit.command<number>((_, until) => [
  { type: "visit.prolonged", data: { until } },
])
export const endVisit = visit.command((state) =>
  state.status === "here" ? [{ type: "visit.ended", data: {} }] : [],
)
export const writeEntry = entry.command<string>((_, name) => [
  { type: "entry.written", data: { name } },
])

const visitTable = table(
  "visits",
  { id: text(), name: text(), owner: text(), version: integer() },
  { key: ["id"] },
)
const entryTable = table("entries", { id: text(), name: text() }, { key: ["id"] })

const noteVersion = (db: ViewWriter, { id, version }: Pick<Envelope, "id" | "version">) =>
  visitTable.update(db, { id }, { version })

export const visits = view<VisitEvent | EntryEvent>({
  name: "visit",
  tables: [visitTable, entryTable],
  on: {
    "visit.begun": (db, { id, data: { name }, owner, version }) => {
      if (version === 1) visitTable.insert(db, { id, name, owner, version })
      else noteVersion(db, { id, version })
    },
    "visit.prolonged": noteVersion,
    "visit.ended": noteVersion,
    "entry.written": (db, { id, data: { name } }) => entryTable.insert(db, { id, name }),
  },
  onPruned: {
    visit: (db, { id }) => visitTable.remove(db, { id }),
    entry: (db, { id }) => entryTable.remove(db, { id }),
  },
})

const allVisits = statement("SELECT * FROM visits WHERE instance = $instance ORDER BY id")
const allEntries = statement("SELECT * FROM entries WHERE instance = $instance ORDER BY id")

/** The rows of the view. */
export const visitRows = (cx: Cx) => [cx.store.all(cx, allVisits), cx.store.all(cx, allEntries)]

export const visitModules = { aggregates: [visit, entry], views: [visits] } as const

export type { Receipt }
