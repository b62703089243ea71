import { type Code, Fault } from "../../kernel/fault.ts"
import type { Append, Appended, BlobRequest } from "../log/log.ts"
import { removeFailedEvent, retryFailedEvents } from "../reactor/book.ts"
import type { FailedSelection } from "../shared/shared-log.ts"
import type { Store } from "../store.ts"
import type { Channel } from "./channel.ts"
import type { Turn, Writer } from "./writer.ts"

/** Bytes as text: all else of a step is JSON as it stands. */
type SentBlob = Omit<BlobRequest, "bytes"> & { readonly base64?: string }
type SentStep = Omit<Append, "blobs"> & { readonly blobs?: readonly SentBlob[] }

const sent = ({ blobs, ...step }: Append): SentStep =>
  blobs === undefined || blobs.length === 0 ? step : { ...step, blobs: blobs.map(sentBlob) }

const sentBlob = (blob: BlobRequest): SentBlob => {
  if ("drop" in blob) return blob
  const { bytes, ...rest } = blob
  return { ...rest, base64: Buffer.from(bytes).toString("base64") }
}

const received = ({ blobs, ...step }: SentStep): Append =>
  blobs === undefined ? step : { ...step, blobs: blobs.map(receivedBlob) }

const receivedBlob = ({ base64, ...blob }: SentBlob): BlobRequest =>
  // Reason for the cast: whoever sent it had such a one.
  (base64 === undefined
    ? blob
    : { ...blob, bytes: new Uint8Array(Buffer.from(base64, "base64")) }) as BlobRequest

/** The writer at the other end of a channel. */
export function writerAt({ ask }: Pick<Channel, "ask">): Writer {
  return {
    append: (step) => ask<Appended>("append", sent(step)),
    settle: () => ask<number>("settle"),
    spendOnce: (what, until) => ask<boolean>("spendOnce", { what, until }),
    turn: async (asked) => {
      const { ticket, ...turn } = await ask<Ticket>("turn", asked)
      // A process that is gone counts it itself.
      const over = (isRight: boolean) =>
        void ask("turned", { ticket, isRight }).catch(() => undefined)
      return { ...turn, over }
    },
    count: (instance) => ask<void>("count", instance),
    trouble: ({ code, id, message }) => ask<void>("trouble", { code, id, message }),
    rebuild: (view) => ask<void>("rebuild", view),
    removeFailed: (reactor, position) => ask<void>("removeFailed", { reactor, position }),
    retryFailed: (which) => ask<number>("retryFailed", which),
  }
}

type Ticket = Omit<Turn, "over"> & { readonly ticket: number }
type Trouble = { readonly code: Code; readonly id: string; readonly message: string }

/** What a process that reads may ask of the one that writes. */
export const writingHandlers = (store: Store, spendOnce: Writer["spendOnce"]) => ({
  // What conflicts or is taken is in the file, too, before anybody is told: they look again there.
  append: (step: SentStep) => store.log.append(received(step)),
  settle: async () => {
    await store.log.settle()
    return store.log.durable()
  },
  spendOnce: ({ what, until }: { readonly what: string; readonly until: number }) =>
    spendOnce(what, until),
  // As if this process had met it.
  trouble: ({ code, id, message }: Trouble) => void store.faultOf(new Fault(code, id, message)),
  rebuild: (view: string) => void store.rebuild(view),
  removeFailed: ({ reactor, position }: { readonly reactor: string; readonly position: number }) =>
    removeFailedEvent(store, reactor, position),
  retryFailed: (which: FailedSelection) => retryFailedEvents(store, which),
})
