// A worker's store in the same process: messages are serialized as between processes.
import { type Clock, systemClock } from "../../src/kernel/clock.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { createIds } from "../../src/kernel/id.ts"
import { loadOnce } from "../../src/kernel/lazy.ts"
import { createUsedOnce } from "../../src/server/worker/used-once.ts"
import {
  type Channel,
  type Cx,
  createChannel,
  createWriter,
  createWriterHandlers,
  type Handlers,
  type Message,
  type OpenOptions,
  openReadingStore,
  openStore,
  type QueuedAttempt,
  type Store,
} from "../../src/store/index.ts"

type WorkerStoreOptions = Pick<OpenOptions, "file" | "aggregates" | "views" | "textIndexFrom">

/**
 * Opens a reading store on the file of a writing store. `cut` breaks the channel: messages that are
 * already sent still reach the writer, and its responses are lost.
 */
export function openWorkerStore(
  writing: Store,
  options: WorkerStoreOptions,
  part = 1,
  handlers: Handlers = createWriterHandlers(writing, createUsedOnce(systemClock, 2)),
) {
  let isCut = false
  const deliver = (to: () => Channel, mayBeCut: boolean) => (message: Message) => {
    const text = JSON.stringify(message)
    setImmediate(() => {
      if (!isCut || !mayBeCut) to().take(JSON.parse(text))
    })
  }
  const writerChannel: Channel = createChannel(
    deliver(() => readerChannel, true),
    handlers,
  )
  const readerChannel: Channel = createChannel(
    deliver(() => writerChannel, false),
    {},
  )
  const store = openReadingStore({ ...options, part }, createWriter(readerChannel))
  const cut = () => {
    isCut = true
    readerChannel.lost()
  }
  return { store, cut }
}

/**
 * A worker's store together with the writing store; also runs what only the writer does, for whole
 * environments.
 */
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
  const spendOnce = createUsedOnce(clock, 2)
  const writing = openStore({ ...options, workers: { rest, scrub, spendOnce } })
  const { store } = openWorkerStore(writing, options, 1, {
    ...createWriterHandlers(writing, spendOnce),
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

/** The domain handlers of the writer, which store tests don't need. */
function domainHandlers(store: Store, clock: Clock): Handlers {
  const turns = loadOnce(async () => {
    const { createSlotServer } = await import("../../src/domain/lockout/index.ts")
    return createSlotServer({ store, clock })
  })
  const base = { store, clock, random: systemRandom, ids: createIds(clock), requestId: "request" }
  return {
    turn: async (request: QueuedAttempt) => (await turns()).turn(request),
    turned: async (response: { readonly ticket: number; readonly isRight: boolean }) =>
      (await turns()).turned(response),
    count: async (instance: string) => {
      const { countRequest } = await import("../../src/domain/quota/index.ts")
      // Reason for the cast: no other field of the call is used.
      return countRequest({ ...base, instance, caller: { kind: "system", name: "" } } as Cx)
    },
  }
}
