import { calculateJwkThumbprint, exportJWK, FlattenedSign, importJWK, type JWK } from "jose"
import * as z from "zod/mini"
import { errorText } from "../../../kernel/fault.ts"
import type { Outbound } from "../../../kernel/port/outbound.ts"
import { acmeError, rejectedError } from "./problem.ts"

/** RFC 8555 §7.1.1: the URLs of an authority. */
const directory = z.object({
  newNonce: z.url(),
  newAccount: z.url(),
  newOrder: z.url(),
  meta: z.optional(z.object({ externalAccountRequired: z.optional(z.boolean()) })),
})

/** The response of the authority to a signed request. */
export type AcmeResponse = {
  readonly body: string
  /** The URL of the created resource; absent if none was created. */
  readonly location: string | undefined
  /** The Retry-After time in seconds, if sent. */
  readonly retryAfterSeconds: number | undefined
}

// Orders, polling and requests are implemented here: `acme-client` 5.4.0 fails
// test/server/acme.test.ts. Its errors contain neither the authority's error type (rateLimited) nor
// Retry-After; it polls every 5 to 30 seconds with its own timers, regardless of Retry-After; it
// accepts nonce URLs without https; and its axios would bypass the outbound restrictions. Its
// axios, node-forge and second X.509 library add 1 MB of code. The requests are signed with `jose`.

/** An account of the authority, identified by its key. */
export type Account = {
  readonly newOrder: string
  /** Sends a signed request (§6.2); without `payload`, it only reads (§6.3). */
  readonly post: (url: string, payload?: object) => Promise<AcmeResponse>
  /** The key authorization for a challenge (§8.1). */
  readonly authorization: (token: string) => string
}

export type Registration = {
  readonly directory: string
  readonly email: string | undefined
  /** The private key of the account. */
  readonly key: JWK
  readonly send: Outbound
  /** In ms since the epoch. */
  readonly now: () => number
}

/** The private key of a new account. */
export async function createAccountKey(): Promise<JWK> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256" }
  const { privateKey } = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"])
  return exportJWK(privateKey)
}

/**
 * Creates the account, or finds the existing one of the key (§7.3). Called every time, in case the
 * authority has deleted the account. The operator has agreed to the terms.
 */
export async function openAccount(registration: Registration): Promise<Account> {
  const speaking = await createSigner(registration)
  const { places } = speaking
  if (places.meta?.externalAccountRequired) {
    throw acmeError("the authority requires an account created on its site first (RFC 8555 §7.3.4)")
  }
  const { email } = registration
  const response = await speaking.post(places.newAccount, {
    payload: { termsOfServiceAgreed: true, ...(email && { contact: [`mailto:${email}`] }) },
  })
  if (!response.location)
    throw acmeError("the authority created an account but did not return its URL")
  const kid = response.location
  return {
    newOrder: places.newOrder,
    post: (url, payload) => speaking.post(url, { payload, kid }),
    authorization: (token) => `${token}.${speaking.thumbprint}`,
  }
}

/** Authorities sometimes reject a valid nonce on purpose. */
const attemptsMax = 5

type SignedRequest = { readonly payload: object | undefined; readonly kid?: string }

/** Signs requests with the key of the account and provides a nonce for each (§6.5). */
async function createSigner(registration: Registration) {
  const { key } = registration
  const places = await fetchDirectory(registration)
  const publicKey = { kty: key.kty ?? "", crv: key.crv ?? "", x: key.x ?? "", y: key.y ?? "" }
  const secret = await importJWK(key, "ES256")
  let nonce = ""
  const attempt = async (url: string, { payload, kid }: SignedRequest) => {
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
    post: async (url: string, signed: SignedRequest): Promise<AcmeResponse> => {
      for (let tries = 1; ; tries++) {
        const reply = await attempt(url, signed)
        if (reply.status < 300) return reply
        const refused = rejectedError(reply)
        // §6.5: the nonce has expired; the error response contains a new one.
        if (refused.id !== "acme.badNonce" || tries === attemptsMax) throw refused
      }
    },
  }
}

async function fetchDirectory(registration: Registration) {
  const reply = await exchange(registration, { url: registration.directory })
  if (reply.status !== 200) throw rejectedError(reply)
  return parseResponse(directory, reply.body, "a directory")
}

type Exchange = { readonly url: string; readonly body?: string }

const headerNames = ["location", "replay-nonce", "retry-after"] as const

async function exchange({ send, now }: Registration, { url, body }: Exchange) {
  const { protocol } = new URL(url)
  // §6.1: never use plain HTTP, regardless of the directory.
  if (protocol !== "https:") throw acmeError("the authority uses a URL without https")
  const reply = await send({
    url,
    told: headerNames,
    timeoutMs: 20_000,
    ...(body === undefined
      ? { method: "GET" }
      : { method: "POST", body, headers: { "content-type": "application/jose+json" } }),
  }).catch((cause: unknown) => {
    const reason = errorText(cause)
    throw acmeError(`the authority is not reachable: ${reason}`, "unreachable")
  })
  const { status, headers = {} } = reply
  const { location, "replay-nonce": nonce = "", "retry-after": wait } = headers
  return {
    status,
    body: reply.body,
    location,
    nonce,
    retryAfterSeconds: parseRetryAfter(wait, now()),
  }
}

/** RFC 9110 §10.2.3: seconds or a date. */
function parseRetryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : (Date.parse(text) - now) / 1000
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : undefined
}

/** Parses a response of the authority; throws if it does not match the schema. */
export function parseResponse<Schema extends z.ZodMiniType>(
  schema: Schema,
  body: string,
  expected: string,
): z.output<Schema> {
  const read = schema.safeParse(parseJson(body))
  if (read.success) return read.data
  throw acmeError(`the authority's response is not ${expected}`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Invalid JSON matches no schema.
    return undefined
  }
}
