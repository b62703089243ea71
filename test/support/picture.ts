// Images, valid and invalid.
import { deflateSync } from "node:zlib"

function chunk(name: string, data: Uint8Array): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const named = Buffer.concat([Buffer.from(name), data])
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(Bun.hash.crc32(named))
  return Buffer.concat([length, named, sum])
}

type PngOptions = {
  readonly width: number
  readonly height: number
  /** Chunks before the pixels: name and data. */
  readonly more?: readonly (readonly [string, Uint8Array])[]
  /** The data in place of pixels. */
  readonly pixels?: Uint8Array
}

/** A PNG in one gray, or with the given content. */
export function pngOf({ width, height, more = [], pixels }: PngOptions): Buffer {
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

/** An OpenType file with one table and no further content. */
export function fontWith(offset = 28, length = 4): Buffer {
  const file = Buffer.alloc(32)
  file.write("OTTO", 0, "latin1")
  file.writeUInt16BE(1, 4)
  file.write("name", 12, "latin1")
  file.writeUInt32BE(offset, 20)
  file.writeUInt32BE(length, 24)
  return file
}

/** Writes bits, lowest first, as in VP8L (RFC 9649 §3.2). */
function createBitWriter() {
  const bytes: number[] = []
  let [byte, count] = [0, 0]
  const put = (value: number, size: number) => {
    for (let at = 0; at < size; at++) {
      byte |= ((value >> at) & 1) << count
      if (++count < 8) continue
      bytes.push(byte)
      byte = 0
      count = 0
    }
  }
  return { put, bytes: () => Buffer.from([...bytes, byte]) }
}

/**
 * A lossless WebP (RFC 9649 §3) in one color with the given number of prefix code groups: each
 * takes 20 bits in the file, and 5 kB in the decoder.
 */
export function webpOfGroups(groups: number): Buffer {
  const side = 1024
  const { put, bytes } = createBitWriter()
  const one = () => put(0b0001, 4)
  // A code with 256 symbols of 8 bits each, and no other of `count`.
  const even = (count: number) => {
    put(0, 1)
    put(15, 4)
    for (const symbol of [17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]) {
      put(symbol === 8 || symbol === 18 ? 1 : 0, 3)
    }
    put(0, 1)
    put(0, 256 / 2)
    put(0, 256 / 2)
    if (count > 256) {
      put(1, 1)
      put(count - 256 - 11, 7)
    }
  }
  const letter = (value: number) => {
    for (let at = 7; at >= 0; at--) put((value >> at) & 1, 1)
  }
  put(0x2f, 8)
  put(side - 1, 14)
  put(side - 1, 14)
  // No alpha, version 0, no transform, no color cache; then tiles of four by four.
  for (const [value, size] of [
    [0, 1],
    [0, 3],
    [0, 1],
    [0, 1],
    [1, 1],
    [0, 3],
    [0, 1],
  ] as const) {
    put(value, size)
  }
  even(256 + 24)
  even(256)
  for (let each = 0; each < 3; each++) one()
  for (let tile = 0; tile < (side / 4) ** 2; tile++) {
    letter((tile % groups) & 0xff)
    letter((tile % groups) >> 8)
  }
  for (let each = 0; each < 5 * groups; each++) one()
  const data = bytes()
  const head = Buffer.alloc(20)
  head.write("RIFF", 0)
  head.writeUInt32LE(12 + data.length + (data.length % 2), 4)
  head.write("WEBPVP8L", 8)
  head.writeUInt32LE(data.length, 16)
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)])
}
