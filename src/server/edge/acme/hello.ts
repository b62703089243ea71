/** What the first message of a TLS client asks for. */
export type Hello = {
  /** RFC 6066 §3, in small letters; absent where it names nobody. */
  readonly host: string | undefined
  /** RFC 7301: the protocols that it speaks, by its own order. */
  readonly protocols: readonly string[]
}

/** A client that is somewhat modern sends two thousand; who needs more is no authority. */
export const helloBytesMax = 8192

const handshakeRecord = 22
const clientHello = 1
const [serverName, applicationProtocols] = [0, 16]

/**
 * Reads the ClientHello (RFC 8446 §4.1.2) that a connection begins with, in one record or several.
 * Answers "more" where it has not come to its end, and undefined for anything else.
 */
export function helloIn(bytes: Buffer): Hello | "more" | undefined {
  const message = messageIn(bytes)
  if (message === undefined || (message.length > 0 && message[0] !== clientHello)) return undefined
  if (message.length < 4) return "more"
  const end = 4 + message.readUIntBE(1, 3)
  if (end > helloBytesMax) return undefined
  if (message.length < end) return bytes.length < helloBytesMax ? "more" : undefined
  try {
    return helloOf(message.subarray(4, end))
  } catch (cause) {
    // A length that leads beyond the end.
    if (cause instanceof RangeError) return undefined
    throw cause
  }
}

/** RFC 8446 §5.1: what the records of a handshake hold, as far as they have come. */
function messageIn(bytes: Buffer): Buffer | undefined {
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const [type, major] = bytes.subarray(at)
    if (type !== handshakeRecord || (major !== undefined && major !== 3)) return undefined
    if (bytes.length - at < 5) break
    const length = bytes.readUInt16BE(at + 3)
    if (length === 0 || length > 16_384) return undefined
    parts.push(bytes.subarray(at + 5, at + 5 + length))
    at += 5 + length
  }
  return Buffer.concat(parts)
}

function helloOf(body: Buffer): Hello {
  const read = reader(body)
  // Its version, and what it throws dice for.
  read.bytes(2 + 32)
  // The session that it goes on with, cipher suites, ways to compress.
  for (const size of [1, 2, 1]) read.vector(size)
  let host: string | undefined
  let protocols: readonly string[] = []
  const extensions = read.isAtEnd() ? read : reader(read.vector(2))
  while (!extensions.isAtEnd()) {
    const type = extensions.number(2)
    const data = reader(extensions.vector(2))
    if (type === serverName) host = hostIn(data)
    if (type === applicationProtocols) protocols = protocolsIn(data)
  }
  return { host, protocols }
}

function hostIn(data: Reader): string | undefined {
  const names = reader(data.vector(2))
  const isHost = names.number(1) === 0
  const name = names.vector(2).toString("latin1").toLowerCase()
  return isHost ? name : undefined
}

function protocolsIn(data: Reader): readonly string[] {
  const names = reader(data.vector(2))
  const found: string[] = []
  while (!names.isAtEnd()) found.push(names.vector(1).toString("latin1"))
  return found
}

type Reader = ReturnType<typeof reader>

/** Reads one thing after the other; throws a RangeError where there is less than is announced. */
function reader(from: Buffer) {
  let at = 0
  const bytes = (count: number) => {
    if (count > from.length - at) throw new RangeError("there is less than is announced")
    at += count
    return from.subarray(at - count, at)
  }
  const number = (size: number) => bytes(size).readUIntBE(0, size)
  return {
    bytes,
    number,
    /** RFC 8446 §3.4: its length stands before it, in `size` bytes. */
    vector: (size: number) => bytes(number(size)),
    isAtEnd: () => at === from.length,
  }
}
