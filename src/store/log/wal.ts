import { closeSync, openSync, readSync, statSync } from "node:fs"

// https://sqlite.org/fileformat2.html#walformat: a header of 32 bytes, then frames, each a header
// of 24 bytes and a page. A WAL that begins anew has other salts; frames with others are old.

const headLength = 32
const frameHeadLength = 24
/** The words that the sums add are in the byte order of who wrote them. */
const littleEndian = 0x377f0682

/** One run of the WAL from its beginning; SQLite counts the first salt up with each. */
export type WalRun = { readonly salts: string; readonly pageSize: number }

type Sums = readonly [number, number]

/** What is where the WAL should be; `broken` is a header that can't be read. */
export type WalHead = WalRun | "absent" | "broken"

/** Looks at the WAL's header. SQLite must not have the file open yet. */
export function headOfWal(file: string): WalHead {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0) return "absent"
  return reading(file, (descriptor) => headIn(descriptor)?.run ?? "broken")
}

/** The salts of the run that an open WAL is in. */
export function saltsIn(descriptor: number): string {
  readSync(descriptor, salts, 0, salts.length, 16)
  return salts.toString("hex")
}
const salts = Buffer.alloc(8)

/** Whether a run came after another: where the first salt was counted up, seldom round its end. */
export const isLater = (run: string, before: string): boolean => {
  const steps = (firstOf(run) - firstOf(before)) >>> 0
  return steps > 0 && steps < 2 ** 31
}
const firstOf = (of: string) => Number.parseInt(of.slice(0, 8), 16)

/**
 * Reads as many frames from the beginning, sums and all, and answers how many of them are whole
 * before the first that isn't. SQLite must not have the file open yet.
 */
export function wholeFrames(file: string, wanted: number): number {
  return reading(file, (descriptor) => {
    const head = headIn(descriptor)
    return head ? countWhole(descriptor, head, wanted) : 0
  })
}

/** Where a frame begins, in bytes. */
export const frameOffset = (frame: number, pageSize: number): number =>
  headLength + (frame - 1) * (frameHeadLength + pageSize)

function reading<T>(file: string, work: (descriptor: number) => T): T {
  const descriptor = openSync(file, "r")
  try {
    return work(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

type Head = { readonly run: WalRun; readonly sums: Sums }

function headIn(descriptor: number): Head | undefined {
  const head = Buffer.from(new ArrayBuffer(headLength))
  if (readSync(descriptor, head, 0, headLength, 0) < headLength) return undefined
  const sums = added([0, 0], wordsOf(head), 0, 6)
  const isWhole = head.readUInt32BE(0) === littleEndian && isSum(sums, head, 24)
  if (!isWhole) return undefined
  return {
    run: { salts: head.toString("hex", 16, 24), pageSize: head.readUInt32BE(8) },
    sums,
  }
}

/** Frames that are read at a time. */
const batch = 256

function countWhole(descriptor: number, { run, sums: from }: Head, wanted: number): number {
  const frameLength = frameHeadLength + run.pageSize
  const bytes = Buffer.from(new ArrayBuffer(batch * frameLength))
  const words = wordsOf(bytes)
  const salted = Buffer.from(run.salts, "hex")
  let sums = from
  for (let whole = 0; whole < wanted; ) {
    const at = frameOffset(whole + 1, run.pageSize)
    const read = readSync(descriptor, bytes, 0, bytes.length, at)
    const frames = Math.min(Math.floor(read / frameLength), wanted - whole)
    if (frames === 0) return whole
    for (let frame = 0; frame < frames; frame++, whole++) {
      const start = frame * frameLength
      const first = start / 4
      // The sums go over page number and size, and then over the page.
      sums = added(sums, words, first, first + 2)
      sums = added(sums, words, first + frameHeadLength / 4, first + frameLength / 4)
      const isOfRun = bytes.compare(salted, 0, 8, start + 8, start + 16) === 0
      if (!isOfRun || !isSum(sums, bytes, start + 16)) return whole
    }
  }
  return wanted
}

const wordsOf = (bytes: Buffer): Uint32Array =>
  new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)

function added([first, second]: Sums, words: Uint32Array, from: number, to: number): Sums {
  let one = first
  let two = second
  for (let at = from; at < to; at += 2) {
    one = (one + (words[at] ?? 0) + two) | 0
    two = (two + (words[at + 1] ?? 0) + one) | 0
  }
  return [one, two]
}

const isSum = ([one, two]: Sums, bytes: Buffer, at: number): boolean =>
  bytes.readInt32BE(at) === one && bytes.readInt32BE(at + 4) === two
