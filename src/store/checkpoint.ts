/** Frames in the WAL and how many of them the database file already has. */
export type Progress = { readonly frames: number; readonly copied: number }

/** What the worker is asked, and answers. */
export type CheckpointRequest = { readonly file: string } | { readonly close: true }

export type Gate = {
  /** Resolves at once unless a checkpoint is finishing; commits wait for it. */
  readonly open: () => Promise<void> | undefined
  /** Notes a commit; enough of them start a checkpoint. */
  readonly committed: () => void
  readonly close: () => Promise<void>
}

/** Commits between checkpoints: about 40 MB of WAL at seven pages a commit. */
const commitsBetween = 1500

/**
 * Checkpoints that never stall the event loop and keep the WAL bounded. A worker copies most of
 * the WAL while commits go on; then commits are held (queued: the loop runs) while it copies the
 * few frames that came meanwhile, and since nobody reads the WAL any more the next commit starts
 * it from the beginning. Without the hold the WAL of a busy server would never be restarted.
 */
export function checkpointGate(passive: () => Promise<Progress>, close: () => void): Gate {
  let commits = 0
  let held: Promise<void> | undefined
  let running: Promise<void> | undefined

  const hold = async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    held = promise
    try {
      await passive()
    } finally {
      held = undefined
      resolve()
    }
  }
  const checkpoint = async () => {
    await passive()
    commits = 0
    await hold()
  }

  return {
    open: () => held,
    committed: () => {
      commits++
      if (commits < commitsBetween || running) return
      running = checkpoint().finally(() => {
        running = undefined
      })
    },
    close: async () => {
      await running
      close()
    },
  }
}

/** The compiled binary is one bundle beside which scripts/build.ts puts the worker's entry point. */
const workerUrl = () =>
  import.meta.url.endsWith("/checkpoint.ts")
    ? new URL("./checkpoint-worker.ts", import.meta.url)
    : new URL("./store/checkpoint-worker.js", import.meta.url)

/** The worker's side of the gate. It is started by the first checkpoint, which most days need. */
export function checkpointWorker(file: string, failed: (cause: Error) => void) {
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
    passive: (): Promise<Progress> => {
      worker ??= start()
      const { promise, resolve } = Promise.withResolvers<Progress>()
      waiting.push(resolve)
      worker.postMessage({ file } satisfies CheckpointRequest)
      return promise
    },
    close: () => {
      worker?.postMessage({ close: true } satisfies CheckpointRequest)
      worker = undefined
    },
  }
}
