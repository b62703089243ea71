// The requirements for every implementation of the log. Another implementation runs this suite
// unchanged.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import {
  aggregate,
  type Event,
  integer,
  type PersistedEvent,
  statement,
  table,
  view,
} from "../../src/store/index.ts"
import type { Append, ClaimRequest, Log, NewEvent } from "../../src/store/log/log.ts"
import type { Store } from "../../src/store/store.ts"

type NoteEvent = Event<"note.added" | "note.changed" | "note.erased">
type ViewSpec = Parameters<typeof view<NoteEvent>>[0]
type Reduce = NonNullable<ViewSpec["on"]["note.added"]>

const appliedTable = table("applied", { position: integer() }, { key: ["position"] })
const positions = statement<{ readonly position: number }>(
  "SELECT position FROM applied WHERE instance = $instance ORDER BY position",
)

/** The modules of a store for the suite; a reducer throws for streams selected by `refuses`. */
export function noteModules(refuses: (id: string) => boolean) {
  const nothing = () => null
  const note = aggregate<NoteEvent, null>({
    stream: "note",
    initial: null,
    evolve: { "note.added": nothing, "note.changed": nothing, "note.erased": nothing },
  })
  const each: Reduce = (db, { id, position }: PersistedEvent<NoteEvent>) => {
    if (refuses(id)) throw new Error(`${id} is rejected`)
    appliedTable.insert(db, { position })
  }
  const applied = view<NoteEvent>({
    name: "applied",
    tables: [appliedTable],
    on: { "note.added": each, "note.changed": each, "note.erased": each },
  })
  return { aggregates: [note], views: [applied] }
}

export type OpenLog = (modules: ReturnType<typeof noteModules>) => Promise<{
  readonly store: Store
  readonly close: () => Promise<void>
}>

const time = Date.UTC(2026, 0, 2)

function event(id: string, version: number, over: Partial<NewEvent> = {}): NewEvent {
  return {
    instance: "i1",
    stream: "note",
    id,
    version,
    type: version === 1 ? "note.added" : "note.changed",
    revision: 1,
    data: { text: `${id} ${version}` },
    private: null,
    time,
    editor: { user: "u", client: "c" },
    owner: "o",
    correlation: "r",
    erase: null,
    ...over,
  }
}

/** A transaction that appends these events at the current stream versions. */
function step(events: readonly NewEvent[], over: Partial<Append> = {}): Append {
  const first = new Map(events.map(({ id }) => [id, events.find((each) => each.id === id)]))
  const expect = [...first].map(([id, each]) => ({
    stream: "note",
    id,
    version: (each?.version ?? 1) - 1,
  }))
  return { instance: "i1", time, expect, events, claims: [], ...over }
}

const bytesOf = (text: string) => new Uint8Array(Buffer.from(text))

const noteStream = { stream: "note" } as const
const noteTaken = { id: "note.taken", message: "It is taken." }
const claimKey = (id: string, key: string, expires?: number): ClaimRequest => ({
  ...noteStream,
  id,
  take: "key",
  key,
  taken: noteTaken,
  ...(expires === undefined ? {} : { expires }),
})

