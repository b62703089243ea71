import { fold } from "../kernel/name.ts"

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
export const listing = (name: string): string =>
  `char(1) || group_concat(${name}, char(1)) || char(1) AS texts`

/** Undefined where a text has a separator in it. */
export function columnIn(texts: string, rows: number): Column | undefined {
  if (rows === 0) return { same: "", size: 0 }
  const end = texts.indexOf(separator, 1)
  if (texts.length === end * rows + 1) {
    const first = texts.slice(0, end)
    if (texts === first.repeat(rows) + separator) return { same: first.slice(1), size: 0 }
  }
  return joined(texts, rows)
}

/** All texts folded at once: a separator stays as it is, and changes nothing beside it. */
export function folded(column: Column): Column | undefined {
  if ("same" in column) return { same: fold(column.same), size: 0 }
  const { texts, starts } = column
  // Plain letters cost nothing but their case.
  const found = wide.test(texts) ? fold(texts) : texts.toLowerCase()
  return found === texts ? column : joined(found, starts.length - 1)
}

/** Whether two are alike, as folded ones are that were written so. */
export const isSame = (one: Column, other: Column): boolean =>
  "same" in one || "same" in other ? false : one.texts === other.texts

function joined(texts: string, rows: number): Joined | undefined {
  const starts = texts.length < 0xffff ? new Uint16Array(rows + 1) : new Uint32Array(rows + 1)
  let row = 0
  for (let at = 0; at >= 0; at = texts.indexOf(separator, at + 1)) starts[row++] = at + 1
  if (row !== rows + 1) return undefined
  const width = wide.test(texts) ? 2 : 1
  return { texts, starts, size: texts.length * width + starts.byteLength }
}

/** One such character makes all of a text twice as large. */
const wide = /[\u0080-\uffff]/

/** The text of one row. */
export function textAt(column: Column, row: number): string {
  if ("same" in column) return column.same
  const { texts, starts } = column
  return texts.slice(starts[row], (starts[row + 1] ?? 0) - 1)
}
