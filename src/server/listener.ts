import { rmSync } from "node:fs"
import http from "node:http"
import { constants, createServer, type Http2Server, type Http2Session } from "node:http2"
import { respondFault } from "../api/respond.ts"
import type { Certificate } from "../boot/edge/certificate.ts"
import { openSocketFile, socketError } from "../boot/edge/socket-file.ts"
import { listenError, systemCode, systemReasons } from "../boot/start-error.ts"
import { ignoreNewConnections } from "../boot/system/incoming.ts"
import { headBytesMax } from "../http/guard.ts"
import { type Clock, pause } from "../kernel/clock.ts"
import { Fault } from "../kernel/fault.ts"
import { lazily } from "../kernel/lazy.ts"
import {
  type Address,
  type Peer,
  type Place,
  type SocketFile,
  socketPeer,
} from "../kernel/net/address.ts"
import type { App } from "./app.ts"
import { closeEarlyAnswer } from "./edge/early-answer.ts"

/** Something that listens; `port` is the one it really has. */
export type Listener = {
  readonly port: number
  /** From now on each answer asks the client to close its connection (RFC 9112 §9.6). */
  readonly leave?: () => void
  /** Answers what is in flight, and closes connections that have been idle since. */
  readonly stop: () => Promise<void>
}

/** How long a listener that stops still answers, and tells whom it answers not to come again. */
const partingMs = 300

/** How long connections that have come are still accepted, and their first requests read. */
const acceptMs = 100

/** What stands where the listener stood, and passes on to it who is not for itself. */
export type Front = {
  /** Whom it has passed on from a port of this machine, where that is so. */
  readonly peerAt: (port: number) => string | undefined
  /** Takes nobody any more, and passes on who has come. */
  readonly stop: () => void
}

/** What serves HTTP; with TLS, `present` has it show other certificates from now on. */
export type HttpListener = Listener & {
  readonly present: (certificates: readonly Certificate[]) => void
  /**
   * Serves at a port of this machine alone, behind what `open` has stand at its own, until what is
   * answered is called. `lost` is told once where it can't have its port back at that moment.
   */
  readonly stepBehind: (
    open: (place: Address, port: number) => Front,
    lost: (cause: unknown) => void,
  ) => () => void
}

/** Serves HTTP, over TLS where there are certificates. */
export function listenHttp(
  app: App,
  { place, certificates: first, tlsCiphers, sharing }: Listening,
  clock: Clock,
): HttpListener {
  const isSocket = "path" in place
  let isLeaving = false
  const told = (response: Response) => (isLeaving ? parting(response) : response)
  const fetch = answeringOf(app, told, (request) =>
    isSocket ? socketPeer : (server.requestIP(request)?.address ?? ""),
  )
  const isShared = sharing !== undefined
  let certificates = first
  const listen = (at: Place) =>
    bind("--listen", { place: at, certificates, tlsCiphers, isShared, fetch, clock })
  let server = listen(sharing === "first" ? freePlace(place, clock) : place)
  const port = server.port ?? 0
  const leaving: Promise<void>[] = []
  let front: Front | undefined
  let isBehind = false
  const listenAgain = () => {
    if (isLeaving) return
    server = listen({ ...place, port })
    isBehind = false
  }
  return {
    port,
    // With other certificates the next listener takes its place, which answers what is in flight.
    present: (fresh) => {
      certificates = fresh
      // Behind something else, they are shown once it is back.
      if (isBehind) return
      leaving.push(server.stop())
      server = listen({ ...place, port })
    },
    stepBehind: (open, lost) => {
      if (isSocket || isLeaving || isBehind) throw new Error("nothing listens at a port of its own")
      const behind = serveBehind(app, told, { certificates, tlsCiphers, clock })
      leaving.push(server.stop())
      server = behind.server
      isBehind = true
      const stepBack = () => {
        if (isLeaving) return
        front?.stop()
        front = undefined
        leaving.push(parted(clock).then(() => behind.server.stop()))
        untilDone(clock, listenAgain, lost)
      }
      try {
        front = behind.stand(open({ ...place, port }, behind.server.port ?? 0))
      } catch (cause) {
        stepBack()
        throw cause
      }
      return stepBack
    },
    leave: () => {
      isLeaving = true
    },
    stop: async () => {
      isLeaving = true
      await parted(clock)
      if (!isSocket) await acceptedAll(port)
      front?.stop()
      // Without force: what is in flight is answered.
      await Promise.all([...leaving, server.stop()])
      if (isSocket) rmSync(place.path, { force: true })
    },
  }
}