export function logConformance(name: string, open: OpenLog): void {
  describe(name, () => {
    let store: Store
    let log: Log
    let close: () => Promise<void>
    let refuse: string | undefined
    beforeEach(async () => {
      refuse = undefined
      const opened = await open(noteModules((id) => id === refuse))
      store = opened.store
      log = store.log
      close = opened.close
    })
    afterEach(() => close())
    const applied = () => store.all({ instance: "i1" }, positions).map(({ position }) => position)
    const all = () => log.read(0, 1000)

    test("positions rise by one in the order of the steps, and are applied so", async () => {
      const first = await log.append(step([event("a", 1), event("a", 2)]))
      const second = await log.append(step([event("b", 1)]))
      expect([first, second]).toEqual([
        { kind: "appended", position: 2 },
        { kind: "appended", position: 3 },
      ])
      expect((await all()).map(({ position, id }) => [position, id])).toEqual([
        [1, "a"],
        [2, "a"],
        [3, "b"],
      ])
      expect(applied()).toEqual([1, 2, 3])
    })

    test("an event is read back as it was written", async () => {
      const written = event("a", 1, {
        private: { mail: "ä@example.com" },
        data: { "\n": "\u0000" },
      })
      await log.append(step([written]))
      expect(await all()).toEqual([{ ...written, position: 1 }])
    })

    test("events are read at their positions, in the order of these", async () => {
      for (const id of ["a", "b", "c"]) await log.append(step([event(id, 1)]))
      const found = await log.at([3, 9, 1])
      expect(found.map(({ position, id }) => [position, id])).toEqual([
        [3, "c"],
        [1, "a"],
      ])
    })

    test("of two appends with one expected version one gets a conflict", async () => {
      await log.append(step([event("a", 1)]))
      const results = await Promise.all([
        log.append(step([event("a", 2, { data: { who: 1 } })])),
        log.append(step([event("a", 2, { data: { who: 2 } })])),
      ])
      expect(results.map((each) => each.kind).sort()).toEqual(["appended", "conflict"])
      expect(results).toContainEqual({ kind: "conflict", stream: "note", id: "a" })
      expect(await all()).toHaveLength(2)
    })

    test("a version that is only expected counts as much as one that is written", async () => {
      await log.append(step([event("a", 1)]))
      const seen = [
        { stream: "note", id: "a", version: 0 },
        { stream: "note", id: "b", version: 0 },
      ]
      expect(await log.append(step([event("b", 1)], { expect: seen }))).toMatchObject({
        kind: "conflict",
        id: "a",
      })
    })

    test("a step of several streams happens wholly or not at all", async () => {
      await log.append(step([event("b", 1)]))
      const both = step([event("a", 1), event("b", 1)], { claims: [claimKey("a", "k")] })
      expect((await log.append(both)).kind).toBe("conflict")
      expect(await all()).toHaveLength(1)
      expect(log.holder("i1", "key", "k", time)).toBeUndefined()
    })

    test("what applying throws undoes the step, its claims and its position", async () => {
      refuse = "b"
      const both = step([event("a", 1), event("b", 1)], { claims: [claimKey("a", "k")] })
      await expect(log.append(both)).rejects.toThrow("b is rejected")
      expect(applied()).toEqual([])
      expect(await all()).toEqual([])
      expect(log.holder("i1", "key", "k", time)).toBeUndefined()
      refuse = undefined
      expect(await log.append(both)).toEqual({ kind: "appended", position: 2 })
    })

    test("a claim has one holder until it is released", async () => {
      const mine = step([event("a", 1)], { claims: [claimKey("a", "k")] })
      await log.append(mine)
      const theirs = step([event("b", 1)], { claims: [claimKey("b", "k")] })
      expect(await log.append(theirs)).toMatchObject({ kind: "taken", claim: { key: "k" } })
      const release: ClaimRequest = { ...noteStream, id: "b", release: "key", key: "k" }
      await log.append(step([event("b", 1)], { claims: [release] }))
      expect(log.holder("i1", "key", "k", time)).toEqual({ stream: "note", id: "a" })
      await log.append(step([event("a", 2)], { claims: [{ ...release, id: "a" }] }))
      expect(log.holder("i1", "key", "k", time)).toBeUndefined()
    })

    test("a claim is free from the moment it expires, and its holder may renew it", async () => {
      await log.append(step([event("a", 1)], { claims: [claimKey("a", "k", time + 10)] }))
      await log.append(step([event("a", 2)], { claims: [claimKey("a", "k", time + 20)] }))
      const late = (at: number) =>
        log.append(step([event("b", 1)], { time: at, claims: [claimKey("b", "k")] }))
      expect((await late(time + 19)).kind).toBe("taken")
      expect(log.holder("i1", "key", "k", time + 20)).toBeUndefined()
      expect((await late(time + 20)).kind).toBe("appended")
    })

    test("instances share neither streams nor claims", async () => {
      const claims = [claimKey("a", "k")]
      await log.append(step([event("a", 1)], { claims }))
      const other = step([event("a", 1, { instance: "i2" })], { instance: "i2", claims })
      expect((await log.append(other)).kind).toBe("appended")
      expect(log.holder("i3", "key", "k", time)).toBeUndefined()
    })

    test("what is looked for by its type is found, and the rest is passed over", async () => {
      await log.append(step([event("a", 1), event("a", 2), event("b", 1)]))
      await log.append(step([event("b", 2), event("a", 3)]))
      const find = async (position: number, limit: number, types: readonly string[]) => {
        const { events, upTo } = await log.find(position, limit, types)
        return [events.map((each) => `${each.id}${each.version}`), upTo]
      }
      expect(await find(0, 9, ["note.added"])).toEqual([["a1", "b1"], 5])
      expect(await find(0, 9, ["note.added", "note.changed"])).toEqual([
        ["a1", "a2", "b1", "b2", "a3"],
        5,
      ])
      expect(await find(0, 2, ["note.added"])).toEqual([["a1"], 2])
      expect(await find(0, 1, ["note.changed"])).toEqual([[], 1])
      // A log without newer events of the type can skip all at once.
      const [nothing, upTo] = await find(3, 1, ["note.added"])
      expect(nothing).toEqual([])
      expect([4, 5]).toContain(upTo)
      expect(await find(3, 9, ["note.erased", "never.heard"])).toEqual([[], 5])
      expect(await find(5, 9, ["note.added"])).toEqual([[], 5])
      expect(await find(0, 9, [])).toEqual([[], 5])
    })

    test("a stream is read by itself, from either end, in windows", async () => {
      const two = [event("a", 2), event("b", 2)]
      await log.append(step([event("a", 1), event("b", 1)]))
      await log.append(step(two))
      await log.append(step([event("a", 3)]))
      const over = { instance: "i2" }
      await log.append(step([event("a", 1, over)], over))
      const part = async (asc: boolean, limit: number, from?: number) => {
        const window = { instance: "i1", ...noteStream, id: "a", asc, limit, from }
        return (await log.history(window)).map(({ id, version }) => `${id}${version}`)
      }
      expect(await part(false, 9)).toEqual(["a3", "a2", "a1"])
      expect(await part(true, 9)).toEqual(["a1", "a2", "a3"])
      expect(await part(false, 2)).toEqual(["a3", "a2"])
      expect(await part(false, 2, 2)).toEqual(["a1"])
      expect(await part(true, 1, 1)).toEqual(["a2"])
      expect(await part(true, 9, 3)).toEqual([])
      const never = { instance: "i1", stream: "never", id: "a", asc: true, limit: 9 }
      expect(await log.history(never)).toEqual([])
    })

    test("reading goes on after a position, and no further than asked", async () => {
      for (const id of ["a", "b", "c", "d"]) await log.append(step([event(id, 1)]))
      expect((await log.read(1, 2)).map(({ id }) => id)).toEqual(["b", "c"])
      expect(await log.read(4, 10)).toEqual([])
    })

    test("an erasure voids privates of its stream's earlier events, by type or all", async () => {
      const secret = (id: string, version: number) =>
        event(id, version, { private: { id, version } })
      await log.append(step([secret("a", 1), secret("a", 2), secret("b", 1)]))
      await log.append(step([{ ...secret("a", 3), erase: { types: ["note.changed"] } }]))
      const privates = async () => (await all()).map((each) => each.private !== null)
      expect(await privates()).toEqual([true, false, true, true])
      await log.append(step([event("a", 4, { type: "note.erased", erase: {} })]))
      expect(await privates()).toEqual([false, false, true, false, false])
    })

    test("bytes are kept beside a stream until they are dropped or it is erased", async () => {
      const at = { ...noteStream, id: "a" }
      const put = (name: string, text: string) => ({ ...at, put: name, bytes: bytesOf(text) })
      const blobs = [put("one", "1"), put("two", "2"), put("three", "3"), put("three", "4")]
      await log.append(step([event("a", 1)], { blobs }))
      const kept = (instance = "i1", id = "a") =>
        ["one", "two", "three"].map((name) => {
          const bytes = log.blob({ instance, ...noteStream, id, name })
          return bytes && Buffer.from(bytes).toString()
        })
      expect(kept()).toEqual(["1", "2", "4"])
      expect([...kept("i2"), ...kept("i1", "b")]).toEqual(Array(6).fill(undefined))
      await log.append(step([event("a", 2)], { blobs: [{ ...at, drop: "one" }] }))
      expect(kept()).toEqual([undefined, "2", "4"])
      await log.append(step([event("a", 3, { erase: { types: ["note.changed"] } })]))
      expect(kept()).toEqual([undefined, "2", "4"])
      await log.append(step([event("a", 4, { type: "note.erased", erase: {} })]))
      expect(kept()).toEqual([undefined, undefined, undefined])
    })

    test("bytes of a step that conflicts are not kept", async () => {
      await log.append(step([event("a", 1)]))
      const put = { ...noteStream, id: "a", put: "one", bytes: bytesOf("1") }
      const late = step([event("a", 1)], { blobs: [put] })
      expect((await log.append(late)).kind).toBe("conflict")
      expect(log.blob({ instance: "i1", ...noteStream, id: "a", name: "one" })).toBeUndefined()
    })

    test("what is acknowledged is durable", async () => {
      const result = await log.append(step([event("a", 1)]))
      expect(result.kind === "appended" && log.durable() >= result.position).toBe(true)
      await log.settle()
      expect(log.durable()).toBe(1)
    })
  })
}
