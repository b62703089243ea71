import { createHash } from "node:crypto"
import { Fault, fieldError } from "../../kernel/fault.ts"
import { givenName } from "../../kernel/text/given.ts"
import type { Cx } from "../../store/index.ts"

/** Where an export goes to, or an import comes from, beside the request and its answer. */
export type Place = {
  readonly read: () => Promise<string>
  readonly write: (text: string) => Promise<void>
}

/** Bytes of a file that a request names: both sides hold it, and others are to have room. */
export const placeMax = 16 * 1024 * 1024

/** A file in the folder that the configuration names; refuses all others, and all where none is. */
export function localPlace({ outside, instance }: Cx, path: string): Place {
  const { files } = outside
  if (!files) throw noFolderError()
  // A name and no path: nothing leads out of the folder, or to another instance's.
  if (!/^[A-Za-z0-9][\w.-]{0,199}$/.test(path)) {
    const wanted = "must be the name of a file (letters, digits, '.', '_', '-'), without folders"
    throw fieldError("transfer.path", "path", wanted)
  }
  return {
    read: () => files.read(instance, path, placeMax),
    write: (text) => files.write(instance, path, text),
  }
}

/** An object in a bucket of a service that speaks S3. */
export type Bucket = {
  readonly path: string
  /** HOST or HOST:PORT. */
  readonly endpoint: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly ssl: boolean
  readonly bucket: string
}

/** An object of S3, addressed by path, through the guarded client, signed (AWS SigV4). */
export function bucketPlace({ outside, clock }: Cx, bucket: Bucket): Place {
  const url = addressOf(bucket)
  const sent = async (method: "GET" | "PUT", body?: string) => {
    const signed = await signedHeaders(bucket, { url, method, body, now: clock.now() })
    const request = { url, method, headers: signed, timeoutMs: 60_000, sizeMax: placeMax }
    const reply = await outside
      .send(body === undefined ? request : { ...request, body })
      .catch((cause: Error) => {
        throw bucketError(cause.message)
      })
    if (reply.status === 200) return reply.body
    const [, why = ""] = /<Code>(\w{1,60})<\/Code>/.exec(reply.body) ?? []
    throw bucketError(`it answers ${[reply.status, why].join(" ").trim()}`)
  }
  return {
    read: () => sent("GET"),
    write: async (text) => void (await sent("PUT", text)),
  }
}

/** https://HOST/BUCKET/PATH; what is entered has its place in it, and can't leave that. */
function addressOf({ endpoint, bucket, path, ssl }: Bucket): string {
  if (!/^[A-Za-z0-9.-]{1,253}(:\d{1,5})?$/.test(endpoint)) {
    throw fieldError("transfer.endpoint", "endpoint", "must be HOST or HOST:PORT")
  }
  // Amazon S3, "Bucket naming rules".
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket)) {
    throw fieldError("transfer.bucket", "bucket", "must be the name of a bucket")
  }
  const parts = givenName("path", path).replace(/^\/+/, "").split("/")
  if (parts.some((part) => part === "" || part === "." || part === "..")) {
    throw fieldError("transfer.path", "path", "must be names parted by single slashes")
  }
  const key = parts.map(encodeURIComponent).join("/")
  return `${ssl ? "https" : "http"}://${endpoint}/${bucket}/${key}`
}

type Unsigned = {
  readonly url: string
  readonly method: string
  readonly body: string | undefined
  readonly now: number
}

async function signedHeaders(
  { endpoint, accessKeyId, secretAccessKey }: Bucket,
  { url, method, body = "", now }: Unsigned,
): Promise<Readonly<Record<string, string>>> {
  if (accessKeyId === "" || secretAccessKey === "") {
    throw fieldError("transfer.access_key", "access_key_id", "must be there, with its secret")
  }
  const { AwsV4Signer } = await import("aws4fetch")
  // Amazon names the region in the host; others take what stands there for theirs.
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

const bucketError = (why: string) =>
  new Fault("failed_precondition", "transfer.bucket_failed", `the bucket can't be used: ${why}`)

const noFolderError = () =>
  new Fault(
    "failed_precondition",
    "transfer.no_folder",
    "this server reads and writes no files for callers: whoever runs it may name a folder for " +
      "them (--transfer-folder), or run latchkey export FILE and latchkey import FILE",
  )
