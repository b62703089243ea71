import { Fault } from "../../kernel/fault.ts"
import { svgOf } from "./svg.ts"
import type { SvgTold } from "./svg-thread.ts"

// Reads one picture, and ends.
declare const self: Worker

self.onmessage = async ({ data }: MessageEvent<Uint8Array<ArrayBuffer>>) => {
  self.postMessage(await told(data))
  process.exit(0)
}

async function told(given: Uint8Array<ArrayBuffer>): Promise<SvgTold> {
  try {
    return { bytes: (await svgOf(given)).bytes }
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    const { code, id, message } = cause
    return { refused: { code, id, message } }
  }
}
