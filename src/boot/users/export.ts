import { writeStandardOutput } from "../backup/standard-output.ts"
import { createFile } from "../transfer/file.ts"
import { csvHeader, csvLine } from "./format/csv.ts"
import type { UserExportRequest, UserTransfer } from "./messages.ts"
import type { TransferUser } from "./user.ts"

type ExportQuery = Omit<UserExportRequest, "session">
type ExportTarget = { readonly to: string; readonly format: "csv" | "json" }

/**
 * Writes users in parts to a new file or to standard output. For a table, the users are read twice,
 * because its first line contains all metadata keys.
 */
export async function writeUsers(
  carrier: UserTransfer,
  query: ExportQuery,
  { to, format }: ExportTarget,
): Promise<{ readonly people: number }> {
  const file = to === "-" ? undefined : await createFile(to)
  const encoder = new TextEncoder()
  const write = async (lines: readonly string[]) => {
    const bytes = encoder.encode(lines.join(""))
    if (file) await file.writeFile(bytes)
    else await writeStandardOutput(bytes)
  }
  try {
    const keys = format === "csv" ? await metadataKeysOf(carrier, query) : []
    // RFC 4180 §2: lines end with CRLF.
    if (format === "csv") await write([`${csvHeader(keys)}\r\n`])
    let count = 0
    for await (const people of readParts(carrier, query)) {
      const line = (each: TransferUser) =>
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

async function metadataKeysOf(
  carrier: UserTransfer,
  query: ExportQuery,
): Promise<readonly string[]> {
  const keys = new Set<string>()
  const all = { ...query, withPasswords: false, withOtp: false }
  for await (const people of readParts(carrier, all)) {
    for (const { metadata } of people) for (const key of Object.keys(metadata)) keys.add(key)
  }
  return [...keys].sort()
}

async function* readParts(
  { tellPeople }: UserTransfer,
  query: ExportQuery,
): AsyncGenerator<readonly TransferUser[]> {
  let session: string | undefined
  do {
    const part = await tellPeople(session === undefined ? query : { ...query, session })
    yield part.people
    session = part.session
  } while (session !== undefined)
}
