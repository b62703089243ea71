import { closeSync, openSync, readSync, statSync } from "node:fs"

// https://sqlite.org/fileformat2.html#walformat: a header of 32 bytes, then frames, each with a
// header of 24 bytes and a page. A restarted WAL has new salts; frames with other salts are old.

const headerLength = 32
const frameHeaderLength = 24
/** The checksum words are in the writer's byte order. */
const littleEndianMagic = 0x377f0682

/** One run of the WAL; SQLite increments the first salt with each run. */
export type WalRun = { readonly salts: string; readonly pageSize: number }

type Sums = readonly [number, number]

/** The header of the WAL; `broken` can't be parsed. */
export type WalHead = WalRun | "absent" | "broken"

/** Reads the WAL's header. SQLite must not have the file open yet. */
export function readWalHead(file: string): WalHead {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0) return "absent"
  return withDescriptor(file, (descriptor) => readHead(descriptor)?.run ?? "broken")
}

/** The salts of an open WAL's current run. */
export function readSalts(descriptor: number): string {
  readSync(descriptor, saltBuffer, 0, saltBuffer.length, 16)
  return saltBuffer.toString("hex")
}
const saltBuffer = Buffer.alloc(8)

/** Whether a run is later than another: its first salt is higher, taking overflow into account. */
export const isLaterRun = (run: string, before: string): boolean => {
  const steps = (firstOf(run) - firstOf(before)) >>> 0
  return steps > 0 && steps < 2 ** 31
}
const firstOf = (of: string) => Number.parseInt(of.slice(0, 8), 16)

/**
 * Verifies up to `wanted` frames with their checksums, and returns how many are valid before the
 * first invalid one. SQLite must not have the file open yet.
 */
export function countValidFrames(file: string, maxFrames: number): number {
  return withDescriptor(file, (descriptor) => {
    const head = readHead(descriptor)
    return head ? countValid(descriptor, head, maxFrames) : 0
  })
}

/** The offset of a frame in bytes. */
export const frameOffset = (frame: number, pageSize: number): number =>
  headerLength + (frame - 1) * (frameHeaderLength + pageSize)

function withDescriptor<T>(file: string, work: (descriptor: number) => T): T {
  const descriptor = openSync(file, "r")
  try {
    return work(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

type Head = { readonly run: WalRun; readonly sums: Sums }

function readHead(descriptor: number): Head | undefined {
  const head = Buffer.from(new ArrayBuffer(headerLength))
  if (readSync(descriptor, head, 0, headerLength, 0) < headerLength) return undefined
  const sums = addWords([0, 0], wordsOf(head), 0, 6)
  const isWhole = head.readUInt32BE(0) === littleEndianMagic && hasSum(sums, head, 24)
  if (!isWhole) return undefined
  return {
    run: { salts: head.toString("hex", 16, 24), pageSize: head.readUInt32BE(8) },
    sums,
  }
}

/** Frames per read. */
const framesPerRead = 256

function countValid(descriptor: number, { run, sums: from }: Head, maxFrames: number): number {
  const frameLength = frameHeaderLength + run.pageSize
  const bytes = Buffer.from(new ArrayBuffer(framesPerRead * frameLength))
  const words = wordsOf(bytes)
  const hasRunSalts = Buffer.from(run.salts, "hex")
  let sums = from
  for (let validFrames = 0; validFrames < maxFrames; ) {
    const at = frameOffset(validFrames + 1, run.pageSize)
    const read = readSync(descriptor, bytes, 0, bytes.length, at)
    const frames = Math.min(Math.floor(read / frameLength), maxFrames - validFrames)
    if (frames === 0) return validFrames
    for (let frame = 0; frame < frames; frame++, validFrames++) {
      const start = frame * frameLength
      const first = start / 4
      // The checksums cover page number and size, then the page.
      sums = addWords(sums, words, first, first + 2)
      sums = addWords(sums, words, first + frameHeaderLength / 4, first + frameLength / 4)
      const isOfRun = bytes.compare(hasRunSalts, 0, 8, start + 8, start + 16) === 0
      if (!isOfRun || !hasSum(sums, bytes, start + 16)) return validFrames
    }
  }
  return maxFrames
}

const wordsOf = (bytes: Buffer): Uint32Array =>
  new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)

function addWords([first, second]: Sums, words: Uint32Array, from: number, to: number): Sums {
  let one = first
  let two = second
  for (let at = from; at < to; at += 2) {
    one = (one + (words[at] ?? 0) + two) | 0
    two = (two + (words[at + 1] ?? 0) + one) | 0
  }
  return [one, two]
}

const hasSum = ([one, two]: Sums, bytes: Buffer, at: number): boolean =>
  bytes.readInt32BE(at) === one && bytes.readInt32BE(at + 4) === two
