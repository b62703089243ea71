import { X509Certificate } from "node:crypto"
import { connect as plain, type Socket } from "node:net"
import { connect } from "node:tls"
import { parseCertificate } from "../../src/boot/edge/certificate.ts"
import { type Clock, systemClock } from "../../src/kernel/clock.ts"
import type { App } from "../../src/server/app.ts"
import { createTlsChallenge } from "../../src/server/edge/acme/challenge.ts"
import { createSelfSigned } from "../../src/server/edge/x509.ts"
import { listenHttp } from "../../src/server/listener.ts"

const appOf = (slow: SlowRequests): App => ({
  publishedDocument: () => undefined,
  answer: async (request, peer) => {
    if (request.url.endsWith("/slow")) await slow.arrive()
    // Echoes the request body.
    if (request.method === "POST") return new Response(await request.arrayBuffer())
    return new Response(peer())
  },
  api: () => Promise.reject(new Error("unexpected call")),
  guarded: (_, response) => response,
  grpcHost: () => "",
  condition: { isReady: () => true, clock: systemClock },
})

type SlowRequests = ReturnType<typeof slowRequests>

/** Requests to /slow are answered when they are released. */
function slowRequests() {
  const { promise, resolve } = Promise.withResolvers<void>()
  let count = 0
  const arrive = () => {
    count++
    return promise
  }
  return { arrive, arrived: () => count, release: resolve }
}

/** A certificate for a host, in the listener's format. */
export async function certificateFor(host: string) {
  const now = Date.now()
  const pair = await createSelfSigned(host, { from: now - 86_400_000, to: now + 86_400_000 })
  return parseCertificate(pair, "the certificate", "the key")
}

/** A listener that responds with the client's address, and the TLS-ALPN layer in front of it. */
export async function startListener(
  clock: Clock = systemClock,
  certificateClock: Clock = systemClock,
) {
  const place = { host: "127.0.0.1", port: 0 }
  const certificates = [await certificateFor("listener.example.com")]
  const slow = slowRequests()
  const listener = listenHttp(appOf(slow), { place, certificates }, certificateClock)
  const lost = (cause: unknown) => {
    throw cause
  }
  let steps = 0
  const stepBehind: typeof listener.stepBehind = (...options) => {
    steps++
    return listener.stepBehind(...options)
  }
  const counted = Promise.resolve({ stepBehind })
  const { show } = createTlsChallenge({ clock, hint: undefined, listener: counted, lost })
  return { listener, show, slow, steps: () => steps }
}

type ClientOptions = {
  readonly port: number
  readonly host?: string
  readonly protocols?: readonly string[]
  /** The client's own address. */
  readonly from?: string
}

/** A connection without a response is retried after this time, as browsers do. */
const unansweredMs = 20_000

/** What a TLS client receives; undefined if the handshake fails. */
export const handshake = ({ port, host = "", protocols = [], from = "127.0.0.1" }: ClientOptions) =>
  new Promise<{ protocol: string; certificate: X509Certificate } | undefined>((done) => {
    const options = {
      host: "127.0.0.1",
      port,
      localAddress: from,
      rejectUnauthorized: false,
      servername: host,
      ALPNProtocols: [...protocols],
    }
    const socket = connect(options, () => {
      const handshakeResult = socket.getPeerX509Certificate()
      const protocol = socket.alpnProtocol || "none"
      done(handshakeResult && { protocol, certificate: new X509Certificate(handshakeResult.raw) })
      socket.destroy()
    })
    socket.once("error", () => done(undefined))
    socket.once("close", () => done(undefined))
    socket.setTimeout(unansweredMs, () => socket.destroy())
  })

/** The result of a validation of a host: the protocol, "none", or undefined. */
export const validateHost = async (port: number, host = "id.example.com") =>
  (await handshake({ port, host, protocols: ["acme-tls/1"] }))?.protocol

/** Sends a request on its own connection; rejects if there is no response. */
export const requestOnce = (port: number, path = "/", from = "127.0.0.1", headers: string[] = []) =>
  new Promise<string>((done, fail) => {
    let text = ""
    const options = { host: "127.0.0.1", port, localAddress: from, rejectUnauthorized: false }
    const socket = connect(options, () => {
      const lines = [`GET ${path} HTTP/1.1`, ...headers, "connection: close", "", ""]
      if (headers.length === 0) lines.splice(1, 0, "host: id.example.com")
      socket.write(lines.join("\r\n"))
    })
    socket.on("data", (data: Buffer) => {
      text += data.toString()
    })
    socket.once("error", fail)
    socket.setTimeout(unansweredMs, () => socket.destroy())
    socket.once("close", () => {
      const [, body] = text.split("\r\n\r\n")
      if (body === undefined) fail(new Error("no answer"))
      else done(body)
    })
  })

/** A connection without TLS, and a promise of its end. */
export async function openRaw(port: number, bytes: Buffer | string = "") {
  const socket: Socket = plain({ host: "127.0.0.1", port })
  const closed = new Promise<void>((done) => socket.once("close", () => done()))
  socket.on("error", () => undefined)
  socket.resume()
  await new Promise<void>((done) => socket.once("connect", () => done()))
  if (bytes.length > 0) socket.write(bytes)
  return { socket, closed }
}
