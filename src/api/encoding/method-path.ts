import { type ConnectRouter, createConnectRouter } from "@connectrpc/connect"
import {
  universalServerRequestFromFetch,
  universalServerResponseToFetch,
} from "@connectrpc/connect/protocol"
import { Fault } from "../../kernel/fault.ts"
import { loadOnce } from "../../kernel/lazy.ts"
import type { Entry } from "../dispatch.ts"
import { decompress, mediaTypeOf, readBody, wrongTypeError } from "../input/body.ts"
import { crossOrigin } from "../respond.ts"
import { errorResponse, handleConnect, isPlainConnect } from "./connect.ts"
import { readFramedMessage } from "./frame.ts"
import { isGrpcWebText, readTextMessage, toBinaryRequest, toTextResponse } from "./grpc-web-text.ts"
import { connectOptions, registerRoutes, withoutBody } from "./routes.ts"

/** Handles a call of an operation by its full name, in Connect or gRPC-Web. */
export type CallHandler = (entry: Entry, request: Request, address: string) => Promise<Response>

/** Handles Connect and gRPC-Web calls of a set of operations. */
export function createCallHandler(entries: readonly Entry[]): CallHandler {
  const universal = loadOnce(async () => createUniversalHandlers(entries))
  return async (entry, request, address) => {
    if (request.method !== "POST") return wrongMethodResponse()
    if (isPlainConnect(request.headers)) return handleConnect(entry, request, address)
    const handler = (await universal()).get(`/${entry.name}`)
    if (!handler) throw new Error(`connect-es has no handler for ${entry.name}`)
    return isGrpcWebText(request.headers)
      ? handleTextRequest(handler, request, address)
      : handleOther(handler, request, address)
  }
}

type UniversalHandler = ConnectRouter["handlers"][number]

/**
 * The handlers of connect-es by path, created on first use because most servers never need them.
 */
function createUniversalHandlers(entries: readonly Entry[]): ReadonlyMap<string, UniversalHandler> {
  const router = createConnectRouter({ ...connectOptions, grpc: false })
  registerRoutes(entries)(router)
  return new Map(router.handlers.map((handler) => [handler.requestPath, handler]))
}

/** Handles gRPC-Web, compressed bodies and unusual content types through connect-es. */
function handleOther(
  handler: UniversalHandler,
  request: Request,
  address: string,
): Promise<Response> {
  const isFramed = mediaTypeOf(request.headers).startsWith("application/grpc")
  const message = isFramed ? readFramedMessage : readMessage
  return callUniversal(handler, request, { address, message: (max) => message(request, max) })
}

/** The message of a unary Connect call, decompressed if necessary. */
async function readMessage(request: Request, bytesMax: number): Promise<Uint8Array> {
  const bytes = await readBody(request, bytesMax)
  // Other encodings are rejected before the body is read.
  return request.headers.get("content-encoding") === "gzip" ? decompress(bytes, bytesMax) : bytes
}

async function callUniversal(
  handler: UniversalHandler,
  request: Request,
  sent: Parameters<typeof withoutBody>[1],
): Promise<Response> {
  // connect-es locks the body of a request before it reads it.
  const { url, method, headers, signal } = request
  const bare = new Request(url, { method, headers, signal })
  const answer = await handler(withoutBody(universalServerRequestFromFetch(bare, {}), sent))
  if (answer.status === 415)
    return errorResponse(wrongTypeError("application/json or application/proto"))
  const response = universalServerResponseToFetch(answer)
  for (const [name, value] of Object.entries(crossOrigin)) response.headers.set(name, value)
  response.headers.set("cache-control", "no-store")
  return response
}

async function handleTextRequest(
  handler: UniversalHandler,
  request: Request,
  address: string,
): Promise<Response> {
  const message = (bytesMax: number) => readTextMessage(request, bytesMax)
  const response = await callUniversal(handler, toBinaryRequest(request), { address, message })
  return toTextResponse(response)
}

const wrongMethodResponse = () =>
  errorResponse(new Fault("unimplemented", "request.method_wrong", "this path accepts only POST"), {
    allow: "POST",
  })
