import { closeSync, openSync, readSync, rmSync, writeSync } from "node:fs"

/** A block is a range of positions, with a row for each. */
export const blockRows = 65_536
const numberColumns = ["instance", "stream", "type", "editor", "owner"] as const
export type NumberColumn = (typeof numberColumns)[number]
const numberBytes = Uint32Array.BYTES_PER_ELEMENT
const timeOffset = numberColumns.length * blockRows * numberBytes
const blockBytes = timeOffset + blockRows * Float64Array.BYTES_PER_ELEMENT

/** An event's columns as read from the log. */
export type EventColumns = readonly [
  position: number,
  instance: string,
  stream: number,
  type: number,
  editor: string,
  owner: string,
  time: number,
]

/** Never zero, which marks a missing event. */
export const hashOf = (name: string): number => Bun.hash.xxHash32(name) || 1

/** The block of a position. */
export const blockAt = (position: number) => Math.floor(position / blockRows)

export type BlockFile = ReturnType<typeof openBlockFile>

/** Creates the file and unlinks it immediately, where the system allows that. */
export function openBlockFile(file: string) {
  rmSync(file, { force: true })
  const descriptor = openSync(file, "wx+", 0o600)
  // Windows keeps the name of an open file.
  if (process.platform !== "win32") rmSync(file)
  /** The last block is written once it is full. */
  const last = { block: 0, bytes: new ArrayBuffer(blockBytes) }
  const page = new ArrayBuffer(blockRows * Float64Array.BYTES_PER_ELEMENT)

  const numbersOf = (bytes: ArrayBuffer, column: NumberColumn) =>
    new Uint32Array(bytes, numberColumns.indexOf(column) * blockRows * numberBytes, blockRows)
  const nextBlock = (block: number) => {
    const at = last.block * blockBytes
    const written = writeSync(descriptor, new Uint8Array(last.bytes), 0, blockBytes, at)
    if (written < blockBytes) throw new Error("the disk is full")
    new Uint8Array(last.bytes).fill(0)
    last.block = block
  }
  const readColumn = (block: number, offset: number, length: number) => {
    const bytes = new Uint8Array(page, 0, length)
    // The file can end before blocks that were never written.
    const bytesRead = readSync(descriptor, bytes, 0, length, block * blockBytes + offset)
    return bytes.fill(0, bytesRead)
  }
  return {
    set: ([position, instance, stream, type, editor, owner, time]: EventColumns) => {
      const block = blockAt(position)
      if (block !== last.block) nextBlock(block)
      const row = position % blockRows
      const { bytes } = last
      numbersOf(bytes, "instance")[row] = hashOf(instance)
      numbersOf(bytes, "stream")[row] = stream
      numbersOf(bytes, "type")[row] = type
      numbersOf(bytes, "editor")[row] = hashOf(editor)
      numbersOf(bytes, "owner")[row] = hashOf(owner)
      new Float64Array(bytes, timeOffset, blockRows)[row] = time
    },
    /** The values of a block in a column, valid until the next call. */
    column: (block: number, column: NumberColumn | "time"): Uint32Array | Float64Array => {
      if (column === "time") {
        if (block === last.block) return new Float64Array(last.bytes, timeOffset, blockRows)
        return new Float64Array(readColumn(block, timeOffset, page.byteLength).buffer)
      }
      if (block === last.block) return numbersOf(last.bytes, column)
      const length = blockRows * numberBytes
      readColumn(block, numberColumns.indexOf(column) * length, length)
      return new Uint32Array(page, 0, blockRows)
    },
    clear: (position: number) => {
      const [block, row] = [blockAt(position), position % blockRows]
      if (block === last.block) numbersOf(last.bytes, "instance")[row] = 0
      else writeSync(descriptor, new Uint8Array(4), 0, 4, block * blockBytes + row * numberBytes)
    },
    close: () => {
      closeSync(descriptor)
      rmSync(file, { force: true })
    },
  }
}
