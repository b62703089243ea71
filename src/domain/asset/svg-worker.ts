import { Fault } from "../../kernel/fault.ts"
import { parseSvg } from "./svg.ts"
import type { SvgResult } from "./svg-thread.ts"

// Parses one SVG and ends.
declare const self: Worker

self.onmessage = async ({ data }: MessageEvent<Uint8Array<ArrayBuffer>>) => {
  self.postMessage(await parse(data))
  process.exit(0)
}

async function parse(bytesValue: Uint8Array<ArrayBuffer>): Promise<SvgResult> {
  try {
    return { bytes: (await parseSvg(bytesValue)).bytes }
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    const { code, id, message } = cause
    return { refused: { code, id, message } }
  }
}
