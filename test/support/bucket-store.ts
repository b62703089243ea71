// An S3-compatible store with the operations that backups need. It verifies each request's
// signature according to the documentation of AWS Signature Version 4.
import { createHash, createHmac, timingSafeEqual } from "node:crypto"

type Intercept = (request: Request, url: URL) => Response | "cut" | undefined

const key = { id: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" } as const
const bucket = "backups"

export type BucketStore = Awaited<ReturnType<typeof startBucketStore>>

/** Starts it with one empty bucket. `trouble` responds in its place, or closes the connection. */
export function startBucketStore() {
  const objects = new Map<string, Uint8Array<ArrayBuffer>>()
  const uploads = new Map<
    string,
    { readonly name: string; readonly parts: Map<number, Uint8Array> }
  >()
  const requests: string[] = []
  const state: { trouble: Intercept | undefined; largest: number } = {
    trouble: undefined,
    largest: 0,
  }
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    maxRequestBodySize: 1024 ** 3,
    fetch: async (request) => {
      const url = new URL(request.url)
      const body = new Uint8Array(await request.arrayBuffer())
      requests.push(`${request.method} ${url.pathname}${url.search}`)
      state.largest = Math.max(state.largest, body.length)
      const refusal = findSignatureError(request, url)
      if (refusal) return failure(403, refusal)
      const trouble = state.trouble?.(request, url)
      if (trouble === "cut") return cutAnswer()
      return trouble ?? response(request, url, body)
    },
  })

  const response = (request: Request, url: URL, body: Uint8Array<ArrayBuffer>): Response => {
    const [, where, ...rest] = decodeURIComponent(url.pathname).split("/")
    const name = rest.join("/")
    if (where !== bucket) return failure(404, "NoSuchBucket")
    const upload = url.searchParams.get("uploadId")
    if (name === "" && url.searchParams.has("uploads")) return unfinished()
    if (name === "") return listed(url)
    if (request.method === "POST" && url.searchParams.has("uploads")) return begun(name)
    if (upload !== null) return uploaded(request, url, { upload, body })
    if (request.method === "PUT") objects.set(name, body)
    if (request.method === "PUT") return empty({ etag: tag(body) })
    if (request.method === "DELETE") objects.delete(name)
    if (request.method === "DELETE") return empty({}, 204)
    const object = objects.get(name)
    return object ? sendObject(request, object) : failure(404, "NoSuchKey")
  }

  const listed = ({ searchParams }: URL): Response => {
    const prefix = searchParams.get("prefix") ?? ""
    const after = searchParams.get("continuation-token") ?? ""
    const max = Math.min(Number(searchParams.get("max-keys") ?? 3), 3)
    const all = [...objects.keys()].filter((name) => name.startsWith(prefix) && name > after).sort()
    const page = all.slice(0, max)
    const more = all.length > page.length
    const rows = page.map(
      (name) => `<Contents><Key>${name}</Key><Size>${objects.get(name)?.length}</Size></Contents>`,
    )
    const next = more ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : ""
    const expected = `<IsTruncated>${more}</IsTruncated>${next}${rows.join("")}`
    return xml(`<ListBucketResult>${expected}</ListBucketResult>`)
  }

  /** All of them: some stores ignore the prefix. */
  const unfinished = (): Response => {
    const rows = [...uploads].map(
      ([id, { name }]) => `<Upload><Key>${name}</Key><UploadId>${id}</UploadId></Upload>`,
    )
    const space = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
    return xml(`<ListMultipartUploadsResult ${space}>${rows.join("")}</ListMultipartUploadsResult>`)
  }

  const begun = (name: string): Response => {
    const id = `upload-${uploads.size + 1}`
    uploads.set(id, { name, parts: new Map() })
    const expected = `<Bucket>${bucket}</Bucket><Key>${name}</Key><UploadId>${id}</UploadId>`
    return xml(`<InitiateMultipartUploadResult>${expected}</InitiateMultipartUploadResult>`)
  }

  const uploaded = (
    request: Request,
    url: URL,
    { upload, body }: { readonly upload: string; readonly body: Uint8Array<ArrayBuffer> },
  ): Response => {
    const found = uploads.get(upload)
    if (!found) return failure(404, "NoSuchUpload")
    if (request.method === "DELETE") uploads.delete(upload)
    if (request.method === "DELETE") return empty({}, 204)
    if (request.method === "PUT") {
      found.parts.set(Number(url.searchParams.get("partNumber")), body)
      return empty({ etag: tag(body) })
    }
    const wanted = [...new TextDecoder().decode(body).matchAll(/<PartNumber>(\d+)<\/PartNumber>/g)]
    const parts = wanted.map(([, number]) => found.parts.get(Number(number)))
    if (parts.some((part) => part === undefined)) return failure(400, "InvalidPart")
    const whole = Buffer.concat(parts.map((part) => part ?? new Uint8Array()))
    objects.set(found.name, whole)
    uploads.delete(upload)
    return xml(
      `<CompleteMultipartUploadResult><ETag>${tag(whole)}</ETag></CompleteMultipartUploadResult>`,
    )
  }

  return {
    url: `http://127.0.0.1:${server.port}`,
    key,
    bucket,
    objects,
    uploads,
    seen: requests,
    state,
    settings: {
      "--s3-endpoint": `http://127.0.0.1:${server.port}`,
      "--s3-region": "eu-central-2",
      "--s3-key-id": key.id,
    },
    close: () => server.stop(true),
  }
}