/** Resolves when each connection that has opened is accepted, and no other opens any more. */
async function acceptedAll(port: number): Promise<void> {
  await ignoreNewConnections(port)
  await pause(acceptMs)
}

/** Resolves when clients that were told to close, or were just passed on, are answered. */
const parted = (clock: Clock) => new Promise<void>((done) => void clock.after(partingMs, done))

/** RFC 9112 §9.6: a client that reads this sends nothing more on its connection. */
function parting(response: Response): Response {
  response.headers.set("connection", "close")
  return response
}

/** Does something, again and again until it works; `lost` is told where it did not at once. */
function untilDone(clock: Clock, act: () => void, lost: (cause: unknown) => void): void {
  try {
    act()
  } catch (cause) {
    lost(cause)
    clock.after(partingMs, () => untilDone(clock, act, () => undefined))
  }
}

/** Answers by the app; `told` sees every answer, `peerOf` says whom a request is from. */
function answeringOf(app: App, told: Told, peerOf: (request: Request) => string): Answering {
  const arrived = arrivals(peerOf)
  return (request) => {
    const published = app.published(request)
    if (published) return told(published)
    const sent = (response: Response) => told(app.guarded(request, response))
    return app.answer(request, arrived(request)).then(sent, () => sent(failed()))
  }
}

/** What the app could not answer itself; the error's words are not for whoever asked. */
const failed = () => respondFault(new Fault("internal", "internal", "something went wrong"), {})

type Told = (response: Response) => Response

/**
 * The other ends of requests, read when somebody asks, which most don't who are answered at once:
 * it would be a tenth of their work. All others are read before the event loop looks at its sockets
 * again: whose a request was can't be told once the client has gone, and it counts all the same.
 */
