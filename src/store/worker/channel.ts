import { type Code, Fault, traceText } from "../../kernel/fault.ts"

/** What two processes say to each other: one asks, by a number, and the other answers that. */
export type Message =
  | { readonly ask: number; readonly name: string; readonly given: unknown }
  | { readonly answer: number; readonly value?: unknown }
  | { readonly answer: number; readonly fault: Told }
  | { readonly answer: number; readonly bug: string }

/** A fault, as another process is told of it. */
type Told = Pick<Fault, "message" | "id"> & {
  readonly code: Code
  readonly retryAfterSeconds?: number | undefined
}

/** What the other process may ask, by its name. Each answers what is plain JSON. */
export type Handlers = Readonly<Record<string, (given: never) => unknown>>

export type Channel = {
  /** Faults as the other process does, and with `worker.gone` where nobody answers any more. */
  readonly ask: <T = unknown>(name: string, given?: unknown) => Promise<T>
  /** A message has come. */
  readonly take: (message: Message) => void
  /** The other process is gone: nobody knows what became of what was asked. */
  readonly lost: () => void
}

/** Asks and answers over a line that carries messages in their order, or breaks. */
export function channelOf(send: (message: Message) => void, handlers: Handlers): Channel {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  let asked = 0
  let isLost = false
  const answer = async (ask: number, work: () => unknown) => {
    const said = await outcomeOf(work)
    if (!isLost) send({ answer: ask, ...said })
  }
  const take = (message: Message) => {
    if ("ask" in message) {
      // Reason for the cast: the other end is the same program, which asks what it should.
      const handler = handlers[message.name] as ((given: unknown) => unknown) | undefined
      void answer(message.ask, () => {
        if (!handler) throw new Error(`nobody answers ${message.name}`)
        return handler(message.given)
      })
      return
    }
    const asker = waiting.get(message.answer)
    waiting.delete(message.answer)
    if ("fault" in message) asker?.reject(faultFrom(message.fault))
    else if ("bug" in message) asker?.reject(new Error(message.bug))
    else asker?.resolve(message.value)
  }
  return {
    ask: <T>(name: string, given?: unknown) => {
      if (isLost) return Promise.reject(goneError())
      const asker = Promise.withResolvers<unknown>()
      waiting.set(++asked, asker)
      send({ ask: asked, name, given })
      // Reason for the cast: the other end is the same program, which answers what is asked.
      return asker.promise as Promise<T>
    },
    take,
    lost: () => {
      isLost = true
      const all = [...waiting.values()]
      waiting.clear()
      for (const { reject } of all) reject(goneError())
    },
  }
}

async function outcomeOf(work: () => unknown) {
  try {
    return { value: await work() }
  } catch (cause) {
    if (!(cause instanceof Fault)) {
      return { bug: traceText(cause) }
    }
    const { code, id, message, retryAfterSeconds } = cause
    return { fault: { code, id, message, retryAfterSeconds } }
  }
}

const faultFrom = ({ code, id, message, retryAfterSeconds }: Told): Fault =>
  new Fault(code, id, message, retryAfterSeconds === undefined ? {} : { retryAfterSeconds })

const goneError = () =>
  new Fault(
    "unavailable",
    "worker.gone",
    "the process that does this has ended; nobody knows whether it was done, so look first",
  )
