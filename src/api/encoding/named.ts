import { type ConnectRouter, createConnectRouter } from "@connectrpc/connect"
import {
  universalServerRequestFromFetch,
  universalServerResponseToFetch,
} from "@connectrpc/connect/protocol"
import { Fault } from "../../kernel/fault.ts"
import { lazily } from "../../kernel/lazy.ts"
import type { Entry } from "../dispatch.ts"
import { bodyOf, mediaTypeOf, unpacked, wrongTypeError } from "../input/body.ts"
import { crossOrigin } from "../respond.ts"
import { connect, isPlainConnect, refuse } from "./connect.ts"
import { framedOf } from "./frame.ts"
import { inBytes, inText, isGrpcWebText, messageInText } from "./grpc-web-text.ts"
import { connectOptions, routesOf, withoutBody } from "./routes.ts"

/** Answers a call of an operation by its full name: Connect, or gRPC-Web. */
export type CallHandler = (entry: Entry, request: Request, address: string) => Promise<Response>

/** Connect and gRPC-Web for a set of operations. */
export function namedCalls(entries: readonly Entry[]): CallHandler {
  const universal = lazily(async () => universalOf(entries))
  return async (entry, request, address) => {
    if (request.method !== "POST") return postOnly()
    if (isPlainConnect(request.headers)) return connect(entry, request, address)
    const handler = (await universal()).get(`/${entry.name}`)
    if (!handler) throw new Error(`connect-es has no ${entry.name}`)
    return isGrpcWebText(request.headers)
      ? inBase64(handler, request, address)
      : other(handler, request, address)
  }
}

type Universal = ConnectRouter["handlers"][number]

/** The handlers of connect-es by their paths; most servers are never asked by what needs them. */
function universalOf(entries: readonly Entry[]): ReadonlyMap<string, Universal> {
  const router = createConnectRouter({ ...connectOptions, grpc: false })
  routesOf(entries)(router)
  return new Map(router.handlers.map((handler) => [handler.requestPath, handler]))
}

/** gRPC-Web, compressed bodies and odd content types go through connect-es. */
function other(handler: Universal, request: Request, address: string): Promise<Response> {
  const isFramed = mediaTypeOf(request.headers).startsWith("application/grpc")
  const message = isFramed ? framedOf : packedOf
  return through(handler, request, { address, message: (max) => message(request, max) })
}

/** The message of a unary Connect call that came packed. */
async function packedOf(request: Request, bytesMax: number): Promise<Uint8Array> {
  const bytes = await bodyOf(request, bytesMax)
  // Other encodings are refused before anybody reads.
  return request.headers.get("content-encoding") === "gzip" ? unpacked(bytes, bytesMax) : bytes
}

async function through(
  handler: Universal,
  request: Request,
  sent: Parameters<typeof withoutBody>[1],
): Promise<Response> {
  // Of a request that has a body, connect-es takes hold before it reads.
  const { url, method, headers, signal } = request
  const bare = new Request(url, { method, headers, signal })
  const answer = await handler(withoutBody(universalServerRequestFromFetch(bare, {}), sent))
  if (answer.status === 415) return refuse(wrongTypeError("application/json or application/proto"))
  const response = universalServerResponseToFetch(answer)
  for (const [name, value] of Object.entries(crossOrigin)) response.headers.set(name, value)
  response.headers.set("cache-control", "no-store")
  return response
}

async function inBase64(handler: Universal, request: Request, address: string): Promise<Response> {
  const message = (bytesMax: number) => messageInText(request, bytesMax)
  const response = await through(handler, inBytes(request), { address, message })
  return inText(response)
}

const postOnly = () =>
  refuse(new Fault("unimplemented", "request.method_wrong", "this path takes POST"), {
    allow: "POST",
  })