/** The start of a response whose end never arrives. */
const cutAnswer = () => new Response("", { status: 206 })

function sendObject(request: Request, object: Uint8Array<ArrayBuffer>): Response {
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.get("range") ?? "") ?? []
  if (from === undefined) return new Response(object)
  return new Response(object.slice(Number(from), Number(to) + 1), { status: 206 })
}

const tag = (bytes: Uint8Array) => `"${createHash("md5").update(bytes).digest("hex")}"`
const empty = (headers: Record<string, string>, status = 200): Response =>
  new Response(status === 204 ? null : "", { status, headers })
const xml = (text: string, status = 200) =>
  new Response(`<?xml version="1.0" encoding="UTF-8"?>${text}`, {
    status,
    headers: { "content-type": "application/xml" },
  })
export const failure = (status: number, code: string) =>
  xml(`<Error><Code>${code}</Code><Message>${code}</Message></Error>`, status)

const hmac = (secret: string | Buffer, text: string) =>
  createHmac("sha256", secret).update(text).digest()

const authorizationForm = new RegExp(
  "^AWS4-HMAC-SHA256 Credential=([^/]+)/(\\d{8})/([^/]+)/([^/]+)/aws4_request, ?" +
    "SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$",
)

/** The error in a request's signature; undefined if it is valid. */
function findSignatureError(request: Request, url: URL): string | undefined {
  const [, id, day = "", region = "", service = "", names = "", signature = ""] =
    authorizationForm.exec(request.headers.get("authorization") ?? "") ?? []
  if (id !== key.id) return "InvalidAccessKeyId"
  const time = request.headers.get("x-amz-date") ?? ""
  if (!time.startsWith(day) || region !== "eu-central-2" || service !== "s3") return "AccessDenied"
  const signed = names.split(";")
  if (!["host", "x-amz-content-sha256", "x-amz-date"].every((name) => signed.includes(name))) {
    return "AccessDenied"
  }
  const query = [...url.searchParams]
    .map(([name, value]) => `${encodeComponent(name)}=${encodeComponent(value)}`)
    .sort()
    .join("&")
  const canonical = [
    request.method,
    url.pathname,
    query,
    ...signed.map((name) => `${name}:${request.headers.get(name)?.trim()}`),
    "",
    names,
    request.headers.get("x-amz-content-sha256"),
  ].join("\n")
  const hash = createHash("sha256").update(canonical).digest("hex")
  const scope = `${day}/${region}/${service}/aws4_request`
  const chain = [region, service, "aws4_request"].reduce(
    (secret: Buffer, part) => hmac(secret, part),
    hmac(`AWS4${key.secret}`, day),
  )
  const right = hmac(chain, ["AWS4-HMAC-SHA256", time, scope, hash].join("\n"))
  return timingSafeEqual(right, Buffer.from(signature, "hex")) ? undefined : "SignatureDoesNotMatch"
}

const encodeComponent = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)
