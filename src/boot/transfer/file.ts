import { createReadStream, statSync } from "node:fs"
import { open } from "node:fs/promises"
import { createInterface } from "node:readline"
import { linesInOrder, type TransferLine } from "../../protocol/transfer/line.ts"
import { writeStandardOutput } from "../backup/standard-output.ts"
import { startError, systemCode } from "../start-error.ts"
import type {
  ExportRequest,
  ImportRequest,
  OrganizationTransfer,
  RejectedItem,
} from "./messages.ts"

type ExportResult = { readonly lines: number }

/** Writes an export in parts to a new file or to standard output. */
export async function writeExport(
  { tell }: OrganizationTransfer,
  request: Omit<ExportRequest, "session">,
  to: string,
): Promise<ExportResult> {
  const file = to === "-" ? undefined : await createFile(to)
  const encoder = new TextEncoder()
  let lines = 0
  try {
    for (let session: string | undefined; ; ) {
      const part = await tell(session === undefined ? request : { ...request, session })
      const bytes = encoder.encode(part.lines.map((line) => `${line}\n`).join(""))
      if (file) await file.writeFile(bytes)
      else await writeStandardOutput(bytes)
      lines += part.lines.length
      session = part.session
      if (session === undefined) break
    }
    await file?.sync()
    return { lines }
  } finally {
    await file?.close()
  }
}

/** Readable only by its owner, because it contains personal data. */
export async function createFile(path: string) {
  try {
    return await open(path, "wx", 0o600)
  } catch (cause) {
    const code = systemCode(cause)
    const reason =
      code === "EEXIST" ? "already exists; name another file" : `can't be created (${code})`
    throw startError("export_file", `${path} ${reason}`, cause)
  }
}

type ImportResult = { readonly taken: number; readonly refused: readonly RejectedItem[] }

/** The maximum size of a part, small enough that other requests are not delayed. */
const partMax = { lines: 50, letters: 100_000 } as const

/** Reads a file line by line and imports it in parts, in the order required by the import. */
export async function importFile(
  { take }: OrganizationTransfer,
  request: Pick<ImportRequest, "instance" | "dryRun">,
  from: string,
): Promise<ImportResult> {
  const refused: RejectedItem[] = []
  let [taken, letters] = [0, 0]
  let session: string | undefined
  let lines: TransferLine[] = []
  const send = async (isLast: boolean) => {
    const known = session === undefined ? {} : { session }
    const done = await take({ ...request, ...known, lines, isLast })
    session = done.session
    taken += done.taken
    refused.push(...done.refused)
    ;[lines, letters] = [[], 0]
  }
  const read = isFile(from) ? () => readLines(from) : await bufferLines(readLines(from))
  for await (const line of linesInOrder(read)) {
    const { length } = line.text
    if (lines.length >= partMax.lines || letters + length > partMax.letters) await send(false)
    lines.push(line)
    letters += length
  }
  await send(true)
  return { taken, refused }
}

const isFile = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isFile() ?? false

/** Input from a pipe can be read only once, so it is kept. */
async function bufferLines(lines: AsyncIterable<string>) {
  const all = await Array.fromAsync(lines)
  return async function* () {
    yield* all
  }
}

async function* readLines(path: string): AsyncGenerator<string> {
  const input = createReadStream(path)
  try {
    yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
  } catch (cause) {
    throw startError("import_file", `${path} can't be read (${systemCode(cause)})`, cause)
  } finally {
    input.destroy()
  }
}
