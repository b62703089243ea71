import { standardOutput } from "../backup/standard-output.ts"
import { fileAt } from "../transfer/file.ts"
import { csvHead, csvLine } from "./format/csv.ts"
import type { PeopleCarrier, TellAsked } from "./part.ts"
import type { Person } from "./person.ts"

type Asked = Omit<TellAsked, "session">
type Place = { readonly to: string; readonly format: "csv" | "json" }

/**
 * Writes people, part by part, to a file of its own or to standard output. A table is read twice:
 * its first line names every key that anybody has metadata by.
 */
export async function writePeople(
  carrier: PeopleCarrier,
  asked: Asked,
  { to, format }: Place,
): Promise<{ readonly people: number }> {
  const file = to === "-" ? undefined : await fileAt(to)
  const encoder = new TextEncoder()
  const write = async (lines: readonly string[]) => {
    const bytes = encoder.encode(lines.join(""))
    if (file) await file.writeFile(bytes)
    else await standardOutput(bytes)
  }
  try {
    const keys = format === "csv" ? await keysOf(carrier, asked) : []
    // RFC 4180 §2: lines of a table end with CRLF.
    if (format === "csv") await write([`${csvHead(keys)}\r\n`])
    let count = 0
    for await (const people of partsOf(carrier, asked)) {
      const line = (each: Person) =>
        format === "csv" ? `${csvLine(each, keys)}\r\n` : `${JSON.stringify(each)}\n`
      await write(people.map(line))
      count += people.length
    }
    await file?.sync()
    return { people: count }
  } finally {
    await file?.close()
  }
}

async function keysOf(carrier: PeopleCarrier, asked: Asked): Promise<readonly string[]> {
  const keys = new Set<string>()
  const all = { ...asked, withPasswords: false, withOtp: false }
  for await (const people of partsOf(carrier, all)) {
    for (const { metadata } of people) for (const key of Object.keys(metadata)) keys.add(key)
  }
  return [...keys].sort()
}

async function* partsOf(
  { tellPeople }: PeopleCarrier,
  asked: Asked,
): AsyncGenerator<readonly Person[]> {
  let session: string | undefined
  do {
    const part = await tellPeople(session === undefined ? asked : { ...asked, session })
    yield part.people
    session = part.session
  } while (session !== undefined)
}
