import { setImmediate as nextTurn } from "node:timers/promises"
import { fromJsonString, toJsonString } from "@bufbuild/protobuf"
import {
  type DataOrg,
  DataOrgSchema,
  type ExportDataRequest,
  ImportDataOrgSchema,
  type ImportDataRequest,
} from "../../../gen/core/admin/v1/data_pb.ts"
import { ImportDataOrgSchema as OlderSchema } from "../../../gen/core/v1/v1/data_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { type Line, linesInOrder } from "../../../protocol/transfer/line.ts"
import type { Cx } from "../../../store/index.ts"
import { type Bucket, bucketPlace, localPlace, type Place, placeMax } from "../place.ts"
import { inline, mustHold, piecesOf, type Wanted } from "./v1-export.ts"
import { type Report, takeOver } from "./v1-import.ts"
import { orgsIn, presentOf } from "./v1-line.ts"

/** What a request names as its source beside itself; undefined where it has the data in it. */
export function sourceOf(
  cx: Cx,
  { data }: ImportDataRequest,
): { readonly place: Place; readonly isOlder: boolean } | undefined {
  switch (data.case) {
    case "dataOrgsLocal":
    case "dataOrgsv1Local":
      return { place: localPlace(cx, data.value.path), isOlder: data.case === "dataOrgsv1Local" }
    case "dataOrgsS3":
    case "dataOrgsv1S3":
      return { place: bucketPlace(cx, data.value), isOlder: data.case === "dataOrgsv1S3" }
    case "dataOrgsGcs":
    case "dataOrgsv1Gcs":
      throw noBucketError()
    default:
      return undefined
  }
}

/** Where an export is to go beside the answer; undefined where nowhere else. */
export function targetOf(cx: Cx, asked: ExportDataRequest): Place | undefined {
  const { localOutput, s3Output, gcsOutput } = asked
  if (gcsOutput) throw noBucketError()
  if (localOutput && s3Output) {
    throw new Fault(
      "invalid_argument",
      "transfer.places",
      "name one place: local_output or s3_output",
    )
  }
  if (localOutput) return localPlace(cx, localOutput.path)
  return s3Output && bucketPlace(cx, toBucket(s3Output))
}

const toBucket = ({
  path,
  endpoint,
  accessKeyId,
  secretAccessKey,
  ssl,
  bucket,
}: Bucket): Bucket => ({
  path,
  endpoint,
  accessKeyId,
  secretAccessKey,
  ssl,
  bucket,
})

/** So many lines are read, and taken over, before others have their turn. */
const atOnce = 50

/** Writes an export elsewhere, as lines of JSON; see `piecesOf`. */
export async function writeTo(cx: Cx, place: Place, wanted: Wanted, pass: () => void) {
  const lines: string[] = []
  let bytes = 0
  for await (const piece of piecesOf(cx, wanted, pass)) {
    const line = `${toJsonString(DataOrgSchema, piece)}\n`
    bytes += Buffer.byteLength(line)
    if (bytes > placeMax) throw tooLargeError()
    lines.push(line)
  }
  await place.write(lines.join(""))
}

type How = {
  readonly isOlder: boolean
  readonly report: Report
  readonly isLate: () => boolean
}

/** Takes over what stands elsewhere: lines of JSON, or a document of what a request has. */
export async function takeFrom(
  cx: Cx,
  place: Place,
  { isOlder, ...how }: How,
): Promise<{ readonly orgs: number }> {
  mustHold(cx, "iam.write")
  const text = await place.read()
  const made = new Set<string>()
  const lines = isOlder ? undefined : linesIn(text)
  if (!lines) {
    const orgs = documentIn(text, isOlder)
    await takeOver(cx, orgs, { ...how, made })
    return { orgs: orgs.length }
  }
  const all = new Set<string>()
  let part: Line[] = []
  const take = async () => {
    const orgs = orgsIn(part, how.report)
    for (const { orgId } of orgs) all.add(orgId)
    await takeOver(cx, orgs, { ...how, made })
    part = []
  }
  for await (const line of linesInOrder(() => pausing(lines))) {
    if (part.push(line) === atOnce) await take()
  }
  await take()
  return { orgs: all.size }
}

async function* pausing(lines: readonly string[]): AsyncGenerator<string> {
  for (const [at, line] of lines.entries()) {
    if (at % atOnce === 0) await nextTurn()
    yield line
  }
}

/** What latchkey export writes has an organisation on each line; undefined for anything else. */
const linesIn = (text: string): readonly string[] | undefined =>
  /^\s*\{\s*"orgId"/.test(text) ? text.split("\n") : undefined

function documentIn(text: string, isOlder: boolean): readonly DataOrg[] {
  if (Buffer.byteLength(text) > inline.bytes) throw documentTooLargeError()
  try {
    return isOlder
      ? fromJsonString(OlderSchema, text).orgs.map(presentOf)
      : fromJsonString(ImportDataOrgSchema, text).orgs
  } catch (cause) {
    if (!(cause instanceof Error) || cause instanceof Fault) throw cause
    const message = `the file is neither lines of JSON nor {"orgs": […]}: ${cause.message}`
    throw new Fault("invalid_argument", "transfer.file_invalid", message, { cause })
  }
}

const tooLargeError = () =>
  new Fault(
    "resource_exhausted",
    "transfer.too_large",
    `this is more than ${placeMax} bytes: name fewer organisations in org_ids, or run latchkey ` +
      "export on the server",
  )

const documentTooLargeError = () =>
  new Fault(
    "resource_exhausted",
    "transfer.too_large",
    `a file of more than ${inline.bytes} bytes must be lines of JSON, as latchkey export has them`,
  )

const noBucketError = () =>
  new Fault(
    "failed_precondition",
    "transfer.no_bucket",
    "this server doesn't speak to Google Cloud Storage by its own interface; name it as S3 with " +
      "an HMAC key (endpoint storage.googleapis.com), or run latchkey export FILE or latchkey " +
      "import FILE on it, and copy the file with the tools of that service",
  )
