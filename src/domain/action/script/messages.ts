/** One run of a script, as sent to a thread. */
export type ScriptJob = {
  /** Also the name of the function to call. */
  readonly name: string
  readonly script: string
  /** The data for `ctx` and `api`, created by the guest. Must be JSON. */
  readonly input: ScriptInput
  /** The time limit including waits for responses. */
  readonly timeoutMs: number
  /** The CPU time limit. */
  readonly workMs: number
  /** The memory limit in pages of 64 KiB. */
  readonly pagesMax: number
}

export type ScriptInput = {
  readonly shape: Shape
  readonly data: Readonly<Record<string, unknown>>
}

/** The shape of `ctx` and `api`. */
export type Shape = "token" | "saml" | "external" | "authenticated" | "before" | "after"

export type LogLine = { readonly level: "log" | "warn" | "error"; readonly text: string }

/** The effects of a script on `api`, in order: a kind and its arguments. */
export type Effect = readonly [kind: string, ...values: readonly unknown[]]

export type Outcome = {
  readonly logs: readonly LogLine[]
  readonly workedMs: number
  /** Absent if the script failed. */
  readonly effects?: readonly Effect[]
  /** `words`: the error or the exceeded limit; `line`: the line of the script, from 1. */
  readonly failed?: {
    readonly by: "script" | "bounds"
    readonly words: string
    readonly line?: number
  }
}

/**
 * A message from a thread: a request, a request for the next part of a response, or the outcome.
 */
export type ThreadMessage =
  | { readonly ask: { readonly kind: string; readonly json: string } }
  | { readonly more: true }
  | { readonly ended: Outcome }

export type RunMessage = { readonly job: ScriptJob; readonly shared: SharedArrayBuffer }

// The response to a request is passed in shared memory, because the script is blocked: two numbers
// (whether a part is present, how many bytes remain), then bytes.
const headerBytes = 8
const partMax = 65_536

export const createSharedBuffer = () => new SharedArrayBuffer(headerBytes + partMax)

/** Discards a late response, which belonged to another run. */
export const discardResponse = (shared: SharedArrayBuffer) =>
  void Atomics.store(new Int32Array(shared, 0, 2), 0, 0)

/** Writes as much of `rest` as fits and wakes the waiting thread; returns the remainder. */
export function writePart(shared: SharedArrayBuffer, rest: Uint8Array): Uint8Array {
  const state = new Int32Array(shared, 0, 2)
  const part = rest.subarray(0, partMax)
  new Uint8Array(shared, headerBytes).set(part)
  Atomics.store(state, 1, rest.byteLength)
  Atomics.store(state, 0, 1)
  Atomics.notify(state, 0)
  return rest.subarray(part.byteLength)
}

/** Waits for a complete response; undefined if it does not arrive in time. */
export function readResponse(
  shared: SharedArrayBuffer,
  { more, waitMs }: { readonly more: () => void; readonly waitMs: number },
): string | undefined {
  const state = new Int32Array(shared, 0, 2)
  const parts: Uint8Array[] = []
  for (;;) {
    if (Atomics.wait(state, 0, 0, waitMs) === "timed-out") return undefined
    const left = Atomics.load(state, 1)
    const size = Math.min(left, partMax)
    parts.push(new Uint8Array(shared, headerBytes, size).slice())
    Atomics.store(state, 0, 0)
    if (left === size) return Buffer.concat(parts).toString()
    more()
  }
}
