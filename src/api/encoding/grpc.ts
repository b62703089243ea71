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
import { loadOnce } from "../../kernel/lazy.ts"
import type { Entry } from "../dispatch.ts"
import { anonymousBytesMax } from "../input/bounds.ts"
import { readFramedMessage } from "./frame.ts"
import { type HealthSource, registerHealth } from "./grpc-health.ts"
import { registerReflection } from "./reflection.ts"
import { connectOptions, registerRoutes, withoutBody } from "./routes.ts"

export type GrpcOptions = {
  /** The public host of an :authority, whose port is that of this listener. */
  readonly hostOf?: (authority: string) => string
  /** The source of the health check; without it the health service is not served. */
  readonly health?: HealthSource
  /** Aborted when the server stops, which ends open streams that would otherwise delay the stop. */
  readonly stopping?: AbortSignal
}

/**
 * Native gRPC on a separate listener, because it requires HTTP/2 trailers, which the main listener
 * can't send. The caller starts and closes the server. It also serves reflection and health checks
 * for gRPC tools.
 */
export const grpcServer = (entries: EntriesSource, options: GrpcOptions = {}): Http2Server =>
  createServer(grpcHandler(entries, options))

type EntriesSource = () => readonly Entry[] | Promise<readonly Entry[]>

/** The request handler of such a listener. `entries` is called with the first request. */
export function grpcHandler(entries: EntriesSource, options: GrpcOptions = {}) {
  const { hostOf = (authority) => authority } = options
  const handlers = loadOnce(async () => createHandlers(await entries(), options))
  return (request: Http2ServerRequest, response: Http2ServerResponse): void => {
    if (hasConflictingHosts(request)) return void response.writeHead(400).end()
    const address = request.socket.remoteAddress ?? ""
    // HTTP/2 has the host in :authority; a Host header can only repeat it.
    const host = hostOf(request.authority ?? "")
    const answered = async () => {
      const { tools, operations } = await handlers()
      const path = request.url.split("?", 1)[0] ?? ""
      const handler = operations.get(path) ?? tools.get(path)
      if (!handler) return void response.writeHead(404).end()
      const all = universalRequestFromNodeRequest(request, response, undefined, undefined)
      const body = { headers: all.header, body: chunksOf(request) }
      const message = (bytesMax: number) => readFramedMessage(body, bytesMax)
      const requested = tools.has(path) ? all : withoutBody(all, { address, host, message })
      await universalResponseToNodeResponse(withPlainMessage(await handler(requested)), response)
    }
    answered().catch(() => response.stream.destroy())
  }
}

/**
 * Yields the body in chunks. Does not destroy the stream when reading stops, because the response
 * must still be sent.
 */
async function* chunksOf(request: Http2ServerRequest): AsyncGenerator<Uint8Array> {
  yield* request.iterator({ destroyOnReturn: false })
}

/** RFC 9113 §8.3.1: a Host header that differs from :authority makes a request malformed. */
function hasConflictingHosts({ rawHeaders }: Http2ServerRequest): boolean {
  const named = rawHeaders.filter((_, at) => {
    const name = at % 2 === 1 ? rawHeaders[at - 1]?.toLowerCase() : undefined
    return name === ":authority" || name === "host"
  })
  return new Set(named.map((host) => host.toLowerCase())).size > 1
}

type Handlers = ReadonlyMap<string, ConnectRouter["handlers"][number]>

/** Registers the operations with connect-es, together with reflection and health checks. */
function createHandlers(entries: readonly Entry[], { health, stopping }: GrpcOptions) {
  const router = () =>
    createConnectRouter({
      ...connectOptions,
      // Reflection and health need no token, and they read their messages themselves.
      readMaxBytes: anonymousBytesMax,
      ...(stopping && { shutdownSignal: stopping }),
      grpcWeb: false,
      connect: false,
    })
  const [operations, tools] = [router(), router()]
  registerRoutes(entries)(operations)
  const services = [...new Set(entries.map(({ method }) => method.parent))]
  if (health) registerHealth(tools, services, health)
  registerReflection(tools, health ? [...services, Health] : services)
  return { operations: handlersByPath(operations), tools: handlersByPath(tools) }
}

const handlersByPath = ({ handlers }: ConnectRouter): Handlers =>
  new Map(handlers.map((handler) => [handler.requestPath, handler]))

/**
 * gRPC clients don't decode %3B, %2C and the like, which connect-es writes. The protocol requires
 * percent-encoding only for % and for characters that are not printable ASCII.
 */
function withPlainMessage(answer: UniversalServerResponse): UniversalServerResponse {
  for (const headers of [answer.header, answer.trailer]) {
    const message = new Headers(headers).get("grpc-message")
    if (message !== null && headers instanceof Headers) {
      headers.set("grpc-message", encodeURI(decodeURIComponent(message)))
    }
  }
  return answer
}
