import { readFileSync } from "node:fs"
import type { S3Client } from "bun"
import { pause } from "../../kernel/clock.ts"
import type { Config } from "../../kernel/config.ts"
import { Fault } from "../../kernel/fault.ts"
import { isLoopback } from "../../kernel/net/address.ts"
import { startError, withFile } from "../start-error.ts"
import type { Bytes, Sink } from "./bytes.ts"

/** How a place in a storage that speaks S3 is told from a path. */
const scheme = "s3://"

export const isInBucket = (place: string): boolean => place.startsWith(scheme)

type Settings = Pick<Config, "s3Endpoint" | "s3Region" | "s3KeyId" | "s3Secret" | "s3SecretFile">

/** A few of these are in memory at a time; 10,000 of them are an object of 80 GB at most. */
const partBytes = 8 * 1024 * 1024
/** What is read at once. */
const pieceBytes = 2 * 1024 * 1024
/** How often something is tried that has no answer, or that of a storage in trouble. */
const triesMax = 3

/** An object, or all whose names begin alike, as `s3://BUCKET/PREFIX` says. */
export type Bucket = {
  /** Where this is, for people. */
  readonly at: string
  /** Names below it that begin so, without what all have. */
  readonly names: (beginning: string) => Promise<readonly string[]>
  readonly remove: (name: string) => Promise<void>
  /**
   * Ends uploads that broke off, of names that begin so: their parts have no name, and cost all the
   * same. Does nothing where the storage, or the key, does not let them be listed.
   */
  readonly dropUploads: (beginning: string) => Promise<void>
}

/** One object, that `s3://BUCKET/NAME` says. */
export type StoredObject = {
  readonly exists: () => Promise<boolean>
  /**
   * Has `write` fill it. The object is there when this resolves, whole; a bucket shows nothing of
   * one that broke off.
   */
  readonly fill: <T>(write: (sink: Sink) => Promise<T>) => Promise<T>
  /** Reads it, piece by piece, however slowly its bytes are taken. */
  readonly bytes: () => Promise<Bytes>
  readonly remove: () => Promise<void>
}

/** `isEncrypted`: whether nothing goes there, or comes from there, that is not encrypted. */
export function bucketAt(place: string, settings: Settings, isEncrypted: boolean): Bucket {
  const { client, path: prefix, worded, signing } = clientAt(place, settings, isEncrypted)
  const begin = prefix === "" || prefix.endsWith("/") ? prefix : `${prefix}/`
  return {
    at: place,
    names: async (beginning) =>
      (await worded("listed", () => namesIn(client, begin + beginning))).map((name) =>
        name.slice(begin.length),
      ),
    remove: (name) => worded("removed", () => client.delete(begin + name)),
    dropUploads: async (beginning) => {
      const { dropUploads } = await import("./upload.ts")
      await dropUploads(signing, begin + beginning)
    },
  }
}

async function namesIn(client: S3Client, prefix: string): Promise<readonly string[]> {
  const names: string[] = []
  let continuationToken: string | undefined
  do {
    const found = await client.list({ prefix, ...(continuationToken && { continuationToken }) })
    names.push(...(found.contents ?? []).map(({ key }) => key))
    continuationToken = found.isTruncated ? found.nextContinuationToken : undefined
  } while (continuationToken)
  return names
}

/** `isEncrypted`: whether what it holds is encrypted. */
export function objectAt(place: string, settings: Settings, isEncrypted: boolean): StoredObject {
  const { client, path, worded } = clientAt(place, settings, isEncrypted)
  if (path === "" || path.endsWith("/")) {
    throw startError(
      "backup_bucket",
      `${place} names no object; add a name, such as latchkey.backup`,
    )
  }
  const file = client.file(path)
  // To be listed says clearly why it may not: what is asked about one object has no words.
  const find = () =>
    worded("read", async () =>
      (await client.list({ prefix: path, maxKeys: 10 })).contents?.find(({ key }) => key === path),
    )
  return {
    exists: async () => (await find()) !== undefined,
    fill: async (write) => {
      const writer = file.writer({ partSize: partBytes, queueSize: 1, retry: triesMax })
      // What breaks before the end leaves parts without a name: they must never be put together.
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
      if (!found) throw startError("backup_missing", `there is no object ${place}`)
      const size = found.size ?? 0
      let at = 0
      return new ReadableStream<Uint8Array>({
        pull: async (controller) => {
          if (at >= size) return controller.close()
          const piece = file.slice(at, Math.min(size, at + pieceBytes))
          const bytes = await worded("read", () => again(async () => piece.bytes()))
          if (bytes.length === 0) throw cutError(place)
          at += bytes.length
          controller.enqueue(bytes)
        },
      })
    },
    remove: () => worded("removed", () => file.delete()),
  }
}

