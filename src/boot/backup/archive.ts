import { pipeline, type Transform } from "node:stream"
import { constants, createZstdCompress, createZstdDecompress } from "node:zlib"
import { errorText, Fault } from "../../kernel/fault.ts"
import { startError, systemCode, systemReasons } from "../start-error.ts"
import { type Bytes, discard, drain, type Sink } from "./bytes.ts"
import { ageHeader, type DecryptionKey, decrypt, type Encryption, encrypt } from "./encryption.ts"
import {
  aboutName,
  aboutText,
  type Manifest,
  manifestName,
  type Part,
  parseManifest,
  parts,
  type Sum,
} from "./manifest.ts"
import { addChecksum, type ChecksummedBytes, readChecksummed } from "./seal.ts"

/** A file to add to a backup. */
export type BackupSource = {
  readonly name: Part
  readonly size: number
  readonly bytes: () => Bytes
}

/** Packs the files, followed by the manifest of their checksums, into one stream. */
export async function pack(
  sources: readonly BackupSource[],
  manifest: (sums: ReadonlyMap<Part, Sum>) => Manifest,
  encryption: Encryption | undefined,
): Promise<Bytes> {
  const { createTarPacker } = await import("modern-tar")
  const { readable, controller } = createTarPacker()
  const add = async (name: string, size: number, bytes: Bytes) => {
    const writer = controller.add({ name, size, mode: 0o600 }).getWriter()
    const sum = await drain(bytes, (some) => writer.write(some))
    await writer.close()
    return sum
  }
  const addText = (name: string, text: string) => {
    const bytes = new Blob([text])
    return add(name, bytes.size, bytes.stream())
  }
  const fill = async () => {
    await addText(aboutName, aboutText)
    const sums = new Map<Part, Sum>()
    for (const { name, size, bytes } of sources) sums.set(name, await add(name, size, bytes()))
    await addText(manifestName, `${JSON.stringify(manifest(sums), null, 2)}\n`)
    controller.finalize()
  }
  fill().catch((cause) => controller.error(cause))
  const packed = addChecksum(pipeThrough(readable, createZstdCompress({ params: checksumOptions })))
  return encryption ? encrypt(packed, encryption) : packed
}

/**
 * Reads a whole backup, passes each part to the sink that `place` creates for it, and verifies all
 * parts against the manifest. Throws if the backup is damaged, truncated, foreign or from a newer
 * version; the parts already placed must then be discarded.
 */
export async function unpack(
  from: Bytes,
  opening: DecryptionKey,
  placePart: (part: Part, fill: (sink: Sink) => Promise<Sum>) => Promise<Sum>,
): Promise<Manifest> {
  let file: ChecksummedBytes | undefined
  try {
    file = readChecksummed(await decryptBackup(from, opening))
    const sums = new Map<Part, Sum>()
    let manifest: Manifest | undefined
    for await (const { name, body } of readEntries(file.bytes)) {
      if (name === manifestName) manifest = parseManifest(await textOf(body))
      else sums.set(name, await placePart(name, (sink) => drain(body, sink)))
    }
    const isWhole = await file.isWhole()
    const found = verifyManifest(manifest, sums)
    if (found.sealed && !isWhole)
      throw damagedError("the checksum is wrong, or there is data after the end")
    return found
  } catch (cause) {
    // The first error is already reported.
    await file?.cancel().catch(() => undefined)
    throw readError(cause)
  }
}

async function decryptBackup(from: Bytes, opening: DecryptionKey): Promise<Bytes> {
  const { head, whole } = await peek(from, ageHeader.length)
  if (head.toString("latin1") === ageHeader) return decrypt(whole, opening)
  if (head.readUInt32LE() === zstdMagic) return whole
  throw notBackupError()
}

/** RFC 8878 §3.1.1. */
const zstdMagic = 0xfd2fb528

/** The checksum at the end detects changed bits outside the files. */
const checksumOptions = { [constants.ZSTD_c_checksumFlag]: 1 }

/** Pipes a stream through a node:zlib transform; an error of either ends both. */
function pipeThrough(from: Bytes, filter: Transform): Bytes {
  pipeline(from, filter, () => undefined)
  const chunks = filter[Symbol.asyncIterator]()
  return new ReadableStream({
    pull: async (controller) => {
      const { value, done } = await chunks.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: () => void filter.destroy(),
  })
}

type Entry = { readonly name: Part | typeof manifestName; readonly body: Bytes }

/** Throws for anything that is not a part of a backup, so that nothing else is ever written. */
async function* readEntries(compressed: Bytes): AsyncGenerator<Entry> {
  const { createTarDecoder } = await import("modern-tar")
  const plain = pipeThrough(compressed, createZstdDecompress())
  const files = plain.pipeThrough(createTarDecoder({ strict: true }))
  let isOurs = false
  for await (const { header, body } of files) {
    const name = knownNames.find((each) => each === header.name)
    if (!isOurs && name !== aboutName) throw notBackupError()
    isOurs = true
    if (!name || (header.type ?? "file") !== "file")
      throw damagedError(`it contains ${header.name}`)
    if (name === aboutName) await drain(body, discard)
    else yield { name, body }
  }
}
const knownNames = [aboutName, manifestName, ...parts] as const

const manifestMax = 65_536

async function textOf(body: Bytes): Promise<string> {
  const chunks: Uint8Array[] = []
  const { size } = await drain(body, async (bytes) => void chunks.push(bytes))
  if (size > manifestMax) throw damagedError("the manifest is too long")
  return Buffer.concat(chunks).toString()
}

function verifyManifest(manifest: Manifest | undefined, sums: ReadonlyMap<Part, Sum>): Manifest {
  if (!manifest) throw damagedError("the manifest is missing")
  const mismatch = manifest.files.find(({ name, size, sha256 }) => {
    const sum = sums.get(name)
    return sum?.size !== size || sum.sha256 !== sha256
  })
  if (mismatch) throw damagedError(`${mismatch.name} does not match its checksum`)
  if (manifest.files.length !== sums.size || !sums.has("latchkey.db")) {
    throw damagedError("the manifest does not match the files")
  }
  return manifest
}

/** The first bytes of a stream, and the whole stream again. */
async function peek(from: Bytes, length: number) {
  const reader = from.getReader()
  const chunks: Uint8Array[] = []
  let have = 0
  let isOver = false
  while (have < length && !isOver) {
    const { value, done } = await reader.read()
    isOver = done
    if (!value) continue
    have += value.length
    chunks.push(value)
  }
  const whole = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const next = chunks.shift() ?? (await reader.read()).value
      if (next) controller.enqueue(next)
      else controller.close()
    },
    cancel: (reason) => reader.cancel(reason),
  })
  const head = Buffer.concat([...chunks, Buffer.alloc(length)]).subarray(0, length)
  return { head, whole }
}

const notBackupError = () =>
  startError(
    "backup_foreign",
    "this is not a Latchkey backup; name a file created by latchkey backup",
  )

const damagedError = (damage: string, cause?: unknown) =>
  startError(
    "backup_damaged",
    `the backup is damaged or truncated (${damage}); use another one`,
    cause,
  )

/**
 * An error of the operating system is not an error of the backup. Any other read error means that
 * the backup is damaged.
 */
function readError(cause: unknown): unknown {
  if (cause instanceof Fault || systemReasons[systemCode(cause)]) return cause
  const message = errorText(cause)
  return damagedError(`it can't be read completely (${message})`, cause)
}
