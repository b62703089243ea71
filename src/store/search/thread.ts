import type { ReadAnswer, ReadRequest } from "./reader.ts"

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
  /** Waits in line; resolves with what lets the next one begin. */
  readonly queue: () => Promise<() => void>
  readonly close: () => Promise<void>
}

export function askerOf(thread = readerThread): Asker {
  let worker: Worker | undefined
  let waiting: PromiseWithResolvers<ReadAnswer | Ended> | undefined
  let last: Promise<void> = Promise.resolve()

  const queue = async () => {
    const before = last
    const { promise, resolve } = Promise.withResolvers<void>()
    last = promise
    await before
    return resolve
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
      const end = await queue()
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
