import { readFileSync } from "node:fs"
import type { S3Client } from "bun"
import { delay } from "../../kernel/clock.ts"
import type { Config } from "../../kernel/config.ts"
import { Fault } from "../../kernel/fault.ts"
import { isLoopback } from "../../kernel/net/address.ts"
import { startError, tryFile } from "../start-error.ts"
import type { Bytes, Sink } from "./bytes.ts"

/** The prefix of a location in S3-compatible storage. */
const scheme = "s3://"

export const isInBucket = (location: string): boolean => location.startsWith(scheme)

type Settings = Pick<Config, "s3Endpoint" | "s3Region" | "s3KeyId" | "s3Secret" | "s3SecretFile">

/**
 * The size of an upload part. A few parts are in memory at a time; 10,000 parts limit an object to
 * 80 GB.
 */
const partBytes = 8 * 1024 * 1024
/** The number of bytes to read at once. */
const readBytes = 2 * 1024 * 1024
/** The number of attempts after connection errors and server errors. */
const attemptsMax = 3

/** An object, or all objects with a common prefix, as in `s3://BUCKET/PREFIX`. */
export type Bucket = {
  /** The location for messages. */
  readonly at: string
  /** The names with this prefix below the location, relative to it. */
  readonly names: (beginning: string) => Promise<readonly string[]>
  readonly remove: (name: string) => Promise<void>
  /**
   * Aborts incomplete uploads of names with this prefix, whose hidden parts cost storage. Does
   * nothing if the storage or the key does not allow listing them.
   */
  readonly abortUploads: (beginning: string) => Promise<void>
}

/** One object, as in `s3://BUCKET/NAME`. */
export type StoredObject = {
  readonly exists: () => Promise<boolean>
  /**
   * Has `write` write the object. Resolves when the object is complete; incomplete objects are
   * never visible.
   */
  readonly write: <T>(write: (sink: Sink) => Promise<T>) => Promise<T>
  /** Reads the object in pieces, at the speed of the consumer. */
  readonly bytes: () => Promise<Bytes>
  readonly remove: () => Promise<void>
}

/** `isEncrypted`: whether only encrypted data is transferred. */
export function bucketAt(location: string, settings: Settings, isEncrypted: boolean): Bucket {
  const { client, path: prefix, worded, signing } = createClient(location, settings, isEncrypted)
  const begin = prefix === "" || prefix.endsWith("/") ? prefix : `${prefix}/`
  return {
    at: location,
    names: async (beginning) =>
      (await worded("listed", () => listNames(client, begin + beginning))).map((name) =>
        name.slice(begin.length),
      ),
    remove: (name) => worded("removed", () => client.delete(begin + name)),
    abortUploads: async (beginning) => {
      const { abortUploads } = await import("./upload.ts")
      await abortUploads(signing, begin + beginning)
    },
  }
}

async function listNames(client: S3Client, prefix: string): Promise<readonly string[]> {
  const names: string[] = []
  let continuationToken: string | undefined
  do {
    const found = await client.list({ prefix, ...(continuationToken && { continuationToken }) })
    names.push(...(found.contents ?? []).map(({ key }) => key))
    continuationToken = found.isTruncated ? found.nextContinuationToken : undefined
  } while (continuationToken)
  return names
}

/** `isEncrypted`: whether the content is encrypted. */
export function objectAt(location: string, settings: Settings, isEncrypted: boolean): StoredObject {
  const { client, path, worded } = createClient(location, settings, isEncrypted)
  if (path === "" || path.endsWith("/")) {
    throw startError(
      "backup_bucket",
      `${location} has no object name; add one, such as latchkey.backup`,
    )
  }
  const file = client.file(path)
  // Listing returns a descriptive error; a request for one object does not.
  const find = () =>
    worded("read", async () =>
      (await client.list({ prefix: path, maxKeys: 10 })).contents?.find(({ key }) => key === path),
    )
  return {
    exists: async () => (await find()) !== undefined,
    write: async (write) => {
      const writer = file.writer({ partSize: partBytes, queueSize: 1, retry: attemptsMax })
      // An aborted upload leaves unnamed parts that must never be completed.
      const result = await write((bytes) =>
        worded("written", async () => {
          writer.write(bytes)
          await writer.flush()
        }),
      )
      await worded("written", async () => writer.end())
      return result
    },
    bytes: async () => {
      const found = await find()
      if (!found) throw startError("backup_missing", `object ${location} not found`)
      const size = found.size ?? 0
      let at = 0
      return new ReadableStream<Uint8Array>({
        pull: async (controller) => {
          if (at >= size) return controller.close()
          const piece = file.slice(at, Math.min(size, at + readBytes))
          const bytes = await worded("read", () => retry(async () => piece.bytes()))
          if (bytes.length === 0) throw truncatedError(location)
          at += bytes.length
          controller.enqueue(bytes)
        },
      })
    },
    remove: () => worded("removed", () => file.delete()),
  }
}

