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
import { linesInOrder, type TransferLine } from "../../../protocol/transfer/line.ts"
import type { Cx } from "../../../store/index.ts"
import {
  type Bucket,
  bucketObject,
  fileBytesMax,
  localFile,
  type TransferLocation,
} from "../location.ts"
import { type ExportScope, exportPieces, inlineMax, requirePermission } from "./v1-export.ts"
import { type ImportReport, importOrgs } from "./v1-import.ts"
import { fromOlderFormat, parseOrgs } from "./v1-line.ts"

/** The external source of an import; undefined if the request contains the data. */
export function sourceOf(
  cx: Cx,
  { data }: ImportDataRequest,
): { readonly place: TransferLocation; readonly isOlder: boolean } | undefined {
  switch (data.case) {
    case "dataOrgsLocal":
    case "dataOrgsv1Local":
      return { place: localFile(cx, data.value.path), isOlder: data.case === "dataOrgsv1Local" }
    case "dataOrgsS3":
    case "dataOrgsv1S3":
      return { place: bucketObject(cx, data.value), isOlder: data.case === "dataOrgsv1S3" }
    case "dataOrgsGcs":
    case "dataOrgsv1Gcs":
      throw noBucketError()
    default:
      return undefined
  }
}

/** The external destination of an export; undefined for the response. */
export function targetOf(cx: Cx, requested: ExportDataRequest): TransferLocation | undefined {
  const { localOutput, s3Output, gcsOutput } = requested
  if (gcsOutput) throw noBucketError()
  if (localOutput && s3Output) {
    throw new Fault(
      "invalid_argument",
      "transfer.places",
      "only one of local_output and s3_output can be set",
    )
  }
  if (localOutput) return localFile(cx, localOutput.path)
  return s3Output && bucketObject(cx, toBucket(s3Output))
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

/** The number of lines that are processed before other tasks run. */
const linesPerTurn = 50

/** Writes an export to a location, as JSON lines; see `exportPieces`. */
export async function exportTo(
  cx: Cx,
  location: TransferLocation,
  scope: ExportScope,
  pass: () => void,
) {
  const lines: string[] = []
  let bytes = 0
  for await (const piece of exportPieces(cx, scope, pass)) {
    const line = `${toJsonString(DataOrgSchema, piece)}\n`
    bytes += Buffer.byteLength(line)
    if (bytes > fileBytesMax) throw tooLargeError()
    lines.push(line)
  }
  await location.write(lines.join(""))
}

type ImportOptions = {
  readonly isOlder: boolean
  readonly report: ImportReport
  readonly isLate: () => boolean
}

/** Imports from a location: JSON lines, or a document in the form of a request. */
export async function importFrom(
  cx: Cx,
  location: TransferLocation,
  { isOlder, ...options }: ImportOptions,
): Promise<{ readonly orgs: number }> {
  requirePermission(cx, "iam.write")
  const text = await location.read()
  const createdOrgs = new Set<string>()
  const lines = isOlder ? undefined : splitLines(text)
  if (!lines) {
    const orgs = parseDocument(text, isOlder)
    await importOrgs(cx, orgs, { ...options, createdOrgs })
    return { orgs: orgs.length }
  }
  const all = new Set<string>()
  let part: TransferLine[] = []
  const take = async () => {
    const orgs = parseOrgs(part, options.report)
    for (const { orgId } of orgs) all.add(orgId)
    await importOrgs(cx, orgs, { ...options, createdOrgs })
    part = []
  }
  for await (const line of linesInOrder(() => yieldingLines(lines))) {
    if (part.push(line) === linesPerTurn) await take()
  }
  await take()
  return { orgs: all.size }
}

async function* yieldingLines(lines: readonly string[]): AsyncGenerator<string> {
  for (const [at, line] of lines.entries()) {
    if (at % linesPerTurn === 0) await nextTurn()
    yield line
  }
}

/**
 * The output of latchkey export contains an organization on each line; undefined for anything else.
 */
const splitLines = (text: string): readonly string[] | undefined =>
  /^\s*\{\s*"orgId"/.test(text) ? text.split("\n") : undefined

function parseDocument(text: string, isOlder: boolean): readonly DataOrg[] {
  if (Buffer.byteLength(text) > inlineMax.bytes) throw documentTooLargeError()
  try {
    return isOlder
      ? fromJsonString(OlderSchema, text).orgs.map(fromOlderFormat)
      : fromJsonString(ImportDataOrgSchema, text).orgs
  } catch (cause) {
    if (!(cause instanceof Error) || cause instanceof Fault) throw cause
    const message = `the file contains neither JSON lines nor {"orgs": […]}: ${cause.message}`
    throw new Fault("invalid_argument", "transfer.file_invalid", message, { cause })
  }
}

const tooLargeError = () =>
  new Fault(
    "resource_exhausted",
    "transfer.too_large",
    `the export exceeds ${fileBytesMax} bytes; name fewer organizations in org_ids, or run ` +
      "latchkey export on the server",
  )

const documentTooLargeError = () =>
  new Fault(
    "resource_exhausted",
    "transfer.too_large",
    `a file of more than ${inlineMax.bytes} bytes must contain JSON lines, as written by ` +
      "latchkey export",
  )

const noBucketError = () =>
  new Fault(
    "failed_precondition",
    "transfer.no_bucket",
    "Google Cloud Storage is supported only through its S3 interface: use an HMAC key and " +
      "the endpoint storage.googleapis.com, or run latchkey export FILE or latchkey import " +
      "FILE on the server and copy the file with other tools",
  )
