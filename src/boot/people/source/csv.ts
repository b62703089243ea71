import { Readable } from "node:stream"
import type { Entry } from "../person.ts"
import { entryMax, fileError, linesOf, textOf } from "./text.ts"

/**
 * The records of a CSV file (RFC 4180) by the names in its first line, which `column` makes one
 * spelling of, or refuses. What parts the fields is found there, too: comma, semicolon or tab; or
 * in a line before it, as spreadsheets write it: "sep=;".
 */
export async function* csvEntries(
  path: string,
  column: (name: string) => string,
): AsyncGenerator<Entry> {
  const { CsvError, parse } = await import("csv-parse")
  const parser = parse({
    ...(await separationOf(path)),
    columns: (names: readonly string[]) => columnsOf(path, names, column),
    info: true,
    skip_empty_lines: true,
    relax_column_count: true,
    max_record_size: entryMax,
  })
  const input = Readable.from(textOf(path))
  input.on("error", (cause) => parser.destroy(cause))
  let row = 1
  try {
    for await (const { record, info } of input.pipe(parser)) {
      const isRagged = info.error !== undefined
      // Rows as a spreadsheet counts them: a field may have lines of its own.
      const at = `row ${++row + info.empty_lines}`
      yield { at, value: record, ...(isRagged && { wrong: ragged }) }
    }
  } catch (cause) {
    if (!(cause instanceof CsvError)) throw cause
    throw fileError(`${path} is broken CSV: ${cause.message}; nothing was taken over`, cause)
  }
}

const ragged = "has another number of fields than the first line"

const stated = /^"?sep=([^"\r\n])"?\r?$/i

/** What parts the fields, and the line that names the columns. */
async function separationOf(
  path: string,
): Promise<{ readonly delimiter: string; readonly from_line: number }> {
  for await (const { line = "" } of linesOf(path)) {
    const [, delimiter] = stated.exec(line) ?? []
    if (delimiter !== undefined) return { delimiter, from_line: 2 }
    const count = (mark: string) => line.split(mark).length
    const [most = ","] = [",", ";", "\t"].toSorted((a, b) => count(b) - count(a))
    return { delimiter: most, from_line: 1 }
  }
  throw fileError(`${path} is empty; its first line names the columns`)
}

function columnsOf(
  path: string,
  names: readonly string[],
  column: (name: string) => string,
): string[] {
  const found = names.map((name) => column(name.trim()))
  const twice = found.find((name, at) => found.indexOf(name) !== at)
  if (twice !== undefined) throw fileError(`${path} has the column "${twice}" twice`)
  return found
}