/** A client for the storage, and a function that describes its errors. */
function createClient(location: string, settings: Settings, isEncrypted: boolean) {
  const [bucket = "", ...rest] = location.slice(scheme.length).split("/")
  if (bucket === "") throw startError("backup_bucket", `${location} has no bucket name`)
  const { s3Region: region, s3KeyId: accessKeyId } = settings
  const secretAccessKey = secretIn(settings)
  if (!accessKeyId || !secretAccessKey) {
    const missingSettings = "s3_key_id, and s3_secret or s3_secret_file"
    throw startError("backup_bucket", `${location} requires a key: set ${missingSettings}`)
  }
  // Without an explicit endpoint, unrelated environment variables would set the destination.
  const endpoint = settings.s3Endpoint ?? `https://s3.${region}.amazonaws.com`
  if (!isEncrypted) requireEncryption(endpoint)
  const signing = { bucket, accessKeyId, secretAccessKey, region, endpoint }
  const client = new Bun.S3Client(signing)
  rejectSessionToken(client, location)
  const worded = async <T>(operation: string, work: () => T | Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (cause) {
      if (cause instanceof Fault || !isFromStorage(cause)) throw cause
      const reason = errorMessages[cause.code] ?? `${cause.code}: ${cause.message}`
      throw startError("backup_bucket", `${location} can't be ${operation}: ${reason}`, cause)
    }
  }
  return { client, path: rest.join("/"), worded, signing }
}

/**
 * The client always sends a session token from the environment along with our key, to any storage;
 * no option prevents this.
 */
function rejectSessionToken(client: S3Client, location: string): void {
  if (!client.presign("any").includes("X-Amz-Security-Token=")) return
  throw startError(
    "backup_bucket",
    `${location} would receive the session token of another key from the environment; start ` +
      "Latchkey without AWS_SESSION_TOKEN and S3_SESSION_TOKEN",
  )
}

/** A backup contains names, addresses and password hashes. */
function requireEncryption(endpoint: string): void {
  const { protocol, hostname } = new URL(endpoint)
  const host = hostname.replace(/^\[|\]$/g, "")
  if (protocol === "https:" || host === "localhost" || isLoopback(host)) return
  throw startError(
    "backup_bucket",
    "s3_endpoint starts with http://, so an unencrypted backup could be intercepted; use " +
      "https://, or encrypt the backup with backup_recipient, --recipient or " +
      "--passphrase-file (restore requires --identity-file or --passphrase-file)",
  )
}

function secretIn({ s3Secret, s3SecretFile: file }: Settings): string | undefined {
  if (s3Secret !== undefined || file === undefined) return s3Secret
  return tryFile(file, () => readFileSync(file, "utf8")).trim()
}

type StorageError = Error & { readonly code: string }

const isFromStorage = (cause: unknown): cause is StorageError =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string"

const unreachableText = "no response; check s3_endpoint and the network"
const wrongKeyText = "the storage rejected the key; check s3_key_id and s3_secret"

/** The storage's error codes as messages for the operator. */
const errorMessages: Readonly<Record<string, string>> = {
  NoSuchBucket: "the bucket does not exist",
  NoSuchKey: "the object does not exist",
  InvalidAccessKeyId: wrongKeyText,
  SignatureDoesNotMatch: wrongKeyText,
  AccessDenied:
    "the key lacks permissions; it must be able to list, read, write and delete objects",
  RequestTimeTooSkewed: "the clock of this machine is wrong",
  ConnectionRefused: unreachableText,
  ConnectionClosed: "the connection was interrupted",
  ECONNRESET: "the connection was interrupted",
  FailedToOpenSocket: unreachableText,
}

/** Retries reads, which change nothing. */
async function retry<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (cause) {
      if (tries === attemptsMax) throw cause
      await delay(tries * 500)
    }
  }
}

const truncatedError = (location: string) =>
  startError("backup_bucket", `${location} can't be read: it is shorter than the storage reported`)