function arrivals(peerOf: (request: Request) => string): (request: Request) => Peer {
  let unread: Peer[] = []
  const readAll = () => {
    const peers = unread
    unread = []
    // Of what is answered by now, nothing is looked up.
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

/** Serves whom a front passes on at a port of this machine, and nobody else who finds it. */
function serveBehind(
  app: App,
  told: Told,
  { certificates, tlsCiphers, clock }: Pick<Bound, "certificates" | "tlsCiphers" | "clock">,
) {
  let front: Front | undefined
  const peerOf = (request: Request) => front?.peerAt(server.requestIP(request)?.port ?? 0)
  const answering = answeringOf(app, told, (request) => peerOf(request) ?? "")
  const fetch = (request: Request) =>
    peerOf(request) === undefined ? new Response(null, { status: 421 }) : answering(request)
  const place = { host: "127.0.0.1", port: 0 }
  const server = bind("--listen", { place, certificates, tlsCiphers, fetch, clock })
  const stand = (opened: Front) => {
    front = opened
    return opened
  }
  return { server, stand }
}

type Listening = {
  readonly place: Place
  readonly certificates: Certificates
  readonly tlsCiphers?: TlsCiphers
  /** Whether other processes of ours listen there, too, and whether this one is the first. */
  readonly sharing?: "first" | "another" | undefined
}

/**
 * Whoever shares a port would share it with any other program of the same user that does, unasked:
 * the first one sees to it that nobody else is there. Answers the place with its real port.
 */
function freePlace(place: Place, clock: Clock): Place {
  if ("path" in place) return place
  const fetch = () => new Response(null, { status: 503 })
  const server = bind("--listen", { place, fetch, clock })
  const { port = place.port } = server
  void server.stop(true)
  return { ...place, port }
}

/** Answers plain HTTP, with nothing but where to come instead. */
export function listenRedirect(answer: Answering, place: Address, clock: Clock): Listener {
  const server = bind("--redirect-listen", { place, fetch: answer, clock })
  return { port: server.port ?? place.port, stop: () => server.stop() }
}

/** Serves metrics to whoever can reach the address, and nothing else. */
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
  const server = bind("--metrics-listen", { place: address, fetch, clock })
  return { port: server.port ?? address.port, stop: () => server.stop() }
}

type Answering = (request: Request) => Response | Promise<Response>

type Certificates = readonly Certificate[]

/** Which ciphers of TLS 1.2 are accepted. */
type TlsCiphers = keyof typeof cipherLists

/**
 * RFC 9325 §4.1 and §4.2: a key exchange with forward secrecy, and authenticated encryption; beside
 * these the runtime takes RSA key exchange and CBC. All of TLS 1.3 is as strict.
 */
const cipherLists = { strict: { ciphers: "ECDHE+AESGCM:ECDHE+CHACHA20" }, compatible: {} } as const

type Bound = {
  readonly place: Place
  readonly fetch: Answering
  readonly certificates?: Certificates | undefined
  /** Strict, unless said. */
  readonly tlsCiphers?: TlsCiphers | undefined
  readonly isShared?: boolean
  readonly clock: Clock
}

function bind(flag: string, { place, fetch: answer, clock, ...tuning }: Bound) {
  const { certificates = [], tlsCiphers = "strict", isShared = false } = tuning
  const fetch: Options["fetch"] = (request, server) => {
    const close = (response: Response) => {
      server.timeout(request, idleSeconds.betweenRequests)
      return closeEarlyAnswer(request, response, clock)
    }
    const answered = answer(request)
    return answered instanceof Response ? close(answered) : answered.then(close)
  }
  // What the app refuses it answers in words; Bun would only close the door.
  Reflect.set(http, "maxHeaderSize", 2 * headBytesMax)
  const options = { maxRequestBodySize: Number.MAX_SAFE_INTEGER, fetch }
  if ("path" in place) return bindSocket(place, options)
  const tls = certificates.length > 0 ? { tls: presented(certificates, tlsCiphers) } : {}
  try {
    const { host: hostname, port } = place
    const shared = isShared ? { reusePort: true } : {}
    const idleTimeout = idleSeconds.beforeRequest
    return Bun.serve({ hostname, port, idleTimeout, ...options, ...tls, ...shared })
  } catch (cause) {
    throw listenError(cause, flag, place)
  }
}

type Options = {
  readonly maxRequestBodySize: number
  readonly fetch: (request: Request, server: Bun.Server<undefined>) => Response | Promise<Response>
}

/**
 * Whoever closes an idle connection may lose the request that is on its way to it, so proxies must
 * be the first: nginx and AWS keep connections for 60 seconds, Go and Traefik 90, Caddy 120.
 * Clients that have not sent a whole request yet get less.
 */
const idleSeconds = { beforeRequest: 30, betweenRequests: 150 }

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
function presented(certificates: Certificates, tlsCiphers: TlsCiphers) {
  const ciphers = cipherLists[tlsCiphers]
  if (certificates.length === 1) {
    return certificates.map(({ cert, key }) => ({ cert, key, ...ciphers }))
  }
  return certificates.flatMap(({ cert, key, names }, at) => [
    // One that has no name, an address's, is for whoever names none.
    ...(at === 0 && names.length === 0 ? [{ cert, key, ...ciphers }] : []),
    ...names.map((serverName) => ({ cert, key, serverName, ...ciphers })),
  ])
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
    const stop = async () => {
      leaving.abort()
      await acceptedAll(port)
      await closed(server, sessions)
    }
    resolve({ port, leave: () => announceClose(sessions), stop })
  })
  return promise
}

/** RFC 9113 §6.8: peers use another connection from now on, and every stream is still answered. */
function announceClose(sessions: ReadonlySet<Http2Session>): void {
  for (const session of sessions) session.goaway(constants.NGHTTP2_NO_ERROR, highestStream)
}

const highestStream = 2 ** 31 - 1

type Grpc = Pick<App, "api" | "grpcHost" | "condition">

/** Tells every peer to go, and lets the calls in flight end. */
function closed(server: Http2Server, sessions: ReadonlySet<Http2Session>): Promise<void> {
  return new Promise((done) => {
    server.close(() => done())
    for (const session of sessions) session.close()
  })
}
