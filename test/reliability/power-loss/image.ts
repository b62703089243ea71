import type { Operation } from "./recording.ts"

/** What a disk may make of writes that no sync vouches for when the power goes. */
export type Loss = "all" | "random" | "torn" | "synced too"

/** Random numbers from 0 to 1 that a seed repeats (mulberry32). */
export function seeded(seed: number): () => number {
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
 * The files as a disk may show them after the power went right after operation `end`: what was
 * synced is there; of the rest nothing, some writes, or some sectors of some writes. "synced too"
 * is a disk that lies: it loses all that came after `from`, though it was synced.
 */
export function imageAt(
  operations: readonly Operation[],
  cut: { readonly from: number; readonly end: number; readonly loss: Loss },
  random: () => number,
): ReadonlyMap<string, Buffer> {
  const { from, end, loss } = cut
  const safe = loss === "synced too" ? new Map() : syncedBefore(operations, end)
  const files = new Map<string, File>()
  for (const [index, operation] of operations.slice(0, end).entries()) {
    const isSafe = index < Math.max(from, safe.get(operation.file) ?? 0)
    if (isSafe) apply(files, operation)
    else if (loss === "random" && random() < 0.5) apply(files, operation)
    else if (loss === "torn") tear(files, operation, random)
  }
  return new Map([...files].map(([name, { bytes, size }]) => [name, bytes.subarray(0, size)]))
}

/** By file, the operation up to which a sync that ended before `end` vouches. */
function syncedBefore(operations: readonly Operation[], end: number): Map<string, number> {
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

function apply(files: Map<string, File>, operation: Operation): void {
  const file = files.get(operation.file) ?? { bytes: Buffer.alloc(0), size: 0 }
  if (operation.kind === "write") write(file, operation.at, operation.data)
  if (operation.kind === "cut") {
    grow(file, operation.size)
    file.bytes.fill(0, operation.size)
    file.size = operation.size
  }
  if (operation.kind === "remove") files.delete(operation.file)
  else files.set(operation.file, file)
}

/** Keeps each sector of a write, or not. What isn't a write happens, or not. */
function tear(files: Map<string, File>, operation: Operation, random: () => number): void {
  if (operation.kind !== "write") {
    if (random() < 0.5) apply(files, operation)
    return
  }
  const { at, data } = operation
  for (let start = 0; start < data.length; ) {
    const stop = Math.min(data.length, start + sector - ((at + start) % sector))
    const part = { ...operation, at: at + start, data: data.subarray(start, stop) }
    if (random() < 0.5) apply(files, part)
    start = stop
  }
}

function write(file: File, at: number, data: Buffer): void {
  grow(file, at + data.length)
  data.copy(file.bytes, at)
  file.size = Math.max(file.size, at + data.length)
}

function grow(file: File, size: number): void {
  if (size <= file.bytes.length) return
  const larger = Buffer.alloc(Math.max(size, 2 * file.bytes.length))
  file.bytes.copy(larger)
  file.bytes = larger
}
