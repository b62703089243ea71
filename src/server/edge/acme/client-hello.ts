/** The fields of a ClientHello that select the destination. */
export type ClientHello = {
  /** The server name of RFC 6066 §3 in lower case; absent if not sent. */
  readonly host: string | undefined
  /** The protocols of RFC 7301 in the client's order. */
  readonly protocols: readonly string[]
}

/** Modern clients send about 2,000 bytes; an authority never sends more. */
export const helloBytesMax = 8192

const handshakeRecord = 22
const clientHello = 1
const [serverName, applicationProtocols] = [0, 16]

/**
 * Parses the ClientHello (RFC 8446 §4.1.2) at the start of a connection, in one or several records.
 * Returns "more" if it is incomplete, and undefined for anything else.
 */
export function parseClientHello(bytes: Buffer): ClientHello | "more" | undefined {
  const message = handshakeMessageIn(bytes)
  if (message === undefined || (message.length > 0 && message[0] !== clientHello)) return undefined
  if (message.length < 4) return "more"
  const end = 4 + message.readUIntBE(1, 3)
  if (end > helloBytesMax) return undefined
  if (message.length < end) return bytes.length < helloBytesMax ? "more" : undefined
  try {
    return parseHelloBody(message.subarray(4, end))
  } catch (cause) {
    // A length that exceeds the data.
    if (cause instanceof RangeError) return undefined
    throw cause
  }
}

/** RFC 8446 §5.1: the content of the handshake records received so far. */
function handshakeMessageIn(bytes: Buffer): Buffer | undefined {
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

function parseHelloBody(body: Buffer): ClientHello {
  const read = createReader(body)
  // The version and the random bytes.
  read.bytes(2 + 32)
  // The session ID, cipher suites and compression methods.
  for (const size of [1, 2, 1]) read.vector(size)
  let host: string | undefined
  let protocols: readonly string[] = []
  const extensions = read.isAtEnd() ? read : createReader(read.vector(2))
  while (!extensions.isAtEnd()) {
    const type = extensions.number(2)
    const data = createReader(extensions.vector(2))
    if (type === serverName) host = parseServerName(data)
    if (type === applicationProtocols) protocols = parseProtocols(data)
  }
  return { host, protocols }
}

function parseServerName(data: Reader): string | undefined {
  const names = createReader(data.vector(2))
  const isHost = names.number(1) === 0
  const name = names.vector(2).toString("latin1").toLowerCase()
  return isHost ? name : undefined
}

function parseProtocols(data: Reader): readonly string[] {
  const names = createReader(data.vector(2))
  const found: string[] = []
  while (!names.isAtEnd()) found.push(names.vector(1).toString("latin1"))
  return found
}

type Reader = ReturnType<typeof createReader>

/** Reads values in sequence; throws a RangeError if there is not enough data. */
function createReader(from: Buffer) {
  let at = 0
  const bytes = (count: number) => {
    if (count > from.length - at) throw new RangeError("there is less data than announced")
    at += count
    return from.subarray(at - count, at)
  }
  const number = (size: number) => bytes(size).readUIntBE(0, size)
  return {
    bytes,
    number,
    /** RFC 8446 §3.4: a vector is preceded by its length in `size` bytes. */
    vector: (size: number) => bytes(number(size)),
    isAtEnd: () => at === from.length,
  }
}
