import { createServer, type Http2Server } from "node:http2"
import { createConnectRouter } from "@connectrpc/connect"
import type { UniversalServerResponse } from "@connectrpc/connect/protocol"
import {
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node"
import type { Entry } from "./dispatch.ts"
import { connectOptions, peerValues, routesOf } from "./routes.ts"

/**
 * Native gRPC, on a listener of its own: it needs HTTP/2 trailers, which the main one cannot send.
 * The caller makes it listen and closes it. `hostOf` says which public host an :authority means,
 * since its port is that of this listener.
 */
export function grpcServer(
  entries: readonly Entry[],
  hostOf: (authority: string) => string = (authority) => authority,
): Http2Server {
  const router = createConnectRouter({ ...connectOptions, grpcWeb: false, connect: false })
  routesOf(entries)(router)
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]))

  return createServer((request, response) => {
    const handler = handlers.get(request.url.split("?", 1)[0] ?? "")
    if (!handler) {
      response.writeHead(404).end()
      return
    }
    const address = request.socket.remoteAddress ?? ""
    // HTTP/2 has no Host header; the host stands in :authority.
    const values = peerValues({ address, host: hostOf(request.authority ?? "") })
    handler(universalRequestFromNodeRequest(request, response, undefined, values))
      .then((answer) => universalResponseToNodeResponse(plainly(answer), response))
      .catch(() => response.stream.destroy())
  })
}

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
