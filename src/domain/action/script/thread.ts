import {
  createSharedBuffer,
  type Outcome,
  type RunMessage,
  type ScriptJob,
  type ThreadMessage,
  writePart,
} from "./messages.ts"

/** The requests that a script can make while it runs, by kind: JSON in, JSON out. */
export type RequestHandlers = Readonly<Record<string, (value: unknown) => unknown>>

/** A run whose result is awaited. */
export type PendingRun = {
  readonly job: ScriptJob
  readonly answers: RequestHandlers
  readonly resolve: (outcome: Outcome) => void
  /** For internal errors. */
  readonly reject: (bug: unknown) => void
}

/** A thread and its current run. */
export type Thread<R extends PendingRun> = {
  readonly running: () => R | undefined
  readonly begin: (run: R) => void
  /** Terminates the thread; the current run fails with this message. */
  readonly end: (text: string) => void
}

/**
 * In the compiled binary, scripts/build.ts places the worker's entry point below the single bundle.
 */
const workerUrl = () =>
  import.meta.url.endsWith("/thread.ts")
    ? new URL("./script-worker.ts", import.meta.url)
    : new URL("./domain/action/script/script-worker.js", import.meta.url)

/** `free` is called when a run has ended, `gone` when the thread has ended. */
export function createThread<R extends PendingRun>(on: {
  readonly free: () => void
  readonly gone: () => void
}): Thread<R> {
  // The worker must not keep the process running.
  const worker = new Worker(workerUrl().href, { smol: true, ref: false })
  const shared = createSharedBuffer()
  let running: R | undefined
  let rest: Uint8Array = new Uint8Array()

  const finish = (outcome: Outcome) => {
    const ended = running
    running = undefined
    ended?.resolve(outcome)
    on.free()
  }
  const end = (text: string) => {
    on.gone()
    worker.terminate()
    finish(stoppedOutcome(text))
  }
  worker.addEventListener("message", async ({ data }: MessageEvent<ThreadMessage>) => {
    if ("ended" in data) return finish(data.ended)
    const asking = running
    if (!asking) return
    try {
      const answer = "ask" in data ? createResponse(asking, data.ask) : () => rest
      if (!answer) return end("the script modified the function for requests")
      const part = await answer()
      // The run that asked can have ended; then the thread and the rest of the response belong to
      // another run.
      if (running === asking) rest = writePart(shared, part)
    } catch (bug) {
      asking.reject(bug)
      end("the request failed")
    }
  })
  worker.addEventListener("error", ({ message }) => end(message))
  worker.addEventListener("close", () => on.gone())
  return {
    running: () => running,
    end,
    begin: (run) => {
      running = run
      worker.postMessage({ job: run.job, shared } satisfies RunMessage)
    },
  }
}

export const stoppedOutcome = (text: string): Outcome => ({
  logs: [],
  workedMs: 0,
  failed: { by: "bounds", words: text },
})

/**
 * The response to a request of a script; undefined for requests that an unmodified script never
 * makes.
 */
function createResponse(
  { answers }: PendingRun,
  { kind, json }: { readonly kind: string; readonly json: string },
): (() => Promise<Uint8Array>) | undefined {
  const answer = Object.hasOwn(answers, kind) ? answers[kind] : undefined
  const value = parseValue(json)
  return answer && value && (async () => Buffer.from(JSON.stringify(await answer(value.of))))
}

/** Undefined if the text is not JSON or is nested too deeply. */
function parseValue(json: string): { readonly of: unknown } | undefined {
  try {
    return { of: JSON.parse(json) }
  } catch (cause) {
    if (cause instanceof SyntaxError || cause instanceof RangeError) return undefined
    throw cause
  }
}
