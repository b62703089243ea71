import { Fault } from "../../kernel/fault.ts"
import { type Incoming, tooLargeError } from "../../protocol/body.ts"
import { bodyOf, unpacked } from "../input/body.ts"

/** One byte of flags, four of length. */
const prefixBytes = 5
const packedFlag = 1

/**
 * Reads the one message of a unary call, as gRPC and gRPC-Web lay it (Length-Prefixed-Message);
 * `limit` is that of the message, also of what it unpacks to.
 */
export async function framedOf(request: Incoming, limit: number): Promise<Uint8Array> {
  return messageIn(await bodyOf(request, limit + prefixBytes), { limit, headers: request.headers })
}

type Framing = { readonly limit: number; readonly headers: Headers }

/** The one message in the frames of a body. */
export async function messageIn(
  body: Uint8Array,
  { limit, headers }: Framing,
): Promise<Uint8Array> {
  if (body.length === 0) throw messageCountError("there is no message in the body")
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength)
  const end = body.length < prefixBytes ? Number.NaN : prefixBytes + view.getUint32(1)
  if (body.length > end) throw messageCountError("there is more than one message in the body")
  const flags = view.getUint8(0)
  if (body.length !== end || flags > packedFlag) {
    throw new Fault("invalid_argument", "request.invalid", "the body is not one whole frame")
  }
  const message = body.subarray(prefixBytes)
  if (message.length > limit) throw tooLargeError(limit)
  if (flags !== packedFlag) return message
  // Other encodings are refused before anybody reads.
  if (headers.get("grpc-encoding") === "gzip") return unpacked(message, limit)
  const text = "the message is marked as compressed, but grpc-encoding doesn't say how"
  throw new Fault("invalid_argument", "request.invalid", text)
}

/** A wrong number of messages is `unimplemented` in gRPC: as if the method streamed. */
const messageCountError = (message: string) =>
  new Fault("unimplemented", "request.invalid", message)
