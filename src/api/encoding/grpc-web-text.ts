import { Fault } from "../../kernel/fault.ts"
import { mediaTypeOf, readBody } from "../input/body.ts"
import { parseFrames } from "./frame.ts"

const mediaTypePattern = /^application\/grpc-web-text(\+proto)?$/

/**
 * Whether this is gRPC-Web in base64, which pages use if the browser can't read bytes from a
 * stream.
 */
export const isGrpcWebText = (headers: Headers): boolean =>
  mediaTypePattern.test(mediaTypeOf(headers))

/** The same call as binary gRPC-Web, without its body. */
export function toBinaryRequest({ url, method, signal, headers: sent }: Request): Request {
  const headers = new Headers(sent)
  headers.set("content-type", "application/grpc-web+proto")
  return new Request(url, { method, headers, signal })
}

/** The one message of a call in base64. */
export async function readTextMessage(request: Request, bytesMax: number): Promise<Uint8Array> {
  // Base64 has four letters for three bytes, of the message, its frame and the padding.
  const base64 = await readBody(request, Math.ceil(bytesMax / 3) * 4 + framingMax)
  return parseFrames(decodePieces(Buffer.from(base64).toString("latin1")), {
    limit: bytesMax,
    headers: request.headers,
  })
}

const framingMax = 500

/** The same response in base64. */
export async function toTextResponse(answer: Response): Promise<Response> {
  const { status } = answer
  const headers = new Headers(answer.headers)
  headers.set("content-type", "application/grpc-web-text+proto")
  headers.delete("content-length")
  const body = Buffer.from(await answer.arrayBuffer()).toString("base64")
  return new Response(body, { status, headers })
}

/**
 * The maximum number of base64 pieces in a body. A call has one or two frames, and each can be
 * encoded separately; joining many pieces is slow.
 */
const piecesMax = 100

/**
 * Decodes pieces of base64 with padding, which can also occur in the middle. Rejects non-canonical
 * encodings.
 */
function decodePieces(base64: string): Uint8Array<ArrayBuffer> {
  const pieces: Buffer[] = []
  for (let from = 0; from < base64.length; ) {
    const padding = base64.indexOf("=", from)
    const to = padding < 0 ? base64.length : padding + (base64[padding + 1] === "=" ? 2 : 1)
    const piece = base64.slice(from, to)
    const bytes = Buffer.from(piece, "base64")
    if (pieces.length === piecesMax || bytes.toString("base64") !== piece) {
      const message = "the body is not valid base64"
      throw new Fault("invalid_argument", "request.invalid", message)
    }
    pieces.push(bytes)
    from = to
  }
  return new Uint8Array(Buffer.concat(pieces))
}
