/** One run of a script, as a thread is asked for it. */
export type Job = {
  /** That of the function which is called. */
  readonly name: string
  readonly script: string
  /** What `ctx` and `api` are made of; see the guest. JSON, or it does not arrive. */
  readonly input: Input
  /** How long all of it may take, waiting for others included. */
  readonly timeoutMs: number
  /** How long it may work. */
  readonly workMs: number
  /** How large the memory may grow, in pages of 64 KiB. */
  readonly pagesMax: number
}

export type Input = { readonly shape: Shape; readonly data: Readonly<Record<string, unknown>> }

/** What a script is handed, by what it may do. */
export type Shape = "token" | "saml" | "external" | "authenticated" | "before" | "after"

export type LogLine = { readonly level: "log" | "warn" | "error"; readonly text: string }

/** What a script did to `api`, in its order: a kind, and what it was called with. */
export type Effect = readonly [kind: string, ...values: readonly unknown[]]

export type Outcome = {
  readonly logs: readonly LogLine[]
  readonly workedMs: number
  /** Absent where it failed. */
  readonly effects?: readonly Effect[]
  /** `words`: what it threw, or what stopped it; `line`: where in the script, beginning with 1. */
  readonly failed?: {
    readonly by: "script" | "bounds"
    readonly words: string
    readonly line?: number
  }
}

/** What a thread tells: what it wants to know, that it can take more of that, or how it ended. */
export type Told =
  | { readonly ask: { readonly kind: string; readonly json: string } }
  | { readonly more: true }
  | { readonly ended: Outcome }

export type Order = { readonly job: Job; readonly shared: SharedArrayBuffer }

// The answer to what a script asks for comes by memory that both threads see, since the script
// waits for it: two numbers (whether there is something, how many bytes are to come), then bytes.
const head = 8
const partMax = 65_536

export const newShared = () => new SharedArrayBuffer(head + partMax)

/** Forgets an answer that came too late: it was to another run. */
export const forget = (shared: SharedArrayBuffer) =>
  void Atomics.store(new Int32Array(shared, 0, 2), 0, 0)

/** Puts as much of `rest` there as fits and wakes who waits; answers what is left. */
export function give(shared: SharedArrayBuffer, rest: Uint8Array): Uint8Array {
  const state = new Int32Array(shared, 0, 2)
  const part = rest.subarray(0, partMax)
  new Uint8Array(shared, head).set(part)
  Atomics.store(state, 1, rest.byteLength)
  Atomics.store(state, 0, 1)
  Atomics.notify(state, 0)
  return rest.subarray(part.byteLength)
}

/** Waits for all of an answer; undefined where it has not come in time. */
export function take(
  shared: SharedArrayBuffer,
  { more, waitMs }: { readonly more: () => void; readonly waitMs: number },
): string | undefined {
  const state = new Int32Array(shared, 0, 2)
  const parts: Uint8Array[] = []
  for (;;) {
    if (Atomics.wait(state, 0, 0, waitMs) === "timed-out") return undefined
    const left = Atomics.load(state, 1)
    const size = Math.min(left, partMax)
    parts.push(new Uint8Array(shared, head, size).slice())
    Atomics.store(state, 0, 0)
    if (left === size) return Buffer.concat(parts).toString()
    more()
  }
}
