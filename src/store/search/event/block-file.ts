import { closeSync, openSync, readSync, rmSync, writeSync } from "node:fs"

/** A block is a range of so many positions, a row for each. */
export const blockRows = 65_536
const numbers = ["instance", "stream", "type", "editor", "owner"] as const
export type NumberColumn = (typeof numbers)[number]
const numberBytes = Uint32Array.BYTES_PER_ELEMENT
const timeOffset = numbers.length * blockRows * numberBytes
const blockBytes = timeOffset + blockRows * Float64Array.BYTES_PER_ELEMENT

/** An event as it is read from the log. */
export type Written = readonly [
  position: number,
  instance: string,
  stream: number,
  type: number,
  editor: string,
  owner: string,
  time: number,
]

/** Never zero, which is an event that is not there. */
export const hashOf = (name: string): number => Bun.hash.xxHash32(name) || 1

/** The block that a position is in. */
export const blockAt = (position: number) => Math.floor(position / blockRows)

export type BlockFile = ReturnType<typeof openBlocks>

/** Makes the file; it loses its name as soon as it is there. */
export function openBlocks(file: string) {
  rmSync(file, { force: true })
  const descriptor = openSync(file, "wx+", 0o600)
  // An open file keeps its name there, until it is closed.
  if (process.platform !== "win32") rmSync(file)
  /** The last block is written once it is full. */
  const last = { block: 0, bytes: new ArrayBuffer(blockBytes) }
  const page = new ArrayBuffer(blockRows * Float64Array.BYTES_PER_ELEMENT)

  const numbersOf = (bytes: ArrayBuffer, column: NumberColumn) =>
    new Uint32Array(bytes, numbers.indexOf(column) * blockRows * numberBytes, blockRows)
  const goOn = (block: number) => {
    const at = last.block * blockBytes
    const written = writeSync(descriptor, new Uint8Array(last.bytes), 0, blockBytes, at)
    if (written < blockBytes) throw new Error("the disk is full")
    new Uint8Array(last.bytes).fill(0)
    last.block = block
  }
  const readColumn = (block: number, offset: number, length: number) => {
    const bytes = new Uint8Array(page, 0, length)
    // Of blocks that nothing was written to, the file may end before.
    const got = readSync(descriptor, bytes, 0, length, block * blockBytes + offset)
    return bytes.fill(0, got)
  }
  return {
    set: ([position, instance, stream, type, editor, owner, time]: Written) => {
      const block = blockAt(position)
      if (block !== last.block) goOn(block)
      const row = position % blockRows
      const { bytes } = last
      numbersOf(bytes, "instance")[row] = hashOf(instance)
      numbersOf(bytes, "stream")[row] = stream
      numbersOf(bytes, "type")[row] = type
      numbersOf(bytes, "editor")[row] = hashOf(editor)
      numbersOf(bytes, "owner")[row] = hashOf(owner)
      new Float64Array(bytes, timeOffset, blockRows)[row] = time
    },
    /** The values of a block in a column, until the next one is asked for. */
    column: (block: number, column: NumberColumn | "time"): Uint32Array | Float64Array => {
      if (column === "time") {
        if (block === last.block) return new Float64Array(last.bytes, timeOffset, blockRows)
        return new Float64Array(readColumn(block, timeOffset, page.byteLength).buffer)
      }
      if (block === last.block) return numbersOf(last.bytes, column)
      const length = blockRows * numberBytes
      readColumn(block, numbers.indexOf(column) * length, length)
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
