import { rmSync } from "node:fs"
import http from "node:http"
import { constants, createServer, type Http2Server, type Http2Session } from "node:http2"
import { respondFault } from "../api/respond.ts"
import type { Certificate } from "../boot/edge/certificate.ts"
import { grantSocketAccess, socketError } from "../boot/edge/socket-file.ts"
import { listenError, systemCode, systemReasons } from "../boot/start-error.ts"
import { ignoreNewConnections } from "../boot/system/incoming.ts"
import { maxHeadBytes } from "../http/guard.ts"
import { type Clock, delay } from "../kernel/clock.ts"
import { Fault } from "../kernel/fault.ts"
import { loadOnce } from "../kernel/lazy.ts"
import {
  type Address,
  type ListenAddress,
  type Peer,
  type SocketFile,
  socketPeer,
} from "../kernel/net/address.ts"
import type { App } from "./app.ts"
import { closeEarlyResponse } from "./edge/early-response.ts"

/** A listener; `port` is the actual port. */
export type Listener = {
  readonly port: number
  /** From now on, each response asks the client to close its connection (RFC 9112 §9.6). */
  readonly startClosing?: () => void
  /** Completes running requests and closes idle connections. */
  readonly stop: () => Promise<void>
}

/**
 * How long a stopping listener still serves requests and asks clients to close their connections.
 */
const departureMs = 300

/** How long pending connections are still accepted and their first requests read. */
const acceptMs = 100

/** A front that listens in place of the listener and passes on connections that are not its own. */
export type PortFront = {
  /** The address of the client whose connection was passed on from a local port. */
  readonly peerOfPort: (port: number) => string | undefined
  /** Stops accepting connections and passes on the remaining ones. */
  readonly stop: () => void
}

/** An HTTP listener; with TLS, `present` changes its certificates. */
export type HttpListener = Listener & {
  readonly setCertificates: (certificates: readonly Certificate[]) => void
  /**
   * Serves on a local port behind the front that `open` creates on the public port, until the
   * returned function is called. `lost` is called once if the public port can't be reclaimed
   * immediately.
   */
  readonly stepBehind: (
    open: (location: Address, port: number) => PortFront,
    lost: (cause: unknown) => void,
  ) => () => void
}

/** Serves HTTP, over TLS if there are certificates. */
export function listenHttp(
  app: App,
  { place: location, certificates: first, tlsCiphers, sharing }: Listening,
  clock: Clock,
): HttpListener {
  const isSocket = "path" in location
  let isLeaving = false
  const onResponse = (response: Response) => (isLeaving ? withClose(response) : response)
  const fetch = createHandler(app, onResponse, (request) =>
    isSocket ? socketPeer : (server.requestIP(request)?.address ?? ""),
  )
  const isShared = sharing !== undefined
  let certificates = first
  const listen = (at: ListenAddress) =>
    bindPort("--listen", { place: at, certificates, tlsCiphers, isShared, fetch, clock })
  let server = listen(sharing === "first" ? requireFreePort(location, clock) : location)
  const port = server.port ?? 0
  const leaving: Promise<void>[] = []
  let front: PortFront | undefined
  let isBehind = false
  const listenAgain = () => {
    if (isLeaving) return
    server = listen({ ...location, port })
    isBehind = false
  }
  return {
    port,
    // A new listener with the other certificates takes over; the previous one completes its
    // requests.
    setCertificates: (fresh) => {
      certificates = fresh
      // The certificates are used after the front is removed.
      if (isBehind) return
      leaving.push(server.stop())
      server = listen({ ...location, port })
    },
    stepBehind: (open, lost) => {
      if (isSocket || isLeaving || isBehind) throw new Error("the listener has no port")
      const behind = listenBehind(app, onResponse, { certificates, tlsCiphers, clock })
      leaving.push(server.stop())
      server = behind.server
      isBehind = true
      const stepBack = () => {
        if (isLeaving) return
        front?.stop()
        front = undefined
        leaving.push(waitForDeparture(clock).then(() => behind.server.stop()))
        retryUntilDone(clock, listenAgain, lost)
      }
      try {
        front = behind.stand(open({ ...location, port }, behind.server.port ?? 0))
      } catch (cause) {
        stepBack()
        throw cause
      }
      return stepBack
    },
    startClosing: () => {
      isLeaving = true
    },
    stop: async () => {
      isLeaving = true
      await waitForDeparture(clock)
      if (!isSocket) await waitForAccepted(port)
      front?.stop()
      // Not forced, so that running requests complete.
      await Promise.all([...leaving, server.stop()])
      if (isSocket) rmSync(location.path, { force: true })
    },
  }
}

/** Resolves when all pending connections are accepted and no more arrive. */
async function waitForAccepted(port: number): Promise<void> {
  await ignoreNewConnections(port)
  await delay(acceptMs)
}

/** Resolves when clients that were asked to close, or just passed on, have their responses. */
const waitForDeparture = (clock: Clock) =>
  new Promise<void>((done) => void clock.after(departureMs, done))

