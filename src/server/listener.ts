import http from "node:http"
import { createServer, type Http2Server, type Http2Session } from "node:http2"
import { Elysia } from "elysia"
import { respondFault } from "../api/respond.ts"
import { listenError } from "../boot/start-error.ts"
import type { Clock } from "../kernel/clock.ts"
import { Fault } from "../kernel/fault.ts"
import { lazily } from "../kernel/lazy.ts"
import type { Address } from "../kernel/net/address.ts"
import type { App } from "./app.ts"
import { headBytesMax } from "./guard.ts"

/** Something that listens; `port` is the one it really has. */
export type Listener = { readonly port: number; readonly stop: () => Promise<void> }

/** How long a listener that stops still answers, and tells whom it answers not to come again. */
const partingMs = 300

/**
 * Serves HTTP. The app does its own routing, before Elysia's: that loses the path of hosts with
 * fewer than four letters ("http://nas/").
 */
export function listenHttp(app: App, address: Address, clock: Clock): Listener {
  const elysia = new Elysia()
  elysia.onRequest(({ request }) =>
    app.answer(request, () => server.requestIP(request)?.address ?? ""),
  )
  // Left alone, Elysia answers 200 and the words of the error.
  elysia.onError(() => respondFault(new Fault("internal", "internal", "something went wrong"), {}))
  let isLeaving = false
  const told = (response: Response) => {
    // RFC 9112 §9.6: a client that reads this sends nothing more on its connection.
    if (isLeaving) response.headers.set("connection", "close")
    return response
  }
  const server = bind("--listen", address, (request) => {
    const published = app.published(request)
    if (published) return told(published)
    const answer = elysia.fetch(request)
    const sent = (response: Response) => told(app.guarded(request, response))
    return answer instanceof Promise ? answer.then(sent) : sent(answer)
  })
  return {
    port: server.port ?? address.port,
    stop: async () => {
      isLeaving = true
      await new Promise<void>((done) => clock.after(partingMs, done))
      // Without force: what is in flight is answered.
      await server.stop()
    },
  }
}

/** Serves metrics to whoever can reach the address, and nothing else. */
export function listenMetrics(
  metrics: { readonly metrics: () => Promise<string>; readonly contentType: string },
  address: Address,
): Listener {
  const server = bind("--metrics-listen", address, async ({ method, url }) => {
    const isAsked = method === "GET" && URL.parse(url)?.pathname === "/metrics"
    if (!isAsked) return new Response("GET /metrics\n", { status: 404 })
    const headers = { "content-type": metrics.contentType, "cache-control": "no-store" }
    return new Response(await metrics.metrics(), { headers })
  })
  return { port: server.port ?? address.port, stop: () => server.stop() }
}

type Answering = (request: Request) => Response | Promise<Response>

function bind(flag: string, address: Address, fetch: Answering) {
  // What the app refuses it answers in words; Bun would only close the door.
  Reflect.set(http, "maxHeaderSize", 2 * headBytesMax)
  try {
    return Bun.serve({
      hostname: address.host,
      port: address.port,
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      idleTimeout: 30,
      fetch,
    })
  } catch (cause) {
    throw listenError(cause, flag, address)
  }
}

/**
 * What one HTTP/2 connection may ask for. Who opens streams only to reset them (CVE-2023-44487) is
 * sent away after a hundred, a program that cancels what takes too long is not.
 */
const http2Limits = {
  settings: { maxConcurrentStreams: 100, maxHeaderListSize: 16_384 },
  streamResetBurst: 100,
  streamResetRate: 20,
}

/** Serves native gRPC, which needs the trailers of HTTP/2. */
export function listenGrpc(app: Grpc, address: Address): Promise<Listener> {
  const leaving = new AbortController()
  const options = {
    hostOf: app.grpcHost,
    condition: app.condition,
    leaving: leaving.signal,
  }
  // What speaks gRPC is loaded with the first call: start-up does without it.
  const load = lazily(async () => {
    const { grpcHandler } = await import("../api/encoding/grpc.ts")
    return grpcHandler(async () => (await app.api()).entries, options)
  })
  const server = createServer(http2Limits, (request, response) => {
    // What is reset by the time that all which came with it has been read costs no more.
    setImmediate(() => {
      if (response.stream.destroyed) return
      load()
        .then((handle) => handle(request, response))
        .catch(() => response.stream.destroy())
    })
  })
  const sessions = new Set<Http2Session>()
  server.on("session", (session) => {
    sessions.add(session)
    session.on("close", () => sessions.delete(session))
  })
  const { promise, resolve, reject } = Promise.withResolvers<Listener>()
  server.once("error", (cause) => reject(listenError(cause, "--grpc-listen", address)))
  server.listen(address.port, address.host, () => {
    const bound = server.address()
    const port = typeof bound === "object" && bound ? bound.port : address.port
    const stop = () => {
      leaving.abort()
      return closed(server, sessions)
    }
    resolve({ port, stop })
  })
  return promise
}

type Grpc = Pick<App, "api" | "grpcHost" | "condition">

/** Tells every peer to go, and lets the calls in flight end. */
function closed(server: Http2Server, sessions: ReadonlySet<Http2Session>): Promise<void> {
  return new Promise((done) => {
    server.close(() => done())
    for (const session of sessions) session.close()
  })
}
