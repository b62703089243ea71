import type { TextMethod } from "../condition.ts"

/** Ends a text within a block. UTF-8 has no such byte, so no text and nothing asked for has it. */
const end = 0xff
const endOf = Buffer.of(end)

/** The texts of some rows in a column one after the other, as bytes that are searched at once. */
export function blockOf(texts: readonly string[]): Uint8Array {
  const length = texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 1)
  const block = Buffer.allocUnsafe(length)
  let at = block.writeUInt8(end)
  for (const text of texts) at = block.writeUInt8(end, at + block.write(text, at))
  return block
}

/** Some of the texts, by their numbers in ascending order, counted from 0. */
export function textsAt(block: Uint8Array, rows: Iterable<number>): readonly string[] {
  const texts: string[] = []
  let row = 0
  let from = 1
  for (const wanted of rows) {
    while (row < wanted) if (block[from++] === end) row++
    const to = block.indexOf(end, from)
    texts.push(Buffer.from(block.buffer, block.byteOffset + from, to - from).toString())
  }
  return texts
}

/** What is looked for in a block: with an end beside it, a text that ends there. */
export function soughtOf(value: string, method: TextMethod): Buffer {
  const isStart = method === "equals" || method === "starts_with"
  const isEnd = method === "equals" || method === "ends_with"
  return Buffer.concat([...(isStart ? [endOf] : []), Buffer.from(value), ...(isEnd ? [endOf] : [])])
}

/** Adds to `found` which of the texts, counted from 0, fulfil what is sought. */
export function findIn(block: Uint8Array, sought: Buffer, found: Set<number>): void {
  const bytes = Buffer.from(block.buffer, block.byteOffset, block.byteLength)
  let row = -1
  let next = 0
  for (let at = bytes.indexOf(sought); at >= 0; at = bytes.indexOf(sought, next)) {
    // What begins with the end of the text before is found there.
    const start = bytes[at] === end ? at + 1 : at
    for (; next < start; next++) if (bytes[next] === end) row++
    found.add(row)
    next = bytes.indexOf(end, next)
  }
}
