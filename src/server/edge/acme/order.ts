import { X509Certificate } from "node:crypto"
import * as z from "zod/mini"
import { parseCertificate } from "../../../boot/edge/certificate.ts"
import type { Clock } from "../../../kernel/clock.ts"
import { Fault } from "../../../kernel/fault.ts"
import { createPair, createRequest, exportKey } from "../x509.ts"
import { type Account, parseResponse } from "./account.ts"
import type { AcmeChallenge } from "./challenge.ts"
import { acmeError, formatProblem } from "./problem.ts"

const order = z.object({
  status: z.string(),
  authorizations: z.array(z.url()).check(z.maxLength(10)),
  finalize: z.url(),
  certificate: z.optional(z.url()),
  error: z.optional(z.unknown()),
})

const challenge = z.object({
  type: z.string(),
  url: z.url(),
  token: z.optional(z.string()),
  error: z.optional(z.unknown()),
})

const authorization = z.object({ status: z.string(), challenges: z.array(challenge) })

type OrderInput = {
  readonly host: string
  readonly clock: Clock
  readonly proof: AcmeChallenge
}

/**
 * Requests a certificate for a host (RFC 8555 §7.4): order, challenge, certificate. Rejects with a
 * Fault that contains the authority's error.
 */
export async function orderCertificate(account: Account, input: OrderInput) {
  const { host, clock } = input
  const identifiers = [{ type: "dns", value: host }]
  const orderResponse = await account.post(account.newOrder, { identifiers })
  const { location } = orderResponse
  if (!location) throw acmeError("the authority accepted an order but did not return its URL")
  const { authorizations, finalize } = parseResponse(order, orderResponse.body, "an order")
  for (const url of authorizations) await completeChallenge(account, input, url)
  const keys = await createPair()
  const ready = await poll(clock, async () => {
    const answer = await account.post(location)
    const { status, error } = parseResponse(order, answer.body, "an order")
    if (status === "invalid") throw acmeError(`the order failed: ${formatProblem(error)}`)
    return status === "pending" ? answer : undefined
  })
  if (!ready) throw timeoutError()
  await account.post(finalize, { csr: await createRequest(host, keys) })
  const certificateUrl = await waitForCertificate(account, clock, location)
  const cert = (await account.post(certificateUrl)).body
  return validateCertificate(host, { cert, key: await exportKey(keys) }, clock.now())
}

async function completeChallenge(
  account: Account,
  { host, clock, proof }: OrderInput,
  url: string,
) {
  const readOrder = async () => {
    const answer = await account.post(url)
    return { ...answer, read: parseResponse(authorization, answer.body, "an authorization") }
  }
  const first = await readOrder()
  if (first.read.status === "valid") return
  const ours = ({ type }: { readonly type: string }) => type === proof.type
  const found = first.read.challenges.find(ours)
  if (!found?.token) throw challengeNotOfferedError(proof, first.read.challenges)
  const { token } = found
  // §8.1: only base64url, because the token becomes part of a path.
  if (!/^[\w-]{1,200}$/.test(token)) throw acmeError("the authority sent a malformed token")
  const hide = await proof.show({ host, token, authorization: account.authorization(token) })
  try {
    await account.post(found.url, {})
    const isProven = await poll(clock, async () => {
      const { read, ...answer } = await readOrder()
      if (read.status === "valid") return undefined
      if (read.status === "pending" || read.status === "processing") return answer
      throw validationFailedError(proof, read.challenges.find(ours)?.error)
    })
    if (!isProven) throw timeoutError()
  } finally {
    hide()
  }
}

async function waitForCertificate(
  account: Account,
  clock: Clock,
  location: string,
): Promise<string> {
  let certificateUrl: string | undefined
  const isReady = await poll(clock, async () => {
    const answer = await account.post(location)
    const read = parseResponse(order, answer.body, "an order")
    if (read.status === "invalid")
      throw acmeError(`the order was rejected: ${formatProblem(read.error)}`)
    certificateUrl = read.certificate
    return read.status === "valid" && certificateUrl !== undefined ? undefined : answer
  })
  if (!isReady || certificateUrl === undefined) throw timeoutError()
  return certificateUrl
}

const attemptsMax = 30

/** Polls at the pace set by the authority (§7.5.1). Returns false if it takes too long. */
async function poll(
  clock: Clock,
  check: () => Promise<{ readonly retryAfterSeconds: number | undefined } | undefined>,
): Promise<boolean> {
  for (let round = 0; round < attemptsMax; round++) {
    const waiting = await check()
    if (!waiting) return true
    const seconds = Math.min(Math.max(waiting.retryAfterSeconds ?? Math.min(1 + round, 5), 1), 30)
    await new Promise<void>((done) => void clock.after(seconds * 1000, done))
  }
  return false
}

/** Throws unless the certificate is for this host, matches our key and is currently valid. */
function validateCertificate(
  host: string,
  pair: { readonly cert: string; readonly key: string },
  now: number,
) {
  try {
    const { expiresAt } = parseCertificate(pair, "the authority's response", "ours")
    const leaf = new X509Certificate(pair.cert)
    const from = Date.parse(leaf.validFrom)
    if (leaf.checkHost(host) === undefined) throw acmeError("the certificate is for another host")
    // The clocks can differ a little.
    if (from > now + 3_600_000) throw acmeError("the certificate is not valid yet")
    if (expiresAt <= now) throw acmeError("the certificate has expired")
    return { ...pair, from, ends: expiresAt }
  } catch (cause) {
    if (cause instanceof Fault) throw acmeError(cause.message)
    throw cause
  }
}

const challengeNames = { "http-01": "HTTP (http-01)", "tls-alpn-01": "TLS (tls-alpn-01)" } as const

function challengeNotOfferedError(
  { type }: AcmeChallenge,
  offered: readonly { readonly type: string }[],
) {
  const others = offered
    .map((each) => each.type)
    .filter((each) => each !== type && /^[\w-]{1,40}$/.test(each))
  const instead = others.length > 0 ? `, but ${others.slice(0, 5).join(", ")}` : ""
  return acmeError(`the authority does not offer the challenge ${challengeNames[type]}${instead}`)
}

function validationFailedError({ hint }: AcmeChallenge, problem: unknown) {
  const text = `the authority could not validate the name: ${formatProblem(problem)}`
  return acmeError(hint ? `${text} (${hint})` : text)
}

const timeoutError = () => acmeError("the authority did not complete the order in time", "late")
