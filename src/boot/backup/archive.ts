import { pipeline, type Transform } from "node:stream"
import { constants, createZstdCompress, createZstdDecompress } from "node:zlib"
import { Fault, reasonText } from "../../kernel/fault.ts"
import { startError, systemCode, systemReasons } from "../start-error.ts"
import { type Bytes, drain, nowhere, type Sink } from "./bytes.ts"
import { ageHeader, decrypted, type Encryption, encrypted, type Opening } from "./encryption.ts"
import {
  aboutName,
  aboutText,
  type Manifest,
  manifestName,
  type Part,
  parts,
  readManifest,
  type Sum,
} from "./manifest.ts"
import { sealed, type Unsealed, unsealed } from "./seal.ts"

/** A file on its way into a backup. */
export type Source = { readonly name: Part; readonly size: number; readonly bytes: () => Bytes }

/** Packs files, with what `manifest` says of their sums, into one stream. */
export async function pack(
  sources: readonly Source[],
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
  const packed = sealed(through(readable, createZstdCompress({ params: withChecksum })))
  return encryption ? encrypted(packed, encryption) : packed
}

/**
 * Reads a backup from its beginning to its end, hands each part to the sink that `place` makes for
 * it, and compares all of them with what they must be. Faults where it is damaged, cut, no backup
 * or of a newer Latchkey; then what was placed is worth nothing.
 */
export async function unpack(
  from: Bytes,
  opening: Opening,
  place: (part: Part, fill: (sink: Sink) => Promise<Sum>) => Promise<Sum>,
): Promise<Manifest> {
  let file: Unsealed | undefined
  try {
    file = unsealed(await plainOf(from, opening))
    const sums = new Map<Part, Sum>()
    let manifest: Manifest | undefined
    for await (const { name, body } of entriesOf(file.bytes)) {
      if (name === manifestName) manifest = readManifest(await textOf(body))
      else sums.set(name, await place(name, (sink) => drain(body, sink)))
    }
    const isWhole = await file.isWhole()
    const found = compared(manifest, sums)
    if (found.sealed && !isWhole) throw brokenError("its sum is wrong, or something follows it")
    return found
  } catch (cause) {
    // What is wrong with it is said already.
    await file?.cancel().catch(() => undefined)
    throw readError(cause)
  }
}

async function plainOf(from: Bytes, opening: Opening): Promise<Bytes> {
  const { head, whole } = await peek(from, ageHeader.length)
  if (head.toString("latin1") === ageHeader) return decrypted(whole, opening)
  if (head.readUInt32LE() === zstdMagic) return whole
  throw foreignError()
}

/** RFC 8878 §3.1.1. */
const zstdMagic = 0xfd2fb528

/** The check at the end finds a bit that was turned where no file is. */
const withChecksum = { [constants.ZSTD_c_checksumFlag]: 1 }

/** What becomes of a stream in a filter of node:zlib; an error of either ends it. */
function through(from: Bytes, filter: Transform): Bytes {
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

/** Refuses whatever is not a part of a backup: nothing else is ever written anywhere. */
async function* entriesOf(compressed: Bytes): AsyncGenerator<Entry> {
  const { createTarDecoder } = await import("modern-tar")
  const plain = through(compressed, createZstdDecompress())
  const files = plain.pipeThrough(createTarDecoder({ strict: true }))
  let isOurs = false
  for await (const { header, body } of files) {
    const name = known.find((each) => each === header.name)
    if (!isOurs && name !== aboutName) throw foreignError()
    isOurs = true
    if (!name || (header.type ?? "file") !== "file") throw brokenError(`it holds ${header.name}`)
    if (name === aboutName) await drain(body, nowhere)
    else yield { name, body }
  }
}
const known = [aboutName, manifestName, ...parts] as const

const manifestMax = 65_536

async function textOf(body: Bytes): Promise<string> {
  const chunks: Uint8Array[] = []
  const { size } = await drain(body, async (bytes) => void chunks.push(bytes))
  if (size > manifestMax) throw brokenError("its list of contents is too long")
  return Buffer.concat(chunks).toString()
}

function compared(manifest: Manifest | undefined, sums: ReadonlyMap<Part, Sum>): Manifest {
  if (!manifest) throw brokenError("it ends before its list of contents")
  const wrong = manifest.files.find(({ name, size, sha256 }) => {
    const sum = sums.get(name)
    return sum?.size !== size || sum.sha256 !== sha256
  })
  if (wrong) throw brokenError(`${wrong.name} is not what was written`)
  if (manifest.files.length !== sums.size || !sums.has("latchkey.db")) {
    throw brokenError("its list of contents does not fit")
  }
  return manifest
}

/** The first bytes of a stream, and all of it again. */
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

const foreignError = () =>
  startError(
    "backup_foreign",
    "this is no backup of Latchkey; name a file that latchkey backup made",
  )

const brokenError = (because: string, cause?: unknown) =>
  startError("backup_damaged", `the backup is damaged or cut: ${because}; use another one`, cause)

/** What the system refuses is no fault of the backup. Whatever else can't be read is damaged. */
function readError(cause: unknown): unknown {
  if (cause instanceof Fault || systemReasons[systemCode(cause)]) return cause
  const said = reasonText(cause)
  return brokenError(`it can't be read to its end (${said})`, cause)
}
