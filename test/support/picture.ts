// Pictures, right ones and others.
import { deflateSync } from "node:zlib"

function chunk(name: string, data: Uint8Array): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const named = Buffer.concat([Buffer.from(name), data])
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(Bun.hash.crc32(named))
  return Buffer.concat([length, named, sum])
}

type Of = {
  readonly width: number
  readonly height: number
  /** Chunks before the pixels: name and data. */
  readonly more?: readonly (readonly [string, Uint8Array])[]
  /** What is in place of pixels. */
  readonly pixels?: Uint8Array
}

/** A PNG of one grey, or whatever else it is made of. */
export function pngOf({ width, height, more = [], pixels }: Of): Buffer {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head[8] = 8
  const rows = pixels ?? Buffer.alloc((width + 1) * height, 0)
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", head),
    ...more.map(([name, data]) => chunk(name, data)),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", new Uint8Array()),
  ])
}

export const onePixel = pngOf({ width: 1, height: 1 })

export const svgWith = (inside: string): Buffer =>
  Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" ` +
      `viewBox="0 0 10 10">${inside}</svg>`,
  )

/** An OpenType file of one table, which says no more than that it is one. */
export function fontWith(offset = 28, length = 4): Buffer {
  const file = Buffer.alloc(32)
  file.write("OTTO", 0, "latin1")
  file.writeUInt16BE(1, 4)
  file.write("name", 12, "latin1")
  file.writeUInt32BE(offset, 20)
  file.writeUInt32BE(length, 24)
  return file
}
