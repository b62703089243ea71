// Searches of events: `bun scripts/bench/events.ts [EVENTS] [SEARCHES]`. A store is filled as by a
// few years of use, and asked for every combination of filters, in both orders, for first pages and
// far ones; the first search of all, and those while the index is made, are told apart.
import { aggregate, type Event, type EventFilter } from "../../src/store/index.ts"
import { openWorld } from "../../test/support/world.ts"

const [events, searches] = [Number(process.argv[2] ?? 1_000_000), Number(process.argv[3] ?? 2000)]
const words = ["added", "changed", "ended", "rarely.added", "rarely.ended"]
const kinds = ["person", "visit", "grant"].map((stream) =>
  aggregate<Event<string, { said: string }>, object>({
    stream,
    initial: {},
    evolve: Object.fromEntries(words.map((word) => [`${stream}.${word}`, (state) => state])),
  }),
)
const eventsOfOne = 8
/** In ms, between two streams. */
const apart = 240_000

const world = openWorld({ aggregates: kinds, views: [] })
const { store, clock } = world
const began = clock.now()
await fill()

const random = (below: number) => Math.floor(Math.random() * below)
const some = <T>(...list: readonly [T, ...T[]]): T => list[random(list.length)] ?? list[0]
const kind = () => some("person", "visit", "grant")
const span = () => {
  const since = began + random((events / eventsOfOne) * apart)
  return { since, until: since + some(3_600_000, 86_400_000, 30 * 86_400_000) }
}
const parts: readonly (() => EventFilter)[] = [
  () => ({ types: some([`${kind()}.changed`], [`${kind()}.rarely.added`], ["never.written"]) }),
  () => ({ streams: [kind()] }),
  () => ({ editor: editorOf() }),
  () => ({ owner: `org${random(50)}` }),
  span,
  () => ({ ids: [`${random(events / eventsOfOne)}`] }),
]

const cold = await timed({ types: ["person.rarely.ended"], editor: "nobody" })
const meanwhile: number[] = []
for (const end = performance.now() + 20_000; performance.now() < end; ) {
  meanwhile.push(await timed({ types: ["person.rarely.ended"], editor: "nobody" }))
}
const times: { readonly time: number; readonly what: string }[] = []
for (let count = 0; count < searches; count++) {
  const chosen = parts.filter(() => Math.random() < 0.4)
  const filter: EventFilter = Object.assign({}, ...chosen.map((part) => part()))
  times.push({ time: await timed(filter), what: Object.keys(filter).join(" and ") })
}
await world.close()

const sorted = times.toSorted((a, b) => a.time - b.time)
const at = (part: number) => sorted[Math.floor((sorted.length - 1) * part)]
const ms = (time = 0) => `${time.toFixed(1)} ms`
console.log(`${events} events; the first search ${ms(cold)}, the worst of those`)
console.log(`while the index was made ${ms(Math.max(...meanwhile))}; ${searches} after that:`)
console.log(`median ${ms(at(0.5)?.time)}, 99th percentile ${ms(at(0.99)?.time)},`)
console.log(`worst ${ms(at(1)?.time)} (by ${at(1)?.what})`)

/** A page of what is like that. */
async function timed(filter: EventFilter): Promise<number> {
  const page = { asc: Math.random() < 0.3, limit: some(20, 100, 1000) }
  const from = Math.random() < 0.3 ? random(events) : undefined
  const started = performance.now()
  await store.events(world.cx(), { ...filter, ...page, from })
  return performance.now() - started
}

/** A few people do most of what happens. */
function editorOf(): string {
  return `user${Math.floor(Math.random() ** 4 * 20_000)}`
}

async function fill(): Promise<void> {
  const said = "x".repeat(160)
  for (let stream = 0; stream < events / eventsOfOne; ) {
    const steps: Promise<unknown>[] = []
    for (const end = stream + 500; stream < end; stream++) {
      const of = kinds[stream % kinds.length]
      if (!of) throw new Error("there are no kinds")
      const drafts = Array.from({ length: eventsOfOne }, (_, event) => {
        const word = stream % 700 === event ? words[3 + (event % 2)] : words[event % 3]
        return { type: `${of.stream}.${word}`, data: { said } }
      })
      clock.advance(apart)
      const caller = { kind: "user", userId: editorOf(), orgId: "org1", clientId: "bench" } as const
      const [cx, id] = [world.cx({ caller }), `${stream}`]
      steps.push(
        store.transact(cx, (tx) => tx.append(of, id, drafts, `org${id.length + (stream % 50)}`)),
      )
    }
    await Promise.all(steps)
  }
}
