import { calculateJwkThumbprint, exportJWK, FlattenedSign, importJWK, type JWK } from "jose"
import * as z from "zod/mini"
import { reasonText } from "../../../kernel/fault.ts"
import type { Outbound } from "../../../kernel/port/outbound.ts"
import { acmeError, refusedError } from "./problem.ts"

/** RFC 8555 §7.1.1: where an authority takes what. */
const directory = z.object({
  newNonce: z.url(),
  newAccount: z.url(),
  newOrder: z.url(),
  meta: z.optional(z.object({ externalAccountRequired: z.optional(z.boolean()) })),
})

/** An answer of the authority to a signed request. */
export type Answer = {
  readonly body: string
  /** Where the thing is that it made; absent where it made none. */
  readonly location: string | undefined
  /** How long to wait before asking again, in seconds, where it says so. */
  readonly retryAfterSeconds: number | undefined
}

// Orders, polling and requests are ours: `acme-client` 5.4.0 fails test/server/acme.test.ts. Its
// errors have neither the authority's error type (rateLimited) nor its Retry-After; it polls every
// 5 to 30 seconds by its own timers, whatever Retry-After says; it takes nonces from addresses
// without https; and its axios would bypass the guarded client. Its axios, node-forge and second
// X.509 library are 1 MB of code. The requests are signed by `jose`.

/** Somebody whom the authority knows by their key. */
export type Account = {
  readonly newOrder: string
  /** Sends a signed request (§6.2); without `payload` it only reads (§6.3). */
  readonly post: (url: string, payload?: object) => Promise<Answer>
  /** What answers a challenge (§8.1). */
  readonly authorization: (token: string) => string
}

export type Registration = {
  readonly directory: string
  readonly email: string | undefined
  /** The account's private key. */
  readonly key: JWK
  readonly send: Outbound
  /** ms UTC. */
  readonly now: () => number
}

/** Its private half, for a new account. */
export async function createAccountKey(): Promise<JWK> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256" }
  const { privateKey } = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"])
  return exportJWK(privateKey)
}

/**
 * Makes the account, or finds the one that the key has (§7.3): asked anew each time, so that an
 * authority that has forgotten it is none the worse. The operator has agreed to the terms.
 */
export async function accountOf(registration: Registration): Promise<Account> {
  const speaking = await speakerOf(registration)
  const { places } = speaking
  if (places.meta?.externalAccountRequired) {
    throw acmeError("the authority wants an account made on its own site first (RFC 8555 §7.3.4)")
  }
  const { email } = registration
  const made = await speaking.post(places.newAccount, {
    payload: { termsOfServiceAgreed: true, ...(email && { contact: [`mailto:${email}`] }) },
  })
  if (!made.location) throw acmeError("the authority made an account and does not say which")
  const kid = made.location
  return {
    newOrder: places.newOrder,
    post: (url, payload) => speaking.post(url, { payload, kid }),
    authorization: (token) => `${token}.${speaking.thumbprint}`,
  }
}

/** Authorities refuse one now and then on purpose. */
const noncesMax = 5

type Signed = { readonly payload: object | undefined; readonly kid?: string }

/** Signs with the account's key, and has a nonce for each request (§6.5). */
async function speakerOf(registration: Registration) {
  const { key } = registration
  const places = await directoryAt(registration)
  const publicKey = { kty: key.kty ?? "", crv: key.crv ?? "", x: key.x ?? "", y: key.y ?? "" }
  const secret = await importJWK(key, "ES256")
  let nonce = ""
  const attempt = async (url: string, { payload, kid }: Signed) => {
    if (nonce === "") nonce = (await exchange(registration, { url: places.newNonce })).nonce
    const jws = await new FlattenedSign(
      new TextEncoder().encode(payload === undefined ? "" : JSON.stringify(payload)),
    )
      .setProtectedHeader({ alg: "ES256", nonce, url, ...(kid ? { kid } : { jwk: publicKey }) })
      .sign(secret)
    nonce = ""
    const reply = await exchange(registration, { url, body: JSON.stringify(jws) })
    nonce = reply.nonce
    return reply
  }
  return {
    places,
    thumbprint: await calculateJwkThumbprint(publicKey),
    post: async (url: string, signed: Signed): Promise<Answer> => {
      for (let tries = 1; ; tries++) {
        const reply = await attempt(url, signed)
        if (reply.status < 300) return reply
        const refused = refusedError(reply)
        // §6.5: one that is too old by now; the refusal has brought another.
        if (refused.id !== "acme.badNonce" || tries === noncesMax) throw refused
      }
    },
  }
}

async function directoryAt(registration: Registration) {
  const reply = await exchange(registration, { url: registration.directory })
  if (reply.status !== 200) throw refusedError(reply)
  return readAnswer(directory, reply.body, "a directory")
}

type Exchange = { readonly url: string; readonly body?: string }

const told = ["location", "replay-nonce", "retry-after"] as const

async function exchange({ send, now }: Registration, { url, body }: Exchange) {
  const { protocol } = new URL(url)
  // §6.1: never by plain HTTP, wherever the directory leads.
  if (protocol !== "https:") throw acmeError("the authority names an address without https")
  const reply = await send({
    url,
    told,
    timeoutMs: 20_000,
    ...(body === undefined
      ? { method: "GET" }
      : { method: "POST", body, headers: { "content-type": "application/jose+json" } }),
  }).catch((cause: unknown) => {
    const because = reasonText(cause)
    throw acmeError(`the authority can't be reached: ${because}`, "unreachable")
  })
  const { status, headers = {} } = reply
  const { location, "replay-nonce": nonce = "", "retry-after": wait } = headers
  return { status, body: reply.body, location, nonce, retryAfterSeconds: secondsOf(wait, now()) }
}

/** RFC 9110 §10.2.3: seconds, or a date. */
function secondsOf(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : (Date.parse(text) - now) / 1000
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : undefined
}

/** What an answer says, where it says what it should; else the authority is not understood. */
export function readAnswer<Schema extends z.ZodMiniType>(
  schema: Schema,
  body: string,
  what: string,
): z.output<Schema> {
  const read = schema.safeParse(jsonOf(body))
  if (read.success) return read.data
  throw acmeError(`the authority answered something else than ${what}`)
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // No JSON is nothing that any schema takes.
    return undefined
  }
}
