import { createServer, type Http2Server } from "node:http2"
import { connectNodeAdapter } from "@connectrpc/connect-node"
import type { Entry } from "./dispatch.ts"
import { connectOptions, peerValues, routesOf } from "./routes.ts"

/**
 * Native gRPC, on a listener of its own: it needs HTTP/2 trailers, which the main one cannot send.
 * The caller makes it listen and closes it.
 */
export function grpcServer(entries: readonly Entry[]): Http2Server {
  const adapter = connectNodeAdapter({
    ...connectOptions,
    grpcWeb: false,
    connect: false,
    routes: routesOf(entries),
    // HTTP/2 has no Host header; the host stands in :authority.
    contextValues: ({ socket, headers }) =>
      peerValues({
        address: socket.remoteAddress ?? "",
        host: headers[":authority"]?.toString(),
      }),
  })
  return createServer(adapter)
}
