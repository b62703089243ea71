// A worker of a store, in the same process: what goes between them is text, as it is between two.
import { type Clock, systemClock } from "../../src/kernel/clock.ts"
import { spentOnce } from "../../src/server/worker/spent.ts"
import {
  type Channel,
  channelOf,
  type Handlers,
  type Message,
  type OpenOptions,
  openReading,
  openStore,
  type Store,
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
  const { store } = openBeside(writing, options, 1, writingHandlers(writing, spendOnce))
  reading = store
  scrubHere = store.scrub
  const { database, prune, purge, exclusive, probe, inspect } = writing
  const { close } = store
  return Object.assign(store, {
    ...{ database, prune, purge, exclusive, probe, inspect, scrub: writing.scrub },
    close: async () => {
      await close()
      await writing.close()
    },
  })
}
