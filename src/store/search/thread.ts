import { queueOf } from "../../runtime/queue.ts"
import type { ReadAnswer, ReadRequest } from "./reader-request.ts"

/** In the compiled binary scripts/build.ts puts the worker's entry point below the one bundle. */
const workerUrl = () =>
  import.meta.url.endsWith("/thread.ts")
    ? new URL("./reader-worker.ts", import.meta.url)
    : new URL("./store/search/reader-worker.js", import.meta.url)

export const readerThread = () => new Worker(workerUrl().href, { smol: true })

export type Ended = { readonly ended: string }

/** Who asks a thread one thing after the other. */
export type Asker = {
  /** Starts the thread where there is none, or none any more. */
  readonly ask: (request: ReadRequest) => Promise<ReadAnswer | Ended>
  readonly isRunning: () => boolean
  /** Waits in a line, which takes turns with others; resolves with what lets the next one begin. */
  readonly queue: (line?: string) => Promise<() => void>
  readonly close: () => Promise<void>
}

export function askerOf(thread = readerThread): Asker {
  let worker: Worker | undefined
  let waiting: PromiseWithResolvers<ReadAnswer | Ended> | undefined
  const turns = queueOf(1, Number.POSITIVE_INFINITY, () => new Error("no line is ever full"))

  const queue = (line?: string) => {
    const { promise, resolve } = Promise.withResolvers<() => void>()
    void turns(() => new Promise<void>((end) => resolve(end)), { line })
    return promise
  }
  /** The turn after all that wait, in whatever line. */
  const lastTurn = async () => {
    for (;;) {
      const end = await queue()
      if (turns.load().waiting === 0) return end
      end()
    }
  }
  const start = () => {
    const started = thread()
    const ended = (why: string) => {
      if (worker !== started) return
      worker = undefined
      waiting?.resolve({ ended: why })
    }
    started.addEventListener("message", (event: MessageEvent<ReadAnswer>) => {
      waiting?.resolve(event.data)
    })
    started.addEventListener("error", ({ message }) => ended(message))
    started.addEventListener("close", () => ended("closed"))
    return started
  }
  return {
    ask: (request) => {
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
