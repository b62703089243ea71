import { type Code, Fault } from "../../kernel/fault.ts"
import type { Append, AppendResult, BlobRequest } from "../log/log.ts"
import { removeFailedEvent, retryFailedEvents } from "../reactor/progress.ts"
import type { FailedSelection } from "../shared/shared-log.ts"
import type { Store } from "../store.ts"
import type { Channel } from "./channel.ts"
import type { AttemptPermission, Writer } from "./writer.ts"

/** Blobs as text, because the rest of a transaction is plain JSON. */
type SentBlob = Omit<BlobRequest, "bytes"> & { readonly base64?: string }
type SentStep = Omit<Append, "blobs"> & { readonly blobs?: readonly SentBlob[] }

const encodeStep = ({ blobs, ...step }: Append): SentStep =>
  blobs === undefined || blobs.length === 0 ? step : { ...step, blobs: blobs.map(encodeBlob) }

const encodeBlob = (blob: BlobRequest): SentBlob => {
  if ("drop" in blob) return blob
  const { bytes, ...rest } = blob
  return { ...rest, base64: Buffer.from(bytes).toString("base64") }
}

const decodeStep = ({ blobs, ...step }: SentStep): Append =>
  blobs === undefined ? step : { ...step, blobs: blobs.map(decodeBlob) }

const decodeBlob = ({ base64, ...blob }: SentBlob): BlobRequest =>
  // Reason for the cast: the sender had a valid transaction.
  (base64 === undefined
    ? blob
    : { ...blob, bytes: new Uint8Array(Buffer.from(base64, "base64")) }) as BlobRequest

/** The writer at the other end of a channel. */
export function createWriter({ ask }: Pick<Channel, "ask">): Writer {
  return {
    append: (step) => ask<AppendResult>("append", encodeStep(step)),
    settle: () => ask<number>("settle"),
    spendOnce: (claim, until) => ask<boolean>("spendOnce", { what: claim, until }),
    turn: async (attempt) => {
      const { ticket, ...turn } = await ask<TurnTicket>("turn", attempt)
      // A process that has ended counts it itself.
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

type TurnTicket = Omit<AttemptPermission, "over"> & { readonly ticket: number }
type SentDiskFault = { readonly code: Code; readonly id: string; readonly message: string }

/** The requests that a reading process may send to the writer. */
export const createWriterHandlers = (store: Store, spendOnce: Writer["spendOnce"]) => ({
  // A conflicting or taken claim is in the file before the answer, so that the sender finds it
  // there.
  append: (step: SentStep) => store.log.append(decodeStep(step)),
  settle: async () => {
    await store.log.settle()
    return store.log.durable()
  },
  spendOnce: ({ what, until }: { readonly what: string; readonly until: number }) =>
    spendOnce(what, until),
  // As if this process had detected it.
  trouble: ({ code, id, message }: SentDiskFault) =>
    void store.faultOf(new Fault(code, id, message)),
  rebuild: (view: string) => void store.rebuild(view),
  removeFailed: ({ reactor, position }: { readonly reactor: string; readonly position: number }) =>
    removeFailedEvent(store, reactor, position),
  retryFailed: (which: FailedSelection) => retryFailedEvents(store, which),
})
