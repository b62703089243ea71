// A worker of a store, in the same process: what goes between them is text, as it is between two.
import { type Clock, systemClock } from "../../src/kernel/clock.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { idsOf } from "../../src/kernel/id.ts"
import { lazily } from "../../src/kernel/lazy.ts"
import { spentOnce } from "../../src/server/worker/spent.ts"
import {
  type Channel,
  type Cx,
  channelOf,
  type Handlers,
  type Message,
  type OpenOptions,
  openReading,
  openStore,
  type Store,
  type Try,
  writerAt,
  writingHandlers,
} from "../../src/store/index.ts"

type Options = Pick<OpenOptions, "file" | "aggregates" | "views" | "textIndexFrom">

/**
 * Opens it on the file of a store that writes. `cut` breaks the line: what was said already comes
 * to the one that writes, and its answers to nobody.
 */
export function openBeside(
  writing: Store,
  options: Options,
  part = 1,
  handlers: Handlers = writingHandlers(writing, spentOnce(systemClock, 2)),
) {
  let isCut = false
  const carrying = (to: () => Channel, mayBeCut: boolean) => (message: Message) => {
    const text = JSON.stringify(message)
    setImmediate(() => {
      if (!isCut || !mayBeCut) to().take(JSON.parse(text))
    })
  }
  const there: Channel = channelOf(
    carrying(() => here, true),
    handlers,
  )
  const here: Channel = channelOf(
    carrying(() => there, false),
    {},
  )
  const store = openReading({ ...options, part }, writerAt(here))
  const cut = () => {
    isCut = true
    here.lost()
  }
  return { store, cut }
}

/** A worker with the store that writes; it also does what only that one does: for whole worlds. */
export function openBothStores(options: OpenOptions, clock: Clock): Store {
  let reading: Store | undefined
  let scrubHere: Store["scrub"] | undefined
  const rest = async () => {
    const goOn = [await reading?.worker?.rest()]
    return {
      hold: async () => void goOn.push(reading?.worker?.hold()),
      readOn: () => goOn.forEach((readOn) => void readOn?.()),
    }
  }
  const scrub = async () => scrubHere?.()
  // One memory for both, as between two processes.
  const spendOnce = spentOnce(clock, 2)
  const writing = openStore({ ...options, workers: { rest, scrub, spendOnce } })
  const { store } = openBeside(writing, options, 1, {
    ...writingHandlers(writing, spendOnce),
    ...domainHandlers(writing, clock),
  })
  reading = store
  scrubHere = store.scrub
  const { database, prune, purge, exclusive, probe, inspect } = writing
  const { close } = store
  return Object.assign(store, {
    database,
    prune,
    purge,
    exclusive,
    probe,
    inspect,
    scrub: writing.scrub,
    shrink: writing.shrink,
    close: async () => {
      await close()
      await writing.close()
    },
  })
}

/** What the one that writes does for the domain, which tests of the store do without. */
function domainHandlers(store: Store, clock: Clock): Handlers {
  const turns = lazily(async () => {
    const { turnsFor } = await import("../../src/domain/lockout/index.ts")
    return turnsFor({ store, clock })
  })
  const base = { store, clock, random: systemRandom, ids: idsOf(clock), requestId: "request" }
  return {
    turn: async (asked: Try) => (await turns()).turn(asked),
    turned: async (told: { readonly ticket: number; readonly isRight: boolean }) =>
      (await turns()).turned(told),
    count: async (instance: string) => {
      const { countRequest } = await import("../../src/domain/quota/index.ts")
      // Reason for the cast: nothing else of a call is asked.
      return countRequest({ ...base, instance, caller: { kind: "system", name: "" } } as Cx)
    },
  }
}
