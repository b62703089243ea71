import { rmSync } from "node:fs"
import http from "node:http"
import { createServer, type Http2Server, type Http2Session } from "node:http2"
import { Elysia } from "elysia"
import { respondFault } from "../api/respond.ts"
import type { Certificate } from "../boot/edge/certificate.ts"
import { openSocketFile, socketError } from "../boot/edge/socket-file.ts"
import { listenError, systemCode, systemReasons } from "../boot/start-error.ts"
import type { Clock } from "../kernel/clock.ts"
import { Fault } from "../kernel/fault.ts"
import { lazily } from "../kernel/lazy.ts"
import { type Address, type Place, type SocketFile, socketPeer } from "../kernel/net/address.ts"
import type { App } from "./app.ts"
import { headBytesMax } from "./guard.ts"

/** Something that listens; `port` is the one it really has. */
export type Listener = { readonly port: number; readonly stop: () => Promise<void> }

/** How long a listener that stops still answers, and tells whom it answers not to come again. */
const partingMs = 300

/** What serves HTTP; with TLS, `present` has it show other certificates from now on. */
export type HttpListener = Listener & {
  readonly present: (certificates: readonly Certificate[]) => void
}

/**
 * Serves HTTP, over TLS where there are certificates. The app does its own routing, before
 * Elysia's: that loses the path of hosts with fewer than four letters ("http://nas/").
 */
export function listenHttp(
  app: App,
  { place, certificates }: { readonly place: Place; readonly certificates: Certificates },
  clock: Clock,
): HttpListener {
  const isSocket = "path" in place
  const elysia = new Elysia()
  // At once: whose it was can't be told once the client has gone, and it counts all the same.
  elysia.onRequest(({ request }) =>
    app.answer(request, isSocket ? socketPeer : (server.requestIP(request)?.address ?? "")),
  )
  // Left alone, Elysia answers 200 and the words of the error.
  elysia.onError(() => respondFault(new Fault("internal", "internal", "something went wrong"), {}))
  let isLeaving = false
  const told = (response: Response) => {
    // RFC 9112 §9.6: a client that reads this sends nothing more on its connection.
    if (isLeaving) response.headers.set("connection", "close")
    return response
  }
  const answering: Answering = (request) => {
    const published = app.published(request)
    if (published) return told(published)
    const answer = elysia.fetch(request)
    const sent = (response: Response) => told(app.guarded(request, response))
    return answer instanceof Promise ? answer.then(sent) : sent(answer)
  }
  let server = bind("--listen", { place, certificates, fetch: answering })
  const port = server.port ?? 0
  const leaving: Promise<void>[] = []
  return {
    port,
    // A listener can't be given other certificates: the next one takes its place, at the same port,
    // and what is in flight is answered by the one before.
    present: (fresh) => {
      leaving.push(server.stop())
      server = bind("--listen", {
        place: { ...place, port },
        certificates: fresh,
        fetch: answering,
      })
    },
    stop: async () => {
      isLeaving = true
      await new Promise<void>((done) => clock.after(partingMs, done))
      // Without force: what is in flight is answered.
      await Promise.all([...leaving, server.stop()])
      if (isSocket) rmSync(place.path, { force: true })
    },
  }
}

/** Answers plain HTTP, with nothing but where to come instead. */
export function listenRedirect(answer: Answering, place: Address): Listener {
  const server = bind("--redirect-listen", { place, fetch: answer })
  return { port: server.port ?? place.port, stop: () => server.stop() }
}

/** Serves metrics to whoever can reach the address, and nothing else. */
export function listenMetrics(
  metrics: { readonly metrics: () => Promise<string>; readonly contentType: string },
  address: Address,
): Listener {
  const fetch = async ({ method, url }: Request) => {
    const isAsked = method === "GET" && URL.parse(url)?.pathname === "/metrics"
    if (!isAsked) return new Response("GET /metrics\n", { status: 404 })
    const headers = { "content-type": metrics.contentType, "cache-control": "no-store" }
    return new Response(await metrics.metrics(), { headers })
  }
  const server = bind("--metrics-listen", { place: address, fetch })
  return { port: server.port ?? address.port, stop: () => server.stop() }
}

type Answering = (request: Request) => Response | Promise<Response>

type Certificates = readonly Certificate[]

type Bound = {
  readonly place: Place
  readonly fetch: Answering
  readonly certificates?: Certificates
}

function bind(flag: string, { place, fetch, certificates = [] }: Bound) {
  // What the app refuses it answers in words; Bun would only close the door.
  Reflect.set(http, "maxHeaderSize", 2 * headBytesMax)
  const options = { maxRequestBodySize: Number.MAX_SAFE_INTEGER, fetch }
  if ("path" in place) return bindSocket(place, options)
  const tls = certificates.length > 0 ? { tls: presented(certificates) } : {}
  try {
    const { host: hostname, port } = place
    return Bun.serve({ hostname, port, idleTimeout: 30, ...options, ...tls })
  } catch (cause) {
    throw listenError(cause, flag, place)
  }
}

type Options = Pick<Bound, "fetch"> & { readonly maxRequestBodySize: number }

function bindSocket(file: SocketFile, options: Options) {
  try {
    const server = Bun.serve({ unix: file.path, ...options })
    openSocketFile(file)
    return server
  } catch (cause) {
    const because = systemReasons[systemCode(cause)]
    throw because ? socketError(file.path, `can't be made: ${because}`, cause) : cause
  }
}

/** RFC 6066 §3: the certificate for the host that a client names; else the first. */
const presented = (certificates: Certificates) =>
  certificates.length === 1
    ? certificates.map(({ cert, key }) => ({ cert, key }))
    : certificates.flatMap(({ cert, key, names }, at) => [
        // One that has no name, an address's, is for whoever names none.
        ...(at === 0 && names.length === 0 ? [{ cert, key }] : []),
        ...names.map((serverName) => ({ cert, key, serverName })),
      ])

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
