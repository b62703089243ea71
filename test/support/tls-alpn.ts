import { X509Certificate } from "node:crypto"
import { connect as plain, type Socket } from "node:net"
import { connect } from "node:tls"
import { certificateOf } from "../../src/boot/edge/certificate.ts"
import { type Clock, systemClock } from "../../src/kernel/clock.ts"
import type { App } from "../../src/server/app.ts"
import { tlsProof } from "../../src/server/edge/acme/challenge.ts"
import { createStandIn } from "../../src/server/edge/x509.ts"
import { listenHttp } from "../../src/server/listener.ts"

const appOf = (slow: SlowRequests): App => ({
  published: () => undefined,
  answer: async (request, peer) => {
    if (request.url.endsWith("/slow")) await slow.arrive()
    // What came goes back.
    if (request.method === "POST") return new Response(await request.arrayBuffer())
    return new Response(peer())
  },
  api: () => Promise.reject(new Error("nobody calls")),
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

/** A certificate of a host, as a listener takes it. */
export async function certificateFor(host: string) {
  const now = Date.now()
  const pair = await createStandIn(host, { from: now - 86_400_000, to: now + 86_400_000 })
  return certificateOf(pair, "the certificate", "the key")
}

/** A listener that answers with the address of whoever asks, and what steps in front of it. */
export async function listening(clock: Clock = systemClock, own: Clock = systemClock) {
  const place = { host: "127.0.0.1", port: 0 }
  const certificates = [await certificateFor("listener.example.com")]
  const slow = slowRequests()
  const listener = listenHttp(appOf(slow), { place, certificates }, own)
  const lost = (cause: unknown) => {
    throw cause
  }
  let steps = 0
  const stepBehind: typeof listener.stepBehind = (...how) => {
    steps++
    return listener.stepBehind(...how)
  }
  const counted = Promise.resolve({ stepBehind })
  const { show } = tlsProof({ clock, hint: undefined, listener: counted, lost })
  return { listener, show, slow, steps: () => steps }
}

type Asked = {
  readonly port: number
  readonly host?: string
  readonly protocols?: readonly string[]
  /** The client's own address. */
  readonly from?: string
}

/** Who is not answered for so long tries again, as people do. */
const unansweredMs = 20_000

/** What a TLS client is shown; undefined where it comes to nothing. */
export const shownTo = ({ port, host = "", protocols = [], from = "127.0.0.1" }: Asked) =>
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
      const shown = socket.getPeerX509Certificate()
      const protocol = socket.alpnProtocol || "none"
      done(shown && { protocol, certificate: new X509Certificate(shown.raw) })
      socket.destroy()
    })
    socket.once("error", () => done(undefined))
    socket.once("close", () => done(undefined))
    socket.setTimeout(unansweredMs, () => socket.destroy())
  })

/** What a validation of a host comes to: the protocol, "none", or undefined. */
export const validated = async (port: number, host = "id.example.com") =>
  (await shownTo({ port, host, protocols: ["acme-tls/1"] }))?.protocol

/** Asks by a connection of its own; rejects where that is not answered. */
export const asked = (port: number, path = "/", from = "127.0.0.1", headers: string[] = []) =>
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
export async function opened(port: number, bytes: Buffer | string = "") {
  const socket: Socket = plain({ host: "127.0.0.1", port })
  const closed = new Promise<void>((done) => socket.once("close", () => done()))
  socket.on("error", () => undefined)
  socket.resume()
  await new Promise<void>((done) => socket.once("connect", () => done()))
  if (bytes.length > 0) socket.write(bytes)
  return { socket, closed }
}
