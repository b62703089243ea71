import { systemClock } from "../../kernel/clock.ts"
import { type Code, Fault } from "../../kernel/fault.ts"
import type { File } from "./file.ts"
import { decodeInTurn } from "./lane.ts"
import { svgOf } from "./svg.ts"

/** What the thread answers: the picture that it has written, or why it refuses it. */
export type SvgTold =
  | { readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly refused: { readonly code: Code; readonly id: string; readonly message: string } }

/** What is smaller is read in a few milliseconds, less than a thread takes to start. */
const hereMax = 16 * 1024

/** The largest takes a tenth of it on a slow machine. A thread that takes longer is ended. */
const workMs = 5_000

/** In the compiled binary scripts/build.ts puts the worker's entry point below the one bundle. */
const workerUrl = () =>
  import.meta.url.endsWith("/svg-thread.ts")
    ? new URL("./svg-worker.ts", import.meta.url)
    : new URL("./domain/asset/svg-worker.js", import.meta.url)

/** Reads an SVG as `svgOf` does; a large one in a thread, so that nobody waits for it. */
export const svgApart = (bytes: Uint8Array<ArrayBuffer>, line: string): Promise<File> =>
  bytes.length <= hereMax ? svgOf(bytes) : decodeInTurn(() => inThread(bytes), { line })

function inThread(bytes: Uint8Array<ArrayBuffer>): Promise<File> {
  const { promise, resolve, reject } = Promise.withResolvers<File>()
  const worker = new Worker(workerUrl().href, { smol: true })
  const timer = systemClock.after(workMs, () => {
    reject(tooSlowError())
    worker.terminate()
  })
  worker.addEventListener("message", ({ data }: MessageEvent<SvgTold>) => {
    if ("bytes" in data) return resolve({ type: "svg", bytes: data.bytes })
    const { code, id, message } = data.refused
    reject(new Fault(code, id, message))
  })
  worker.addEventListener("error", ({ message }) => reject(new Error(message)))
  worker.addEventListener("close", () => reject(new Error("the thread that reads SVG has ended")))
  worker.postMessage(bytes)
  return promise.finally(timer.stop)
}

const tooSlowError = () =>
  new Fault(
    "invalid_argument",
    "asset.svg_invalid",
    `the SVG takes longer than ${workMs / 1000} seconds to read; make it simpler`,
  )
