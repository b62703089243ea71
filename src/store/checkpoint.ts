/** Frames in the WAL and how many of them the database file already has. */
export type Progress = { readonly frames: number; readonly copied: number }

/** What the worker is asked. */
export type CheckpointRequest = { readonly file: string } | { readonly close: true }

export type Gate = {
  /** Nothing unless a checkpoint is finishing; commits wait for what it answers. */
  readonly open: () => Promise<void> | undefined
  /** Notes a commit of so many events; enough of them start a checkpoint. */
  readonly committed: (events: number) => void
  readonly close: () => Promise<void>
}

/** Whoever copies the WAL: the worker, or a test. */
export type Checkpointer = {
  readonly passive: () => Promise<Progress>
  readonly close: () => Promise<void>
}

/** Events between checkpoints: at seven pages an event, when each comes alone, 86 MB of WAL. */
const eventsBetween = 3000

/**
 * Checkpoints that never stall the event loop and keep the WAL bounded. A worker copies most of
 * the WAL while commits go on; then `flush` commits what is under way, and commits are held
 * (queued: the loop runs) while it copies the few frames that came meanwhile. Since nobody reads
 * the WAL any more, the next commit starts it from the beginning. Without the hold the WAL of a
 * busy server would never be restarted.
 */
export function checkpointGate({ passive, close }: Checkpointer, flush: () => void): Gate {
  let events = 0
  let held: Promise<void> | undefined
  let running: Promise<void> | undefined

  const checkpoint = async () => {
    await passive()
    events = 0
    const { promise, resolve } = Promise.withResolvers<void>()
    held = promise
    flush()
    await passive()
    held = undefined
    resolve()
  }

  return {
    open: () => held,
    committed: (count) => {
      events += count
      if (events < eventsBetween || running !== undefined) return
      running = checkpoint().finally(() => {
        running = undefined
      })
    },
    close: async () => {
      await running
      await close()
    },
  }
}

/** In the compiled binary scripts/build.ts puts the worker's entry point below the one bundle. */
const workerUrl = () =>
  import.meta.url.endsWith("/checkpoint.ts")
    ? new URL("./checkpoint-worker.ts", import.meta.url)
    : new URL("./store/checkpoint-worker.js", import.meta.url)

/**
 * The worker, which the first checkpoint starts. When it fails nobody knows what it has synced, so
 * `failed` must end the process; whoever waits for it then waits forever.
 */
export function checkpointWorker(file: string, failed: (cause: Error) => void): Checkpointer {
  let worker: Worker | undefined
  const waiting: ((progress: Progress) => void)[] = []
  const start = () => {
    const started = new Worker(workerUrl().href)
    started.addEventListener("message", (event: MessageEvent<Progress>) => {
      waiting.shift()?.(event.data)
    })
    started.addEventListener("error", (event) => {
      failed(new Error(`the checkpoint worker failed: ${event.message}`))
    })
    return started
  }
  return {
    passive: () => {
      worker ??= start()
      const { promise, resolve } = Promise.withResolvers<Progress>()
      waiting.push(resolve)
      worker.postMessage({ file } satisfies CheckpointRequest)
      return promise
    },
    close: async () => {
      if (!worker) return
      const { promise, resolve } = Promise.withResolvers<void>()
      worker.addEventListener("close", () => resolve())
      worker.postMessage({ close: true } satisfies CheckpointRequest)
      await promise
    },
  }
}
