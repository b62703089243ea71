import { Fault } from "../../kernel/fault.ts"
import { type BodySource, tooLargeError } from "../../protocol/body.ts"
import { decompress, readBody } from "../input/body.ts"

/** One byte of flags and four bytes of length. */
const prefixBytes = 5
const compressedFlag = 1

/**
 * Reads the one message of a unary call from its gRPC or gRPC-Web frame (Length-Prefixed-Message).
 * `limit` is the maximum size of the message in bytes, also after decompression.
 */
export async function readFramedMessage(request: BodySource, limit: number): Promise<Uint8Array> {
  return parseFrames(await readBody(request, limit + prefixBytes), {
    limit,
    headers: request.headers,
  })
}

type Framing = { readonly limit: number; readonly headers: Headers }

/** The one message in the frames of a body. */
export async function parseFrames(
  body: Uint8Array,
  { limit, headers }: Framing,
): Promise<Uint8Array> {
  if (body.length === 0) throw messageCountError("the body contains no message")
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength)
  const end = body.length < prefixBytes ? Number.NaN : prefixBytes + view.getUint32(1)
  if (body.length > end) throw messageCountError("the body contains more than one message")
  const flags = view.getUint8(0)
  if (body.length !== end || flags > compressedFlag) {
    throw new Fault("invalid_argument", "request.invalid", "the body is not one complete frame")
  }
  const message = body.subarray(prefixBytes)
  if (message.length > limit) throw tooLargeError(limit)
  if (flags !== compressedFlag) return message
  // Other encodings are rejected before the body is read.
  if (headers.get("grpc-encoding") === "gzip") return decompress(message, limit)
  const text = "the message is marked as compressed, but the grpc-encoding header is missing"
  throw new Fault("invalid_argument", "request.invalid", text)
}

/** gRPC uses `unimplemented` for a wrong number of messages, as if the method were a stream. */
const messageCountError = (message: string) =>
  new Fault("unimplemented", "request.invalid", message)
