import { give, type Job, newShared, type Order, type Outcome, type Told } from "./wire.ts"

/** What a script may ask for while it runs, by kind: JSON in, JSON out. */
export type Answers = Readonly<Record<string, (value: unknown) => unknown>>

/** A run that somebody waits for. */
export type Running = {
  readonly job: Job
  readonly answers: Answers
  readonly resolve: (outcome: Outcome) => void
  /** For what is a bug of ours. */
  readonly reject: (bug: unknown) => void
}

/** One thread, and what runs in it. */
export type Thread<R extends Running> = {
  readonly running: () => R | undefined
  readonly begin: (run: R) => void
  /** Ends the thread; what runs in it has failed, in these words. */
  readonly end: (words: string) => void
}

/** In the compiled binary scripts/build.ts puts the worker's entry point below the one bundle. */
const workerUrl = () =>
  import.meta.url.endsWith("/thread.ts")
    ? new URL("./script-worker.ts", import.meta.url)
    : new URL("./domain/action/script/script-worker.js", import.meta.url)

/** `free`: told when a run has ended; `gone`: when the thread has, before that. */
export function newThread<R extends Running>(on: {
  readonly free: () => void
  readonly gone: () => void
}): Thread<R> {
  // What nobody waits for does not keep the process.
  const worker = new Worker(workerUrl().href, { smol: true, ref: false })
  const shared = newShared()
  let running: R | undefined
  let rest: Uint8Array = new Uint8Array()

  const finish = (outcome: Outcome) => {
    const ended = running
    running = undefined
    ended?.resolve(outcome)
    on.free()
  }
  const end = (words: string) => {
    on.gone()
    worker.terminate()
    finish(stopped(words))
  }
  worker.addEventListener("message", async ({ data }: MessageEvent<Told>) => {
    if ("ended" in data) return finish(data.ended)
    const asking = running
    if (!asking) return
    try {
      const answer = "ask" in data ? answerTo(asking, data.ask) : () => rest
      if (!answer) return end("the script has changed what it asks with")
      const part = await answer()
      // Who asked may be gone by now: the thread is another's then, and so is what is left.
      if (running === asking) rest = give(shared, part)
    } catch (bug) {
      asking.reject(bug)
      end("what it asked for has failed")
    }
  })
  worker.addEventListener("error", ({ message }) => end(message))
  worker.addEventListener("close", () => on.gone())
  return {
    running: () => running,
    end,
    begin: (run) => {
      running = run
      worker.postMessage({ job: run.job, shared } satisfies Order)
    },
  }
}

export const stopped = (words: string): Outcome => ({
  logs: [],
  workedMs: 0,
  failed: { by: "bounds", words },
})

/** What answers a script; undefined for what no script asks that is as it was. */
function answerTo(
  { answers }: Running,
  { kind, json }: { readonly kind: string; readonly json: string },
): (() => Promise<Uint8Array>) | undefined {
  const answer = Object.hasOwn(answers, kind) ? answers[kind] : undefined
  const value = valueIn(json)
  return answer && value && (async () => Buffer.from(JSON.stringify(await answer(value.of))))
}

/** Undefined for what is no JSON, or nested deeper than anybody reads. */
function valueIn(json: string): { readonly of: unknown } | undefined {
  try {
    return { of: JSON.parse(json) }
  } catch (cause) {
    if (cause instanceof SyntaxError || cause instanceof RangeError) return undefined
    throw cause
  }
}
