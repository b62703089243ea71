import { createHash } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:tls"
import type { Clock, Timer } from "../../../kernel/clock.ts"
import type { HttpListener } from "../../listener.ts"
import { createValidation } from "../x509.ts"
import { acmeProtocol, openRelay } from "./relay.ts"

/** A challenge that proves control of a name to an authority (RFC 8555 §8). */
export type AcmeChallenge = {
  /** The type in ACME. */
  readonly type: "http-01" | "tls-alpn-01"
  /** A hint for the operator if the validation fails. */
  readonly hint?: string | undefined
  /** Publishes the proof until the returned function is called. */
  readonly show: (display: ChallengeInput) => Promise<() => void>
}

type ChallengeInput = {
  readonly host: string
  readonly token: string
  /** §8.1: the key authorization. */
  readonly authorization: string
}

const challengePath = "/.well-known/acme-challenge/"

/** Over plain HTTP (§8.3), with responses from the map by token. */
export const createHttpChallenge = (challenges: Map<string, string>): AcmeChallenge => ({
  type: "http-01",
  show: async ({ token, authorization }) => {
    challenges.set(token, authorization)
    return () => void challenges.delete(token)
  },
})

/** RFC 8555 §8.3: returns the key authorization for a token; needs no authentication. */
export function respondToChallenge(
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
 * Changing the owner of the port resets new connections. It therefore changes only once for hosts
 * validated in succession and for the following certificate.
 */
const lingerMs = 3000

type TlsChallengeParts = {
  readonly clock: Clock
  readonly hint: string | undefined
  /** The public listener, once it is listening. */
  readonly listener: Promise<Pick<HttpListener, "stepBehind">>
  /** Called if the listener can't reclaim its port. */
  readonly lost: (cause: unknown) => void
}

/**
 * Over TLS (RFC 8737). The HTTP server can't dispatch by protocol, so during a validation a relay
 * listens on the port and inspects connections.
 */
export function createTlsChallenge({
  clock,
  hint,
  listener,
  lost,
}: TlsChallengeParts): AcmeChallenge {
  const validations = new Map<string, number>()
  let stepBack: (() => void) | undefined
  let lingerTimer: Timer | undefined
  return {
    type: "tls-alpn-01",
    hint,
    show: async ({ host, authorization }) => {
      const now = clock.now()
      const life = { from: now - dayMs, to: now + dayMs }
      const digest = createHash("sha256").update(authorization).digest()
      const server = await openValidationServer(await createValidation(host, life, digest))
      const { stepBehind } = await listener
      lingerTimer?.stop()
      validations.set(host, server.port)
      const end = () => {
        server.close()
        if (validations.get(host) === server.port) validations.delete(host)
        if (validations.size > 0) return
        lingerTimer = clock.after(lingerMs, () => {
          stepBack?.()
          stepBack = undefined
        })
      }
      try {
        stepBack ??= stepBehind(
          (...relayArgs) => openRelay({ clock, validations }, ...relayArgs),
          lost,
        )
      } catch (cause) {
        end()
        throw cause
      }
      return end
    },
  }
}

/** Presents a certificate to validating clients and sends no data (RFC 8737 §3). */
async function openValidationServer(pair: { readonly cert: string; readonly key: string }) {
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
