import { type Code, Fault, stackText } from "../../kernel/fault.ts"

/** A message between two processes: a numbered request, or its answer. */
export type Message =
  | { readonly ask: number; readonly name: string; readonly given: unknown }
  | { readonly answer: number; readonly value?: unknown }
  | { readonly answer: number; readonly fault: SentFault }
  | { readonly answer: number; readonly bug: string }

/** A fault as sent to another process. */
type SentFault = Pick<Fault, "message" | "id"> & {
  readonly code: Code
  readonly retryAfterSeconds?: number | undefined
}

/** The requests that the other process may send, by name. Each handler returns plain JSON. */
export type Handlers = Readonly<Record<string, (input: never) => unknown>>

export type Channel = {
  /**
   * Sends a request. Rejects with the other process's fault, or with `worker.gone` if that process
   * has ended.
   */
  readonly ask: <T = unknown>(name: string, input?: unknown) => Promise<T>
  /** Handles an incoming message. */
  readonly take: (message: Message) => void
  /** Rejects all pending requests after the other process has ended: their outcome is unknown. */
  readonly lost: () => void
}

/** Sends and answers requests over a connection that delivers messages in order until it breaks. */
export function createChannel(send: (message: Message) => void, handlers: Handlers): Channel {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  let nextRequest = 0
  let isLost = false
  const answer = async (ask: number, work: () => unknown) => {
    const said = await runHandler(work)
    if (!isLost) send({ answer: ask, ...said })
  }
  const take = (message: Message) => {
    if ("ask" in message) {
      // Reason for the cast: the other process runs the same program and sends valid requests.
      const handler = handlers[message.name] as ((input: unknown) => unknown) | undefined
      void answer(message.ask, () => {
        if (!handler) throw new Error(`no handler for ${message.name}`)
        return handler(message.given)
      })
      return
    }
    const pendingRequest = waiting.get(message.answer)
    waiting.delete(message.answer)
    if ("fault" in message) pendingRequest?.reject(toFault(message.fault))
    else if ("bug" in message) pendingRequest?.reject(new Error(message.bug))
    else pendingRequest?.resolve(message.value)
  }
  return {
    ask: <T>(name: string, input?: unknown) => {
      if (isLost) return Promise.reject(processGoneError())
      const pendingRequest = Promise.withResolvers<unknown>()
      waiting.set(++nextRequest, pendingRequest)
      send({ ask: nextRequest, name, given: input })
      // Reason for the cast: the other process runs the same program and returns what was
      // requested.
      return pendingRequest.promise as Promise<T>
    },
    take,
    lost: () => {
      isLost = true
      const all = [...waiting.values()]
      waiting.clear()
      for (const { reject } of all) reject(processGoneError())
    },
  }
}

async function runHandler(work: () => unknown) {
  try {
    return { value: await work() }
  } catch (cause) {
    if (!(cause instanceof Fault)) {
      return { bug: stackText(cause) }
    }
    const { code, id, message, retryAfterSeconds } = cause
    return { fault: { code, id, message, retryAfterSeconds } }
  }
}

const toFault = ({ code, id, message, retryAfterSeconds }: SentFault): Fault =>
  new Fault(code, id, message, retryAfterSeconds === undefined ? {} : { retryAfterSeconds })

const processGoneError = () =>
  new Fault(
    "unavailable",
    "worker.gone",
    "the writer process has ended, so it is unknown whether this was done; check before " +
      "you retry",
  )
