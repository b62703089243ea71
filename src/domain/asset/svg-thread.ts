import { systemClock } from "../../kernel/clock.ts"
import { type Code, Fault } from "../../kernel/fault.ts"
import { decodeQueue } from "./decode-queue.ts"
import type { AssetFile } from "./file.ts"
import { parseSvg } from "./svg.ts"

/** The result of the thread: the written SVG, or the fault. */
export type SvgResult =
  | { readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly refused: { readonly code: Code; readonly id: string; readonly message: string } }

/** Smaller files are parsed in a few milliseconds, less than the start of a thread takes. */
const inlineBytesMax = 16 * 1024

/** The time limit; the largest SVG needs a tenth of it on a slow machine. */
const timeoutMs = 5_000

/**
 * In the compiled binary, scripts/build.ts places the worker's entry point below the single bundle.
 */
const workerUrl = () =>
  import.meta.url.endsWith("/svg-thread.ts")
    ? new URL("./svg-worker.ts", import.meta.url)
    : new URL("./domain/asset/svg-worker.js", import.meta.url)

/** Parses an SVG like `parseSvg`; a large one in a thread, so that it does not block requests. */
export const parseSvgInThread = (
  bytes: Uint8Array<ArrayBuffer>,
  queue: string,
): Promise<AssetFile> =>
  bytes.length <= inlineBytesMax
    ? parseSvg(bytes)
    : decodeQueue(() => runThread(bytes), { line: queue })

function runThread(bytes: Uint8Array<ArrayBuffer>): Promise<AssetFile> {
  const { promise, resolve, reject } = Promise.withResolvers<AssetFile>()
  const worker = new Worker(workerUrl().href, { smol: true })
  const timer = systemClock.after(timeoutMs, () => {
    reject(tooSlowError())
    worker.terminate()
  })
  worker.addEventListener("message", ({ data }: MessageEvent<SvgResult>) => {
    if ("bytes" in data) return resolve({ type: "svg", bytes: data.bytes })
    const { code, id, message } = data.refused
    reject(new Fault(code, id, message))
  })
  worker.addEventListener("error", ({ message }) => reject(new Error(message)))
  worker.addEventListener("close", () => reject(new Error("the SVG thread ended unexpectedly")))
  worker.postMessage(bytes)
  return promise.finally(timer.stop)
}

const tooSlowError = () =>
  new Fault(
    "invalid_argument",
    "asset.svg_invalid",
    `the SVG takes longer than ${timeoutMs / 1000} seconds to parse; simplify it`,
  )
