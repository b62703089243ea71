import type { Operation } from "./recording.ts"

/** What a disk can do with unsynced writes in a power failure. */
export type Loss = "all" | "random" | "torn" | "synced too"

/** Seeded random numbers between 0 and 1 (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const sector = 512

/**
 * The files after a power failure right after operation `end`: synced data is present; of the rest
 * nothing, some writes, or some sectors of some writes. "synced too" simulates a disk that ignores
 * syncs: it loses everything after `from`.
 */
export function createImage(
  operations: readonly Operation[],
  cut: { readonly from: number; readonly end: number; readonly loss: Loss },
  random: () => number,
): ReadonlyMap<string, Buffer> {
  const { from, end, loss } = cut
  const safe = loss === "synced too" ? new Map() : findSynced(operations, end)
  const files = new Map<string, File>()
  for (const [index, operation] of operations.slice(0, end).entries()) {
    const isSafe = index < Math.max(from, safe.get(operation.file) ?? 0)
    if (isSafe) applyOperation(files, operation)
    else if (loss === "random" && random() < 0.5) applyOperation(files, operation)
    else if (loss === "torn") tearOperation(files, operation, random)
  }
  return new Map([...files].map(([name, { bytes, size }]) => [name, bytes.subarray(0, size)]))
}

/** The last operation covered by a sync that ended before `end`, by file. */
function findSynced(operations: readonly Operation[], end: number): Map<string, number> {
  const begun = new Map<string, number>()
  const synced = new Map<string, number>()
  for (const [index, operation] of operations.slice(0, end).entries()) {
    const by = "by" in operation ? `${operation.file} ${operation.by}` : ""
    if (operation.kind === "sync begins") begun.set(by, index)
    if (operation.kind === "sync ends") {
      synced.set(operation.file, Math.max(synced.get(operation.file) ?? 0, begun.get(by) ?? 0))
    }
  }
  return synced
}

type File = { bytes: Buffer; size: number }

function applyOperation(files: Map<string, File>, operation: Operation): void {
  const file = files.get(operation.file) ?? { bytes: Buffer.alloc(0), size: 0 }
  if (operation.kind === "write") writeBytes(file, operation.at, operation.data)
  if (operation.kind === "cut") {
    growFile(file, operation.size)
    file.bytes.fill(0, operation.size)
    file.size = operation.size
  }
  if (operation.kind === "remove") files.delete(operation.file)
  else files.set(operation.file, file)
}

/** Keeps each sector of a write at random. Other operations happen or not. */
function tearOperation(files: Map<string, File>, operation: Operation, random: () => number): void {
  if (operation.kind !== "write") {
    if (random() < 0.5) applyOperation(files, operation)
    return
  }
  const { at, data } = operation
  for (let start = 0; start < data.length; ) {
    const stop = Math.min(data.length, start + sector - ((at + start) % sector))
    const part = { ...operation, at: at + start, data: data.subarray(start, stop) }
    if (random() < 0.5) applyOperation(files, part)
    start = stop
  }
}

function writeBytes(file: File, at: number, data: Buffer): void {
  growFile(file, at + data.length)
  data.copy(file.bytes, at)
  file.size = Math.max(file.size, at + data.length)
}

function growFile(file: File, size: number): void {
  if (size <= file.bytes.length) return
  const larger = Buffer.alloc(Math.max(size, 2 * file.bytes.length))
  file.bytes.copy(larger)
  file.bytes = larger
}