/** RFC 9112 §9.6: asks the client to send nothing more on its connection. */
function withClose(response: Response): Response {
  response.headers.set("connection", "close")
  return response
}

/** Retries until the action succeeds; calls `lost` if the first attempt fails. */
function retryUntilDone(clock: Clock, act: () => void, lost: (cause: unknown) => void): void {
  try {
    act()
  } catch (cause) {
    lost(cause)
    clock.after(departureMs, () => retryUntilDone(clock, act, () => undefined))
  }
}

/**
 * Handles requests with the app; `told` receives every response, and `peerOf` returns the client
 * address.
 */
function createHandler(
  app: App,
  onResponse: ResponseHook,
  peerOf: (request: Request) => string,
): RequestHandler {
  const arrived = createPeerReader(peerOf)
  return (request) => {
    const published = app.publishedDocument(request)
    if (published) return onResponse(published)
    const sent = (response: Response) => onResponse(app.guarded(request, response))
    return app.answer(request, arrived(request)).then(sent, () => sent(internalErrorResponse()))
  }
}

/** The response to an error of the app, without the error's message. */
const internalErrorResponse = () =>
  respondFault(new Fault("internal", "internal", "an internal error occurred"), {})

type ResponseHook = (response: Response) => Response

/**
 * The client addresses of requests, read on demand: most requests that are answered immediately
 * don't need them, and reading takes a tenth of their time. All others are read before the event
 * loop polls its sockets again, because the address is unknown after a disconnect but still needed
 * for limits.
 */
function createPeerReader(peerOf: (request: Request) => string): (request: Request) => Peer {
  let unread: Peer[] = []
  const readAll = () => {
    const peers = unread
    unread = []
    // Completed requests need no address.
    for (const peer of peers) peer()
  }
  return (request) => {
    let address: string | undefined
    const peer = () => {
      address ??= peerOf(request)
      return address
    }
    if (unread.length === 0) setImmediate(readAll)
    unread.push(peer)
    return peer
  }
}

/** Serves connections that a front passes on to a local port, and rejects all others. */
function listenBehind(
  app: App,
  onResponse: ResponseHook,
  { certificates, tlsCiphers, clock }: Pick<BindInput, "certificates" | "tlsCiphers" | "clock">,
) {
  let front: PortFront | undefined
  const peerOf = (request: Request) => front?.peerOfPort(server.requestIP(request)?.port ?? 0)
  const answering = createHandler(app, onResponse, (request) => peerOf(request) ?? "")
  const fetch = (request: Request) =>
    peerOf(request) === undefined ? new Response(null, { status: 421 }) : answering(request)
  const location = { host: "127.0.0.1", port: 0 }
  const server = bindPort("--listen", { place: location, certificates, tlsCiphers, fetch, clock })
  const serveAtFront = (opened: PortFront) => {
    front = opened
    return opened
  }
  return { server, stand: serveAtFront }
}

type Listening = {
  readonly place: ListenAddress
  readonly certificates: Certificates
  readonly tlsCiphers?: TlsCiphers
  /** Whether other processes of the server share the port, and whether this one is the first. */
  readonly sharing?: "first" | "another" | undefined
}

/**
 * A shared port would also be shared with other programs of the same user, so the first process
 * checks that the port is free. Returns the place with its actual port.
 */
function requireFreePort(location: ListenAddress, clock: Clock): ListenAddress {
  if ("path" in location) return location
  const fetch = () => new Response(null, { status: 503 })
  const server = bindPort("--listen", { place: location, fetch, clock })
  const { port = location.port } = server
  void server.stop(true)
  return { ...location, port }
}

/** Serves plain HTTP, only with redirects. */
export function listenRedirect(answer: RequestHandler, location: Address, clock: Clock): Listener {
  const server = bindPort("--redirect-listen", { place: location, fetch: answer, clock })
  return { port: server.port ?? location.port, stop: () => server.stop() }
}

/** Serves only metrics, to every client that can reach the address. */
export function listenMetrics(
  metrics: { readonly metrics: () => Promise<string>; readonly contentType: string },
  address: Address,
  clock: Clock,
): Listener {
  const fetch = async ({ method, url }: Request) => {
    const isAsked = method === "GET" && URL.parse(url)?.pathname === "/metrics"
    if (!isAsked) return new Response("GET /metrics\n", { status: 404 })
    const headers = { "content-type": metrics.contentType, "cache-control": "no-store" }
    return new Response(await metrics.metrics(), { headers })
  }
  const server = bindPort("--metrics-listen", { place: address, fetch, clock })
  return { port: server.port ?? address.port, stop: () => server.stop() }
}

type RequestHandler = (request: Request) => Response | Promise<Response>

type Certificates = readonly Certificate[]

/** The accepted cipher suites of TLS 1.2. */
type TlsCiphers = keyof typeof cipherLists

/**
 * RFC 9325 §4.1 and §4.2: only key exchange with forward secrecy and authenticated encryption; by
 * default, the runtime also accepts RSA key exchange and CBC. All cipher suites of TLS 1.3 meet
 * this.
 */
