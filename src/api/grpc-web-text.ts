import { Fault } from "../kernel/fault.ts"
import { bodyOf, mediaTypeOf } from "./body.ts"
import { bodyBytesMax } from "./decode.ts"
import { grpcNumber, textOf } from "./faults.ts"
import { respond } from "./respond.ts"

const text = /^application\/grpc-web-text(\+proto)?$/

/** Whether this is gRPC-Web in base64, as pages send it whose browser hands them no bytes. */
export const isGrpcWebText = (headers: Headers): boolean => text.test(mediaTypeOf(headers))

/** As much as becomes the largest body; connect-es measures what is in it. */
const textMax = Math.ceil(bodyBytesMax / 3) * 4

/** The same call in bytes. */
export async function inBytes(request: Request): Promise<Request> {
  const { url, method } = request
  const headers = new Headers(request.headers)
  headers.set("content-type", "application/grpc-web+proto")
  headers.delete("content-length")
  const base64 = await bodyOf(request, textMax)
  const body = bytesIn(Buffer.from(base64).toString("latin1"))
  return new Request(url, { method, headers, body, signal: request.signal })
}

/** The same answer in base64. */
export async function inText(answer: Response): Promise<Response> {
  const { status } = answer
  const headers = new Headers(answer.headers)
  headers.set("content-type", "application/grpc-web-text+proto")
  headers.delete("content-length")
  const body = Buffer.from(await answer.arrayBuffer()).toString("base64")
  return new Response(body, { status, headers })
}

/** A failure that no operation has seen yet, as the protocol has it: in headers alone. */
export const failedInText = (fault: Fault): Response =>
  respond("", {
    "content-type": "application/grpc-web-text+proto",
    "grpc-status": String(grpcNumber(fault.code)),
    "grpc-message": encodeURIComponent(textOf(fault)),
  })

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
