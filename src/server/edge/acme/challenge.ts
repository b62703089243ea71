import { createHash } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:tls"
import type { Clock, Timer } from "../../../kernel/clock.ts"
import type { HttpListener } from "../../listener.ts"
import { createValidation } from "../x509.ts"
import { acmeProtocol, openRelay } from "./relay.ts"

/** How an authority is shown that a name leads here (RFC 8555 §8). */
export type Proof = {
  /** What it calls it. */
  readonly type: "http-01" | "tls-alpn-01"
  /** What is worth knowing where it did not see it. */
  readonly hint?: string | undefined
  /** Shows it until what is answered is called. */
  readonly show: (shown: Shown) => Promise<() => void>
}

type Shown = {
  readonly host: string
  readonly token: string
  /** §8.1: the key authorization. */
  readonly authorization: string
}

const challengePath = "/.well-known/acme-challenge/"

/** By plain HTTP (§8.3), which answers what is in the map, by token. */
export const httpProof = (challenges: Map<string, string>): Proof => ({
  type: "http-01",
  show: async ({ token, authorization }) => {
    challenges.set(token, authorization)
    return () => void challenges.delete(token)
  },
})

/** RFC 8555 §8.3: whoever asks for a token is told whose it is, and may be anybody. */
export function answeredPlain(
  challenges: ReadonlyMap<string, string>,
  { url }: Request,
): Response | undefined {
  const pathname = URL.parse(url)?.pathname ?? ""
  if (!pathname.startsWith(challengePath)) return undefined
  const answer = challenges.get(pathname.slice(challengePath.length))
  const headers = { "content-type": "application/octet-stream", "cache-control": "no-store" }
  return new Response(answer ?? null, { status: answer === undefined ? 404 : 200, headers })
}

const dayMs = 86_400_000
/**
 * Who is about to connect when the port changes hands is reset: so that happens once for hosts that
 * come one after the other, and for the certificate that follows.
 */
const lingerMs = 3000

type Behind = {
  readonly clock: Clock
  readonly hint: string | undefined
  /** What people come to; it is there once something listens. */
  readonly listener: Promise<Pick<HttpListener, "stepBehind">>
  /** Is told where that can't have its port back. */
  readonly lost: (cause: unknown) => void
}

/**
 * By TLS (RFC 8737). What serves HTTP can't choose by protocol: so as long as a validation is due,
 * and hardly longer, it stands behind something that looks at who comes.
 */
export function tlsProof({ clock, hint, listener, lost }: Behind): Proof {
  const validations = new Map<string, number>()
  let stepBack: (() => void) | undefined
  let over: Timer | undefined
  return {
    type: "tls-alpn-01",
    hint,
    show: async ({ host, authorization }) => {
      const now = clock.now()
      const life = { from: now - dayMs, to: now + dayMs }
      const digest = createHash("sha256").update(authorization).digest()
      const server = await answering(await createValidation(host, life, digest))
      const { stepBehind } = await listener
      over?.stop()
      validations.set(host, server.port)
      const end = () => {
        server.close()
        if (validations.get(host) === server.port) validations.delete(host)
        if (validations.size > 0) return
        over = clock.after(lingerMs, () => {
          stepBack?.()
          stepBack = undefined
        })
      }
      try {
        stepBack ??= stepBehind((...place) => openRelay({ clock, validations }, ...place), lost)
      } catch (cause) {
        end()
        throw cause
      }
      return end
    },
  }
}

/** Shows a certificate to who speaks the protocol, and has nothing to say (RFC 8737 §3). */
async function answering(pair: { readonly cert: string; readonly key: string }) {
  const options = { ...pair, ALPNProtocols: [acmeProtocol], minVersion: "TLSv1.2" } as const
  const server = createServer(options, (socket) => {
    socket.on("error", () => socket.destroy())
    socket.end()
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const bound = server.address()
  const port = typeof bound === "object" && bound ? bound.port : 0
  return { port, close: () => void server.close() }
}