const cipherLists = { strict: { ciphers: "ECDHE+AESGCM:ECDHE+CHACHA20" }, compatible: {} } as const

type BindInput = {
  readonly place: ListenAddress
  readonly fetch: RequestHandler
  readonly certificates?: Certificates | undefined
  /** Strict by default. */
  readonly tlsCiphers?: TlsCiphers | undefined
  readonly isShared?: boolean
  readonly clock: Clock
}

function bindPort(flag: string, { place: location, fetch: answer, clock, ...tuning }: BindInput) {
  const { certificates = [], tlsCiphers = "strict", isShared = false } = tuning
  const fetch: Options["fetch"] = (request, server) => {
    const close = (response: Response) => {
      server.timeout(request, idleSeconds.betweenRequests)
      return closeEarlyResponse(request, response, clock)
    }
    const answered = answer(request)
    return answered instanceof Response ? close(answered) : answered.then(close)
  }
  // The app rejects large headers with a message; Bun would only close the connection.
  Reflect.set(http, "maxHeaderSize", 2 * maxHeadBytes)
  const options = { maxRequestBodySize: Number.MAX_SAFE_INTEGER, fetch }
  if ("path" in location) return bindSocket(location, options)
  const tls = certificates.length > 0 ? { tls: tlsOptionsOf(certificates, tlsCiphers) } : {}
  try {
    const { host: hostname, port } = location
    const shared = isShared ? { reusePort: true } : {}
    const idleTimeout = idleSeconds.beforeRequest
    return Bun.serve({ hostname, port, idleTimeout, ...options, ...tls, ...shared })
  } catch (cause) {
    throw listenError(cause, flag, location)
  }
}

type Options = {
  readonly maxRequestBodySize: number
  readonly fetch: (request: Request, server: Bun.Server<undefined>) => Response | Promise<Response>
}

/**
 * A client that closes an idle connection can lose no request, but a server that does can:
 * therefore the proxy must close first. nginx and AWS keep connections for 60 seconds, Go and
 * Traefik 90, Caddy 120. Clients that have not sent a complete request get less time.
 */
const idleSeconds = { beforeRequest: 30, betweenRequests: 150 }

function bindSocket(file: SocketFile, options: Options) {
  try {
    const server = Bun.serve({ unix: file.path, ...options })
    grantSocketAccess(file)
    return server
  } catch (cause) {
    const reason = systemReasons[systemCode(cause)]
    throw reason ? socketError(file.path, `can't be created: ${reason}`, cause) : cause
  }
}

/** RFC 6066 §3: the certificate for the server name of the client; otherwise the first one. */
function tlsOptionsOf(certificates: Certificates, tlsCiphers: TlsCiphers) {
  const ciphers = cipherLists[tlsCiphers]
  if (certificates.length === 1) {
    return certificates.map(({ cert, key }) => ({ cert, key, ...ciphers }))
  }
  return certificates.flatMap(({ cert, key, names }, at) => [
    // A certificate without names, for an IP address, is for clients that send no server name.
    ...(at === 0 && names.length === 0 ? [{ cert, key, ...ciphers }] : []),
    ...names.map((serverName) => ({ cert, key, serverName, ...ciphers })),
  ])
}

/**
 * The limits of an HTTP/2 connection. A client that opens streams only to reset them
 * (CVE-2023-44487) is disconnected after a hundred; a client that cancels slow requests is not.
 */
const http2Limits = {
  settings: { maxConcurrentStreams: 100, maxHeaderListSize: 16_384 },
  streamResetBurst: 100,
  streamResetRate: 20,
}

/** Serves native gRPC, which requires the trailers of HTTP/2. */
export function listenGrpc(app: Grpc, address: Address): Promise<Listener> {
  const leaving = new AbortController()
  const options = {
    hostOf: app.grpcHost,
    health: app.condition,
    stopping: leaving.signal,
  }
  // The gRPC code is loaded on the first call to keep the start fast.
  const load = loadOnce(async () => {
    const { grpcHandler } = await import("../api/encoding/grpc.ts")
    return grpcHandler(async () => (await app.api()).entries, options)
  })
  const server = createServer(http2Limits, (request, response) => {
    // A stream that is reset within the same read costs nothing more.
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
    const stop = async () => {
      leaving.abort()
      await waitForAccepted(port)
      await closeServer(server, sessions)
    }
    resolve({ port, startClosing: () => announceClose(sessions), stop })
  })
  return promise
}

/** RFC 9113 §6.8: clients use another connection from now on, and existing streams complete. */
function announceClose(sessions: ReadonlySet<Http2Session>): void {
  for (const session of sessions) session.goaway(constants.NGHTTP2_NO_ERROR, highestStream)
}

const highestStream = 2 ** 31 - 1

type Grpc = Pick<App, "api" | "grpcHost" | "condition">

/** Asks all clients to disconnect and completes running calls. */
function closeServer(server: Http2Server, sessions: ReadonlySet<Http2Session>): Promise<void> {
  return new Promise((done) => {
    server.close(() => done())
    for (const session of sessions) session.close()
  })
}
