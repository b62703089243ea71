import { createQueue } from "../../runtime/queue.ts"
import type { ReadAnswer, ReadRequest } from "./reader-request.ts"

/** In the compiled binary, scripts/build.ts places the worker's entry point below the bundle. */
const workerUrl = () =>
  import.meta.url.endsWith("/thread.ts")
    ? new URL("./reader-worker.ts", import.meta.url)
    : new URL("./store/search/reader-worker.js", import.meta.url)

export const readerThread = () => new Worker(workerUrl().href, { smol: true })

export type ThreadEnded = { readonly ended: string }

/** Sends requests to a thread, one after the other. */
export type ThreadClient = {
  /** Sends a request; starts the thread if none is running. */
  readonly send: (request: ReadRequest) => Promise<ReadAnswer | ThreadEnded>
  readonly isRunning: () => boolean
  /** Waits for a turn in a line; lines take turns. The returned function ends the turn. */
  readonly queue: (line?: string) => Promise<() => void>
  readonly close: () => Promise<void>
}

export function createThreadClient(thread = readerThread): ThreadClient {
  let worker: Worker | undefined
  let waiting: PromiseWithResolvers<ReadAnswer | ThreadEnded> | undefined
  const turns = createQueue(
    1,
    Number.POSITIVE_INFINITY,
    () => new Error("queue lines are unlimited"),
  )

  const queue = (line?: string) => {
    const { promise, resolve } = Promise.withResolvers<() => void>()
    void turns(() => new Promise<void>((end) => resolve(end)), { line })
    return promise
  }
  /** A turn after all that are waiting, in any line. */
  const lastTurn = async () => {
    for (;;) {
      const end = await queue()
      if (turns.load().waiting === 0) return end
      end()
    }
  }
  const start = () => {
    const started = thread()
    const ended = (reason: string) => {
      if (worker !== started) return
      worker = undefined
      waiting?.resolve({ ended: reason })
    }
    started.addEventListener("message", (event: MessageEvent<ReadAnswer>) => {
      waiting?.resolve(event.data)
    })
    started.addEventListener("error", ({ message }) => ended(message))
    started.addEventListener("close", () => ended("closed"))
    return started
  }
  return {
    send: (request) => {
      worker ??= start()
      waiting = Promise.withResolvers()
      worker.postMessage(request)
      return waiting.promise
    },
    isRunning: () => worker !== undefined,
    queue,
    close: async () => {
      const end = await lastTurn()
      if (worker) {
        const { promise, resolve } = Promise.withResolvers<void>()
        worker.addEventListener("close", () => resolve())
        worker.postMessage({ close: true } satisfies ReadRequest)
        worker = undefined
        await promise
      }
      end()
    },
  }
}
