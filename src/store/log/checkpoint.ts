/** Number of frames in the WAL, and how many of them the database file already has. */
export type CheckpointProgress = {
  readonly frames: number
  readonly copied: number
  /** Whether truncation was requested and done. */
  readonly isEmpty: boolean
  /** Why nothing was copied. The WAL still has everything, and the next checkpoint tries again. */
  readonly refused?: { readonly name: string; readonly code: string; readonly message: string }
}

/** A request to the worker. `empty` truncates the WAL file, including old frames. */
export type CheckpointRequest =
  | { readonly file: string; readonly empty: boolean }
  | { readonly close: true }

export type CheckpointGate = {
  /** Nothing, unless a checkpoint is finishing; commits wait for the returned promise. */
  readonly open: () => Promise<void> | undefined
  /** Records a commit of this many events; enough of them start a checkpoint. */
  readonly committed: (events: number, erased?: boolean) => void
  /**
   * Truncates the WAL if it contains erased data or has grown too large; otherwise does nothing.
   */
  readonly scrub: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Copies the WAL: the worker, or a test double. */
export type Checkpointer = {
  readonly passive: () => Promise<CheckpointProgress>
  /**
   * Copies the whole WAL and truncates it; returns whether it is empty. There must be no commits
   * meanwhile.
   */
  readonly empty: () => Promise<boolean>
  /** Resolves when no other connection reads; the returned function lets them read again. */
  readonly pause?: (() => Promise<() => void>) | undefined
  readonly close: () => Promise<void>
}

export type WalBounds = {
  /** Longer WALs are truncated. */
  readonly framesMax?: number
  /**
   * Returns the number of frames; if absent, only the number of events starts a checkpoint. Nodes
   * set it: they write what they follow in batches, and their checkpoints compete with the log for
   * the disk.
   */
  readonly frames?: (() => number | undefined) | undefined
}

/**
 * Events between checkpoints: at seven pages per event, when each is committed alone, 86 MB of WAL.
 */
const eventsBetween = 3000
/** Batched events need fewer frames each: the checkpoint waits for at least this many frames. */
const framesBetween = 16_384
/** After this many further events, the frames are counted again. */
const eventsUntilRecount = 500
/**
 * WAL size above which it is truncated; a long-running external reader can make it grow this large.
 */
const defaultMaxFrames = 65_536
/** Maximum number of frames to copy while commits wait; more are copied before, */
const maxFramesWhilePaused = 1024
/** in at most this many passes: commits wait longer if they are faster than the disk. */
const maxPasses = 3

/**
 * Checkpoints that never stall the event loop and limit the size of the WAL. A worker copies most
 * of the WAL while commits continue, in several passes, until few frames are left. Then `flush`
 * commits the open group, and commits wait (the event loop runs) while the worker copies the rest.
 * Without readers, the next commit restarts the WAL from the beginning. Without this pause, the WAL
 * of a busy server would never restart.
 * Readers on other connections prevent copying and restarting. `pause` waits for them before
 * commits are paused, and lets no reader start until everything is copied.
 * A restarted WAL keeps its size and its old content until it is overwritten. If data was erased,
 * or a long read made the WAL very large, it is truncated instead; truncating every time would be
 * slower.
 */
export function createGate(
  checkpointer: Checkpointer,
  flush: () => void,
  { framesMax: maxFrames = defaultMaxFrames, frames: countFrames }: WalBounds = {},
): CheckpointGate {
  const { passive, empty, close, pause = noReaders } = checkpointer
  let events = 0
  let mustTruncate = false
  let commitsPaused: Promise<void> | undefined
  let running: Promise<void> | undefined

  const copyMostFrames = async () => {
    let copied = 0
    for (let pass = 0; pass < maxPasses; pass++) {
      const { frames } = await passive()
      const isSmall = frames - copied <= maxFramesWhilePaused
      copied = frames
      if (isSmall) break
    }
    return copied
  }

  const checkpoint = async () => {
    const frames = await copyMostFrames()
    mustTruncate ||= frames > maxFrames
    const resumeReaders = await pause()
    events = 0
    const { promise, resolve } = Promise.withResolvers<void>()
    commitsPaused = promise
    flush()
    if (mustTruncate) mustTruncate = !(await empty())
    else await passive()
    commitsPaused = undefined
    resumeReaders()
    resolve()
  }

  const start = () => {
    running = checkpoint().finally(() => {
      running = undefined
    })
    return running
  }

  return {
    open: () => commitsPaused,
    committed: (count, erased = false) => {
      events += count
      mustTruncate ||= erased
      if (events < eventsBetween || running !== undefined) return
      if (mustTruncate || (countFrames?.() ?? framesBetween) >= framesBetween) void start()
      else events -= eventsUntilRecount
    },
    scrub: async () => {
      await running
      if (mustTruncate) await (running ?? start())
    },
    close: async () => {
      await running
      await close()
    },
  }
}

const noReaders = () => Promise.resolve(() => {})

/** In the compiled binary, scripts/build.ts places the worker's entry point below the bundle. */
const workerUrl = () =>
  import.meta.url.endsWith("/checkpoint.ts")
    ? new URL("./checkpoint-worker.ts", import.meta.url)
    : new URL("./store/log/checkpoint-worker.js", import.meta.url)

type WorkerHandlers = {
  readonly failed: (cause: Error) => void
  readonly refused: (cause: Error) => void
}

/**
 * The worker, started by the first checkpoint. If it fails, the state of the disk is unknown, so
 * `failed` must end the process; pending calls never resolve.
 */
export function createCheckpointWorker(
  file: string,
  { failed, refused }: WorkerHandlers,
): Checkpointer {
  let worker: Worker | undefined
  const waiting: ((progress: CheckpointProgress) => void)[] = []
  const start = () => {
    const started = new Worker(workerUrl().href, { smol: true })
    started.addEventListener("message", (event: MessageEvent<CheckpointProgress>) => {
      const { refused: cause } = event.data
      if (cause) refused(Object.assign(new Error(cause.message), cause))
      waiting.shift()?.(event.data)
    })
    started.addEventListener("error", (event) => {
      failed(new Error(`the checkpoint worker failed: ${event.message}`))
    })
    return started
  }
  const requestCheckpoint = (empty: boolean) => {
    worker ??= start()
    const { promise, resolve } = Promise.withResolvers<CheckpointProgress>()
    waiting.push(resolve)
    worker.postMessage({ file, empty } satisfies CheckpointRequest)
    return promise
  }
  return {
    passive: () => requestCheckpoint(false),
    empty: async () => (await requestCheckpoint(true)).isEmpty,
    close: async () => {
      if (!worker) return
      const { promise, resolve } = Promise.withResolvers<void>()
      worker.addEventListener("close", () => resolve())
      worker.postMessage({ close: true } satisfies CheckpointRequest)
      await promise
    },
  }
}
