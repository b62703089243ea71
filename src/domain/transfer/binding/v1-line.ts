import { fromBinary, fromJsonString, toBinary, toJsonString } from "@bufbuild/protobuf"
import { type DataOrg, DataOrgSchema } from "../../../gen/core/admin/v1/data_pb.ts"
import type { Cx } from "../../../store/index.ts"
import { piecesOf, type Wanted } from "./v1-export.ts"
import { type Refused, takeOver } from "./v1-import.ts"

/** An export as lines of JSON: each is an organisation with one thing in it. */
export async function* linesOf(cx: Cx, wanted: Wanted): AsyncGenerator<string> {
  for await (const piece of piecesOf(cx, wanted, () => undefined)) {
    yield toJsonString(DataOrgSchema, piece)
  }
}

type Lines = {
  readonly lines: readonly string[]
  /** The number of the first of them. */
  readonly first: number
  /** The organisations that the same import has made so far. */
  readonly made: Set<string>
}

/** Takes lines over; see `takeOver`. A line that can't be read is named by its number. */
export async function takeLines(
  cx: Cx,
  { lines, first, made }: Lines,
): Promise<{ readonly taken: number; readonly refused: readonly Refused[] }> {
  const refused: Refused[] = []
  const parts = new Map<string, Uint8Array[]>()
  for (const [at, line] of lines.entries()) {
    if (line.trim() === "") continue
    const org = read(line)
    if (typeof org === "string") {
      refused.push({ type: "line", orgId: "", id: `${first + at}`, message: org })
      continue
    }
    const known = parts.get(org.orgId) ?? []
    if (known.length === 0) parts.set(org.orgId, known)
    known.push(toBinary(DataOrgSchema, org))
  }
  let taken = 0
  const report = {
    taken: () => taken++,
    refused: (each: Refused) => refused.push(each),
  }
  const orgs = [...parts.values()].map((each) => fromBinary(DataOrgSchema, Buffer.concat(each)))
  await takeOver(cx, orgs, { report, made, isLate: () => false })
  return { taken, refused }
}

/** An organisation, or why a line is none. */
function read(line: string): DataOrg | string {
  try {
    const org = fromJsonString(DataOrgSchema, line)
    return org.orgId === "" ? "orgId is missing" : org
  } catch (cause) {
    if (cause instanceof Error) return `this is no organisation in JSON: ${cause.message}`
    throw cause
  }
}
