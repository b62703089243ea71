import { fold } from "./condition.ts"

/** Stands before and after each text; a text with one in it can't be told from two. */
export const separator = "\u0001"

/** What the rows of a block have in one column: the same text, or all their texts in a row. */
export type Column = Same | Joined

type Same = { readonly same: string; readonly size: number }

type Joined = {
  readonly texts: string
  /** Where the text of each row begins, and where the one after the last would. */
  readonly starts: Uint16Array | Uint32Array
  readonly size: number
}

/** How a column is read: SQLite puts texts together faster than they are fetched. */
export const listing = (name: string): string => `group_concat(${name}, char(1)) AS texts`

/** Undefined where a text has a separator in it. */
export function columnIn(texts: string, rows: number): Column | undefined {
  const end = texts.indexOf(separator)
  const first = end < 0 ? texts : texts.slice(0, end)
  const isShort = texts.length === (first.length + 1) * rows - 1
  if (rows === 0 || (isShort && texts === Array(rows).fill(first).join(separator))) {
    return { same: first, size: 0 }
  }
  const found = joined(`${separator}${texts}${separator}`)
  return found.starts.length === rows + 1 ? found : undefined
}

/** All texts folded at once: a separator stays as it is, and changes nothing beside it. */
export function folded(column: Column): Column {
  if ("same" in column) return { same: fold(column.same), size: 0 }
  const texts = fold(column.texts)
  return texts === column.texts ? column : joined(texts)
}

function joined(texts: string): Joined {
  const starts: number[] = []
  for (let at = 0; at >= 0; at = texts.indexOf(separator, at + 1)) starts.push(at + 1)
  const kept = texts.length < 0xffff ? Uint16Array.from(starts) : Uint32Array.from(starts)
  const width = wide.test(texts) ? 2 : 1
  return { texts, starts: kept, size: texts.length * width + kept.byteLength }
}

/** One such character makes all of a text twice as large. */
const wide = /[\u0080-\uffff]/

/** The text of one row. */
export function textAt(column: Column, row: number): string {
  if ("same" in column) return column.same
  const { texts, starts } = column
  return texts.slice(starts[row], (starts[row + 1] ?? 0) - 1)
}
