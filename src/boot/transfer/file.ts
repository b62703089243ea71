import { createReadStream, statSync } from "node:fs"
import { open } from "node:fs/promises"
import { createInterface } from "node:readline"
import { type Line, linesInOrder } from "../../protocol/transfer/line.ts"
import { standardOutput } from "../backup/standard-output.ts"
import { startError, systemCode } from "../start-error.ts"
import type { Carrier, ExportAsked, ImportAsked, Refused } from "./part.ts"

type Written = { readonly lines: number }

/** Writes an export, part by part, to a file of its own or to standard output. */
export async function writeOut(
  { tell }: Carrier,
  asked: Omit<ExportAsked, "session">,
  to: string,
): Promise<Written> {
  const file = to === "-" ? undefined : await fileAt(to)
  const encoder = new TextEncoder()
  let lines = 0
  try {
    for (let session: string | undefined; ; ) {
      const part = await tell(session === undefined ? asked : { ...asked, session })
      const bytes = encoder.encode(part.lines.map((line) => `${line}\n`).join(""))
      if (file) await file.writeFile(bytes)
      else await standardOutput(bytes)
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

/** For its owner only: it holds personal data. */
export async function fileAt(path: string) {
  try {
    return await open(path, "wx", 0o600)
  } catch (cause) {
    const code = systemCode(cause)
    const why =
      code === "EEXIST" ? "is there already; name another file" : `can't be made (${code})`
    throw startError("export_file", `${path} ${why}`, cause)
  }
}

type Taken = { readonly taken: number; readonly refused: readonly Refused[] }

/** As much as one part has: few enough that others are answered soon after. */
const part = { lines: 50, letters: 100_000 } as const

/** Reads a file line by line and hands it over, part by part, in the order that it takes. */
export async function readIn(
  { take }: Carrier,
  asked: Pick<ImportAsked, "instance" | "dryRun">,
  from: string,
): Promise<Taken> {
  const refused: Refused[] = []
  let [taken, letters] = [0, 0]
  let session: string | undefined
  let lines: Line[] = []
  const send = async (isLast: boolean) => {
    const known = session === undefined ? {} : { session }
    const done = await take({ ...asked, ...known, lines, isLast })
    session = done.session
    taken += done.taken
    refused.push(...done.refused)
    ;[lines, letters] = [[], 0]
  }
  const read = isFile(from) ? () => linesOf(from) : await held(linesOf(from))
  for await (const line of linesInOrder(read)) {
    const { length } = line.text
    if (lines.length >= part.lines || letters + length > part.letters) await send(false)
    lines.push(line)
    letters += length
  }
  await send(true)
  return { taken, refused }
}

const isFile = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isFile() ?? false

/** What comes from another program comes once. */
async function held(lines: AsyncIterable<string>) {
  const all = await Array.fromAsync(lines)
  return async function* () {
    yield* all
  }
}

async function* linesOf(path: string): AsyncGenerator<string> {
  const input = createReadStream(path)
  try {
    yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
  } catch (cause) {
    throw startError("import_file", `${path} can't be read (${systemCode(cause)})`, cause)
  } finally {
    input.destroy()
  }
}
