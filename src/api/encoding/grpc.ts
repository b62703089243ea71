import {
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from "node:http2"
import { type ConnectRouter, createConnectRouter } from "@connectrpc/connect"
import type { UniversalServerResponse } from "@connectrpc/connect/protocol"
import {
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node"
import { Health } from "../../gen/grpc/health/v1/health_pb.ts"
import { lazily } from "../../kernel/lazy.ts"
import type { Entry } from "../dispatch.ts"
import { strangerBytesMax } from "../input/bounds.ts"
import { framedOf } from "./frame.ts"
import { type Condition, reportHealth } from "./grpc-health.ts"
import { reflect } from "./reflection.ts"
import { connectOptions, routesOf, withoutBody } from "./routes.ts"

export type GrpcOptions = {
  /** The public host that an :authority means: its port is that of this listener. */
  readonly hostOf?: (authority: string) => string
  /** What the health check says; without it there is none. */
  readonly condition?: Condition
  /** Ends the streams of those who watch, which would hold the server up for good. */
  readonly leaving?: AbortSignal
}

/**
 * Native gRPC, on a listener of its own: it needs HTTP/2 trailers, which the main one cannot send.
 * The caller makes it listen and closes it. Beside the operations it serves what gRPC's own tools
 * ask for: reflection, and health.
 */
export const grpcServer = (entries: Entries, options: GrpcOptions = {}): Http2Server =>
  createServer(grpcHandler(entries, options))

type Entries = () => readonly Entry[] | Promise<readonly Entry[]>

/** What answers on such a listener; `entries` are asked for with the first call. */
export function grpcHandler(entries: Entries, options: GrpcOptions = {}) {
  const { hostOf = (authority) => authority } = options
  const handlers = lazily(async () => handlersOf(await entries(), options))
  return (request: Http2ServerRequest, response: Http2ServerResponse): void => {
    if (namesTwoHosts(request)) return void response.writeHead(400).end()
    const address = request.socket.remoteAddress ?? ""
    // The host stands in :authority, which a Host header can only repeat.
    const host = hostOf(request.authority ?? "")
    const answered = async () => {
      const { tools, operations } = await handlers()
      const path = request.url.split("?", 1)[0] ?? ""
      const handler = operations.get(path) ?? tools.get(path)
      if (!handler) return void response.writeHead(404).end()
      const all = universalRequestFromNodeRequest(request, response, undefined, undefined)
      const body = { headers: all.header, body: chunksOf(request) }
      const message = (bytesMax: number) => framedOf(body, bytesMax)
      const requested = tools.has(path) ? all : withoutBody(all, { address, host, message })
      await universalResponseToNodeResponse(plainly(await handler(requested)), response)
    }
    answered().catch(() => response.stream.destroy())
  }
}

/** Chunk by chunk, and not destroyed when no more is read: an answer is still to be sent. */
async function* chunksOf(request: Http2ServerRequest): AsyncGenerator<Uint8Array> {
  yield* request.iterator({ destroyOnReturn: false })
}

/** RFC 9113 §8.3.1: a Host header that differs from :authority makes a request malformed. */
function namesTwoHosts({ rawHeaders }: Http2ServerRequest): boolean {
  const named = rawHeaders.filter((_, at) => {
    const name = at % 2 === 1 ? rawHeaders[at - 1]?.toLowerCase() : undefined
    return name === ":authority" || name === "host"
  })
  return new Set(named.map((host) => host.toLowerCase())).size > 1
}

type Handlers = ReadonlyMap<string, ConnectRouter["handlers"][number]>

/** Lays the operations behind connect-es, and what gRPC's own tools ask for beside them. */
function handlersOf(entries: readonly Entry[], { condition, leaving }: GrpcOptions) {
  const router = () =>
    createConnectRouter({
      ...connectOptions,
      // For the tools, which anybody may call and which read for themselves.
      readMaxBytes: strangerBytesMax,
      ...(leaving && { shutdownSignal: leaving }),
      grpcWeb: false,
      connect: false,
    })
  const [operations, tools] = [router(), router()]
  routesOf(entries)(operations)
  const services = [...new Set(entries.map(({ method }) => method.parent))]
  if (condition) reportHealth(tools, services, condition)
  reflect(tools, condition ? [...services, Health] : services)
  return { operations: byPath(operations), tools: byPath(tools) }
}

const byPath = ({ handlers }: ConnectRouter): Handlers =>
  new Map(handlers.map((handler) => [handler.requestPath, handler]))

/**
 * gRPC's own clients leave %3B, %2C and the like as they are, and connect-es writes them. The
 * protocol demands the %-form only for what is not printable ASCII, and for % itself.
 */
function plainly(answer: UniversalServerResponse): UniversalServerResponse {
  for (const headers of [answer.header, answer.trailer]) {
    const message = new Headers(headers).get("grpc-message")
    if (message !== null && headers instanceof Headers) {
      headers.set("grpc-message", encodeURI(decodeURIComponent(message)))
    }
  }
  return answer
}
