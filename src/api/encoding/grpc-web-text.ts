import { Fault } from "../../kernel/fault.ts"
import { bodyOf, mediaTypeOf } from "../input/body.ts"
import { messageIn } from "./frame.ts"

const text = /^application\/grpc-web-text(\+proto)?$/

/** Whether this is gRPC-Web in base64, as pages send it whose browser hands them no bytes. */
export const isGrpcWebText = (headers: Headers): boolean => text.test(mediaTypeOf(headers))

/** The same call in bytes, without its body. */
export function inBytes({ url, method, signal, headers: sent }: Request): Request {
  const headers = new Headers(sent)
  headers.set("content-type", "application/grpc-web+proto")
  return new Request(url, { method, headers, signal })
}

/** The one message of a call in base64. */
export async function messageInText(request: Request, bytesMax: number): Promise<Uint8Array> {
  // Four letters for three bytes, of the message and of what frames and pads it.
  const base64 = await bodyOf(request, Math.ceil(bytesMax / 3) * 4 + framingMax)
  return messageIn(bytesIn(Buffer.from(base64).toString("latin1")), {
    limit: bytesMax,
    headers: request.headers,
  })
}

const framingMax = 500

/** The same answer in base64. */
export async function inText(answer: Response): Promise<Response> {
  const { status } = answer
  const headers = new Headers(answer.headers)
  headers.set("content-type", "application/grpc-web-text+proto")
  headers.delete("content-length")
  const body = Buffer.from(await answer.arrayBuffer()).toString("base64")
  return new Response(body, { status, headers })
}

/** A call has a frame or two, and each may be written for itself; to put many together costs. */
const piecesMax = 100

/** Reads pieces of base64 with their padding, also in the middle, each in its one spelling. */
function bytesIn(base64: string): Uint8Array<ArrayBuffer> {
  const pieces: Buffer[] = []
  for (let from = 0; from < base64.length; ) {
    const padding = base64.indexOf("=", from)
    const to = padding < 0 ? base64.length : padding + (base64[padding + 1] === "=" ? 2 : 1)
    const piece = base64.slice(from, to)
    const bytes = Buffer.from(piece, "base64")
    if (pieces.length === piecesMax || bytes.toString("base64") !== piece) {
      const message = "the body is not the base64 that it says it is"
      throw new Fault("invalid_argument", "request.invalid", message)
    }
    pieces.push(bytes)
    from = to
  }
  return new Uint8Array(Buffer.concat(pieces))
}
