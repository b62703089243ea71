// Measures event searches: `bun scripts/bench/events.ts [EVENTS] [SEARCHES]`. Fills a store with
// the equivalent of a few years of use, and runs every combination of filters in both orders, for
// first and later pages. The very first search and those during index creation are reported
// separately.
import { aggregate, type Event, type EventFilter } from "../../src/store/index.ts"
import { openTestEnvironment } from "../../test/support/test-environment.ts"

const [events, searches] = [Number(process.argv[2] ?? 1_000_000), Number(process.argv[3] ?? 2000)]
const words = ["added", "changed", "ended", "rarely.added", "rarely.ended"]
const aggregates = ["person", "visit", "grant"].map((stream) =>
  aggregate<Event<string, { said: string }>, object>({
    stream,
    initial: {},
    evolve: Object.fromEntries(words.map((word) => [`${stream}.${word}`, (state) => state])),
  }),
)
const eventsPerStream = 8
/** Milliseconds between two streams. */
const intervalMs = 240_000

const fixture = openTestEnvironment({ aggregates: aggregates, views: [] })
const { store, clock } = fixture
const startTime = clock.now()
await fillStore()

const randomBelow = (limit: number) => Math.floor(Math.random() * limit)
const pick = <T>(...list: readonly [T, ...T[]]): T => list[randomBelow(list.length)] ?? list[0]
const pickStream = () => pick("person", "visit", "grant")
const randomPeriod = () => {
  const since = startTime + randomBelow((events / eventsPerStream) * intervalMs)
  return { since, until: since + pick(3_600_000, 86_400_000, 30 * 86_400_000) }
}
const filters: readonly (() => EventFilter)[] = [
  () => ({
    types: pick([`${pickStream()}.changed`], [`${pickStream()}.rarely.added`], ["never.written"]),
  }),
  () => ({ streams: [pickStream()] }),
  () => ({ editor: pickEditor() }),
  () => ({ owner: `org${randomBelow(50)}` }),
  randomPeriod,
  () => ({ ids: [`${randomBelow(events / eventsPerStream)}`] }),
]

const coldMs = await measureSearch({ types: ["person.rarely.ended"], editor: "nobody" })
const meanwhile: number[] = []
for (const end = performance.now() + 20_000; performance.now() < end; ) {
  meanwhile.push(await measureSearch({ types: ["person.rarely.ended"], editor: "nobody" }))
}
const times: { readonly time: number; readonly what: string }[] = []
for (let count = 0; count < searches; count++) {
  const chosen = filters.filter(() => Math.random() < 0.4)
  const filter: EventFilter = Object.assign({}, ...chosen.map((part) => part()))
  times.push({ time: await measureSearch(filter), what: Object.keys(filter).join(" and ") })
}
await fixture.close()

const sorted = times.toSorted((a, b) => a.time - b.time)
const percentile = (part: number) => sorted[Math.floor((sorted.length - 1) * part)]
const formatMs = (time = 0) => `${time.toFixed(1)} ms`
console.log(`${events} events; first search ${formatMs(coldMs)}, slowest search`)
console.log(
  `during index creation ${formatMs(Math.max(...meanwhile))}; ${searches} searches after that:`,
)
console.log(
  `median ${formatMs(percentile(0.5)?.time)}, 99th percentile ${formatMs(percentile(0.99)?.time)},`,
)
console.log(`maximum ${formatMs(percentile(1)?.time)} (by ${percentile(1)?.what})`)

/** Reads one page of matching events; returns the milliseconds. */
async function measureSearch(filter: EventFilter): Promise<number> {
  const page = { asc: Math.random() < 0.3, limit: pick(20, 100, 1000) }
  const from = Math.random() < 0.3 ? randomBelow(events) : undefined
  const started = performance.now()
  await store.events(fixture.cx(), { ...filter, ...page, from })
  return performance.now() - started
}

/** A few users cause most events. */
function pickEditor(): string {
  return `user${Math.floor(Math.random() ** 4 * 20_000)}`
}

async function fillStore(): Promise<void> {
  const detail = "x".repeat(160)
  for (let stream = 0; stream < events / eventsPerStream; ) {
    const writes: Promise<unknown>[] = []
    for (const lastTime = stream + 500; stream < lastTime; stream++) {
      const of = aggregates[stream % aggregates.length]
      if (!of) throw new Error("there are no aggregates")
      const drafts = Array.from({ length: eventsPerStream }, (_, event) => {
        const word = stream % 700 === event ? words[3 + (event % 2)] : words[event % 3]
        return { type: `${of.stream}.${word}`, data: { said: detail } }
      })
      clock.advance(intervalMs)
      const caller = {
        kind: "user",
        userId: pickEditor(),
        orgId: "org1",
        clientId: "bench",
      } as const
      const [cx, id] = [fixture.cx({ caller }), `${stream}`]
      writes.push(
        store.transact(cx, (tx) => tx.append(of, id, drafts, `org${id.length + (stream % 50)}`)),
      )
    }
    await Promise.all(writes)
  }
}
