import { createHash } from "node:crypto"
import { Fault, fieldError } from "../../kernel/fault.ts"
import { parseDisplayName } from "../../kernel/text/identifier.ts"
import type { Cx } from "../../store/index.ts"

/** The external source of an import or destination of an export. */
export type TransferLocation = {
  readonly read: () => Promise<string>
  readonly write: (text: string) => Promise<void>
}

/** The maximum size of a file in bytes: both sides keep it in memory. */
export const fileBytesMax = 16 * 1024 * 1024

/**
 * A file in the configured directory; throws for all other paths, and if no directory is
 * configured.
 */
export function localFile({ outside, instance }: Cx, path: string): TransferLocation {
  const { files } = outside
  if (!files) throw transferDisabledError()
  // A file name without a path, so that it stays in the directory of the instance.
  if (!/^[A-Za-z0-9][\w.-]{0,199}$/.test(path)) {
    const requirement = "must be a file name (letters, digits, '.', '_', '-') without directories"
    throw fieldError("transfer.path", "path", requirement)
  }
  return {
    read: () => files.read(instance, path, fileBytesMax),
    write: (text) => files.write(instance, path, text),
  }
}

/** An object in S3-compatible storage. */
export type Bucket = {
  readonly path: string
  /** HOST or HOST:PORT. */
  readonly endpoint: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly ssl: boolean
  readonly bucket: string
}

/** An S3 object with a path-style URL, accessed with outbound restrictions and AWS SigV4. */
export function bucketObject({ outside, clock }: Cx, bucket: Bucket): TransferLocation {
  const url = objectUrl(bucket)
  const sent = async (method: "GET" | "PUT", body?: string) => {
    const signed = await createSignedHeaders(bucket, { url, method, body, now: clock.now() })
    const request = { url, method, headers: signed, timeoutMs: 60_000, sizeMax: fileBytesMax }
    const reply = await outside
      .send(body === undefined ? request : { ...request, body })
      .catch((cause: Error) => {
        throw bucketError(cause.message)
      })
    if (reply.status === 200) return reply.body
    const [, reason = ""] = /<Code>(\w{1,60})<\/Code>/.exec(reply.body) ?? []
    throw bucketError(`the storage returned ${[reply.status, reason].join(" ").trim()}`)
  }
  return {
    read: () => sent("GET"),
    write: async (text) => void (await sent("PUT", text)),
  }
}

/** https://HOST/BUCKET/PATH; validated so that the parts can't change the structure of the URL. */
function objectUrl({ endpoint, bucket, path, ssl }: Bucket): string {
  if (!/^[A-Za-z0-9.-]{1,253}(:\d{1,5})?$/.test(endpoint)) {
    throw fieldError("transfer.endpoint", "endpoint", "must be HOST or HOST:PORT")
  }
  // Amazon S3, "Bucket naming rules".
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket)) {
    throw fieldError(
      "transfer.bucket",
      "bucket",
      "must be 3 to 63 lowercase letters, digits, dots and hyphens",
    )
  }
  const parts = parseDisplayName("path", path).replace(/^\/+/, "").split("/")
  if (parts.some((part) => part === "" || part === "." || part === "..")) {
    throw fieldError("transfer.path", "path", "must be names separated by single slashes")
  }
  const key = parts.map(encodeURIComponent).join("/")
  return `${ssl ? "https" : "http"}://${endpoint}/${bucket}/${key}`
}

type UnsignedRequest = {
  readonly url: string
  readonly method: string
  readonly body: string | undefined
  readonly now: number
}

async function createSignedHeaders(
  { endpoint, accessKeyId, secretAccessKey }: Bucket,
  { url, method, body = "", now }: UnsignedRequest,
): Promise<Readonly<Record<string, string>>> {
  if (accessKeyId === "" || secretAccessKey === "") {
    throw fieldError(
      "transfer.access_key",
      "access_key_id",
      "is required, together with its secret",
    )
  }
  const { AwsV4Signer } = await import("aws4fetch")
  // The host of Amazon S3 contains the region; other services ignore the region.
  const [, region = "us-east-1"] = /^s3[.-]([a-z0-9-]+)\.amazonaws\.com$/.exec(endpoint) ?? []
  const signer = new AwsV4Signer({
    url,
    method,
    accessKeyId,
    secretAccessKey,
    region,
    service: "s3",
    headers: { "x-amz-content-sha256": createHash("sha256").update(body).digest("hex") },
    datetime: new Date(now).toISOString().replace(/[:-]|\.\d{3}/g, ""),
  })
  const { headers } = await signer.sign()
  return Object.fromEntries([...headers].filter(([name]) => name !== "host"))
}

const bucketError = (reason: string) =>
  new Fault("failed_precondition", "transfer.bucket_failed", `the bucket can't be used: ${reason}`)

const transferDisabledError = () =>
  new Fault(
    "failed_precondition",
    "transfer.no_folder",
    "file transfer is disabled on this server; the operator can set --transfer-folder, or " +
      "run latchkey export FILE and latchkey import FILE",
  )
