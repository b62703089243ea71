/** Frames in the WAL and how many of them the database file already has. */
export type Progress = {
  readonly frames: number
  readonly copied: number
  /** Whether the file was to be cut, and was. */
  readonly isEmpty: boolean
  /** Why nothing was copied. The WAL has everything, and the next checkpoint tries again. */
  readonly refused?: { readonly name: string; readonly code: string; readonly message: string }
}

/** What the worker is asked. `empty`: nothing is left in the WAL's file, not even old frames. */
export type CheckpointRequest =
  | { readonly file: string; readonly empty: boolean }
  | { readonly close: true }

export type Gate = {
  /** Nothing unless a checkpoint is finishing; commits wait for what it answers. */
  readonly open: () => Promise<void> | undefined
  /** Notes a commit of so many events; enough of them start a checkpoint. */
  readonly committed: (events: number, erased?: boolean) => void
  /**
   * Leaves nothing in the WAL of what has been erased, nor of what it has grown to beyond measure;
   * nothing happens where there is neither.
   */
  readonly scrub: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Whoever copies the WAL: the worker, or a test. */
export type Checkpointer = {
  readonly passive: () => Promise<Progress>
  /** Copies all of it, and cuts the file; answers whether it is empty. Nobody may commit. */
  readonly empty: () => Promise<boolean>
  /** Resolves when nobody reads through another connection, with what lets them read on. */
  readonly pause?: (() => Promise<() => void>) | undefined
  readonly close: () => Promise<void>
}

export type WalBounds = {
  /** A WAL that is longer is cut. */
  readonly framesMax?: number
  /**
   * Counts the frames; where they are not known, events alone start a checkpoint. Of a node: what
   * it follows it writes page by page, and its copies take the disk from the log's.
   */
  readonly frames?: (() => number | undefined) | undefined
}

/** Events between checkpoints: at seven pages an event, when each comes alone, 86 MB of WAL. */
const eventsBetween = 3000
/** Where many events are written together there may be more of them: up to this many frames. */
const framesBetween = 16_384
/** So many events later the frames are counted once more. */
const eventsAgain = 500
/** Frames of a WAL that somebody outside, who reads for long, has kept from beginning anew. */
const usualFramesMax = 65_536
/** So few frames may be left to copy while commits are held; more are copied before, */
const heldFramesMax = 1024
/** but not more often than this: who writes faster than the disk copies is held for longer. */
const passesMax = 3

/**
 * Checkpoints that never stall the event loop and keep the WAL bounded. A worker copies most of
 * the WAL while commits go on, and what came meanwhile, until little is left; then `flush` commits
 * what is under way, and commits are held (queued: the loop runs) while it copies that. Since
 * nobody reads the WAL any more, the next commit starts it from the beginning. Without the hold the
 * WAL of a busy server would never be restarted.
 *
 * Whoever reads through another connection keeps the WAL from being copied and restarted. `pause`
 * lets the readers come to an end before commits are held, and nobody begins until all is copied.
 *
 * A WAL that begins anew keeps what lay in it until that is written over, and its size for good.
 * Where something was erased, or while somebody read for long it grew beyond measure, its file is
 * cut instead; to let it grow again costs more, so that is not the rule.
 */
export function checkpointGate(
  checkpointer: Checkpointer,
  flush: () => void,
  { framesMax = usualFramesMax, frames: counted }: WalBounds = {},
): Gate {
  const { passive, empty, close, pause = noReaders } = checkpointer
  let events = 0
  let mustBeCut = false
  let held: Promise<void> | undefined
  let running: Promise<void> | undefined

  const copyMost = async () => {
    let copied = 0
    for (let pass = 0; pass < passesMax; pass++) {
      const { frames } = await passive()
      const isLittle = frames - copied <= heldFramesMax
      copied = frames
      if (isLittle) break
    }
    return copied
  }

  const checkpoint = async () => {
    const frames = await copyMost()
    mustBeCut ||= frames > framesMax
    const readOn = await pause()
    events = 0
    const { promise, resolve } = Promise.withResolvers<void>()
    held = promise
    flush()
    if (mustBeCut) mustBeCut = !(await empty())
    else await passive()
    held = undefined
    readOn()
    resolve()
  }

  const start = () => {
    running = checkpoint().finally(() => {
      running = undefined
    })
    return running
  }

  return {
    open: () => held,
    committed: (count, erased = false) => {
      events += count
      mustBeCut ||= erased
      if (events < eventsBetween || running !== undefined) return
      if (mustBeCut || (counted?.() ?? framesBetween) >= framesBetween) void start()
      else events -= eventsAgain
    },
    scrub: async () => {
      await running
      if (mustBeCut) await (running ?? start())
    },
    close: async () => {
      await running
      await close()
    },
  }
}

const noReaders = () => Promise.resolve(() => {})

/** In the compiled binary scripts/build.ts puts the worker's entry point below the one bundle. */
const workerUrl = () =>
  import.meta.url.endsWith("/checkpoint.ts")
    ? new URL("./checkpoint-worker.ts", import.meta.url)
    : new URL("./store/log/checkpoint-worker.js", import.meta.url)

type Outcomes = {
  readonly failed: (cause: Error) => void
  readonly refused: (cause: Error) => void
}

/**
 * The worker, which the first checkpoint starts. When it fails nobody knows what it has synced, so
 * `failed` must end the process; whoever waits for it then waits forever.
 */
export function checkpointWorker(file: string, { failed, refused }: Outcomes): Checkpointer {
  let worker: Worker | undefined
  const waiting: ((progress: Progress) => void)[] = []
  const start = () => {
    const started = new Worker(workerUrl().href, { smol: true })
    started.addEventListener("message", (event: MessageEvent<Progress>) => {
      const { refused: cause } = event.data
      if (cause) refused(Object.assign(new Error(cause.message), cause))
      waiting.shift()?.(event.data)
    })
    started.addEventListener("error", (event) => {
      failed(new Error(`the checkpoint worker failed: ${event.message}`))
    })
    return started
  }
  const ask = (empty: boolean) => {
    worker ??= start()
    const { promise, resolve } = Promise.withResolvers<Progress>()
    waiting.push(resolve)
    worker.postMessage({ file, empty } satisfies CheckpointRequest)
    return promise
  }
  return {
    passive: () => ask(false),
    empty: async () => (await ask(true)).isEmpty,
    close: async () => {
      if (!worker) return
      const { promise, resolve } = Promise.withResolvers<void>()
      worker.addEventListener("close", () => resolve())
      worker.postMessage({ close: true } satisfies CheckpointRequest)
      await promise
    },
  }
}
