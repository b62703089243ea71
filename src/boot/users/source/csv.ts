import { Readable } from "node:stream"
import type { FileEntry } from "../user.ts"
import { entryMax, fileError, readLines, readText } from "./text.ts"

/**
 * The records of a CSV file (RFC 4180) by the column names in its first line. `column` normalizes a
 * name or throws. The separator is detected from that line (comma, semicolon or tab) or read from a
 * line "sep=;" before it, as spreadsheets write it.
 */
export async function* csvEntries(
  path: string,
  column: (name: string) => string,
): AsyncGenerator<FileEntry> {
  const { CsvError, parse } = await import("csv-parse")
  const parser = parse({
    ...(await detectSeparator(path)),
    columns: (names: readonly string[]) => parseHeader(path, names, column),
    info: true,
    skip_empty_lines: true,
    relax_column_count: true,
    max_record_size: entryMax,
  })
  const input = Readable.from(readText(path))
  input.on("error", (cause) => parser.destroy(cause))
  let row = 1
  try {
    for await (const { record, info } of input.pipe(parser)) {
      const isRagged = info.error !== undefined
      // Counts rows as a spreadsheet does, because a field can contain line breaks.
      const at = `row ${++row + info.empty_lines}`
      yield { at, value: record, ...(isRagged && { problem: wrongFieldCountText }) }
    }
  } catch (cause) {
    if (!(cause instanceof CsvError)) throw cause
    throw fileError(`${path} is not valid CSV: ${cause.message}; nothing was imported`, cause)
  }
}

const wrongFieldCountText = "the row has a different number of fields than the first line"

const separatorLine = /^"?sep=([^"\r\n])"?\r?$/i

/** The field separator, and the number of the line with the column names. */
async function detectSeparator(
  path: string,
): Promise<{ readonly delimiter: string; readonly from_line: number }> {
  for await (const { line = "" } of readLines(path)) {
    const [, delimiter] = separatorLine.exec(line) ?? []
    if (delimiter !== undefined) return { delimiter, from_line: 2 }
    const count = (mark: string) => line.split(mark).length
    const [most = ","] = [",", ";", "\t"].toSorted((a, b) => count(b) - count(a))
    return { delimiter: most, from_line: 1 }
  }
  throw fileError(`${path} is empty; its first line must contain the column names`)
}

function parseHeader(
  path: string,
  names: readonly string[],
  column: (name: string) => string,
): string[] {
  const found = names.map((name) => column(name.trim()))
  const duplicate = found.find((name, at) => found.indexOf(name) !== at)
  if (duplicate !== undefined)
    throw fileError(`${path} has the column "${duplicate}" more than once`)
  return found
}