/** A storage, and the words for what it refuses. */
function clientAt(place: string, settings: Settings, isEncrypted: boolean) {
  const [bucket = "", ...rest] = place.slice(scheme.length).split("/")
  if (bucket === "") throw startError("backup_bucket", `${place} names no bucket`)
  const { s3Region: region, s3KeyId: accessKeyId } = settings
  const secretAccessKey = secretIn(settings)
  if (!accessKeyId || !secretAccessKey) {
    const wanted = "s3_key_id, and s3_secret or s3_secret_file"
    throw startError("backup_bucket", `${place} wants a key: set ${wanted}`)
  }
  // Without one, variables of the environment that are not ours would say where everything goes.
  const endpoint = settings.s3Endpoint ?? `https://s3.${region}.amazonaws.com`
  if (!isEncrypted) refuseInTheClear(endpoint)
  const signing = { bucket, accessKeyId, secretAccessKey, region, endpoint }
  const client = new Bun.S3Client(signing)
  refuseToken(client, place)
  const worded = async <T>(what: string, work: () => T | Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (cause) {
      if (cause instanceof Fault || !isFromStorage(cause)) throw cause
      const because = reasons[cause.code] ?? `${cause.code}: ${cause.message}`
      throw startError("backup_bucket", `${place} can't be ${what}: ${because}`, cause)
    }
  }
  return { client, path: rest.join("/"), worded, signing }
}

/**
 * The client takes a session's token from the environment, whosever it is, and sends it along
 * with our key to whatever storage is named: no setting of it keeps it from that.
 */
function refuseToken(client: S3Client, place: string): void {
  if (!client.presign("any").includes("X-Amz-Security-Token=")) return
  throw startError(
    "backup_bucket",
    `${place} would be told the token of another key, which is in the environment; ` +
      "start Latchkey without AWS_SESSION_TOKEN and S3_SESSION_TOKEN",
  )
}

/** A backup is names and addresses of people, and hashes of their passwords. */
function refuseInTheClear(endpoint: string): void {
  const { protocol, hostname } = new URL(endpoint)
  const host = hostname.replace(/^\[|\]$/g, "")
  if (protocol === "https:" || host === "localhost" || isLoopback(host)) return
  throw startError(
    "backup_bucket",
    "s3_endpoint begins with http://, and whoever is on the way reads a backup that is not " +
      "encrypted; use https://, or encrypt it by backup_recipient, --recipient or " +
      "--passphrase-file (a restore wants --identity-file or --passphrase-file)",
  )
}

function secretIn({ s3Secret, s3SecretFile: file }: Settings): string | undefined {
  if (s3Secret !== undefined || file === undefined) return s3Secret
  return withFile(file, () => readFileSync(file, "utf8")).trim()
}

type StorageError = Error & { readonly code: string }

const isFromStorage = (cause: unknown): cause is StorageError =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string"

const unreachable = "nothing answers there; check s3_endpoint and the network"
const wrongKey = "the storage does not take the key; check s3_key_id and s3_secret"

/** What the storage's codes mean for who has to mend it. */
const reasons: Readonly<Record<string, string>> = {
  NoSuchBucket: "there is no such bucket",
  NoSuchKey: "there is no such object",
  InvalidAccessKeyId: wrongKey,
  SignatureDoesNotMatch: wrongKey,
  AccessDenied: "the key may not do that; it needs to list, read, write and remove objects there",
  RequestTimeTooSkewed: "the clock of this machine is wrong",
  ConnectionRefused: unreachable,
  ConnectionClosed: "the connection broke off",
  ECONNRESET: "the connection broke off",
  FailedToOpenSocket: unreachable,
}

/** Reading may be tried again: it changes nothing. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (cause) {
      if (tries === triesMax) throw cause
      await pause(tries * 500)
    }
  }
}

const cutError = (place: string) =>
  startError("backup_bucket", `${place} can't be read: it is shorter than the storage says`)
