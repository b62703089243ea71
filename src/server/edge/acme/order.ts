import { X509Certificate } from "node:crypto"
import * as z from "zod/mini"
import { certificateOf } from "../../../boot/edge/certificate.ts"
import type { Clock } from "../../../kernel/clock.ts"
import { Fault } from "../../../kernel/fault.ts"
import { createPair, keyText, requestOf } from "../x509.ts"
import { type Account, readAnswer } from "./account.ts"
import type { Proof } from "./challenge.ts"
import { acmeError, problemText } from "./problem.ts"

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

type Wanted = {
  readonly host: string
  readonly clock: Clock
  readonly proof: Proof
}

/**
 * Gets a certificate for a host that leads here (RFC 8555 §7.4): an order, the proof, the
 * certificate. Rejects with a Fault that says what the authority does not like.
 */
export async function orderCertificate(account: Account, wanted: Wanted) {
  const { host, clock } = wanted
  const identifiers = [{ type: "dns", value: host }]
  const made = await account.post(account.newOrder, { identifiers })
  const { location } = made
  if (!location) throw acmeError("the authority took an order and does not say which")
  const { authorizations, finalize } = readAnswer(order, made.body, "an order")
  for (const url of authorizations) await prove(account, wanted, url)
  const keys = await createPair()
  const ready = await patiently(clock, async () => {
    const answer = await account.post(location)
    const { status, error } = readAnswer(order, answer.body, "an order")
    if (status === "invalid") throw acmeError(`the order failed: ${problemText(error)}`)
    return status === "pending" ? answer : undefined
  })
  if (!ready) throw lateError()
  await account.post(finalize, { csr: await requestOf(host, keys) })
  const place = await issued(account, clock, location)
  const cert = (await account.post(place)).body
  return checked(host, { cert, key: await keyText(keys) }, clock.now())
}

async function prove(account: Account, { host, clock, proof }: Wanted, url: string) {
  const look = async () => {
    const answer = await account.post(url)
    return { ...answer, read: readAnswer(authorization, answer.body, "an authorization") }
  }
  const first = await look()
  if (first.read.status === "valid") return
  const ours = ({ type }: { readonly type: string }) => type === proof.type
  const found = first.read.challenges.find(ours)
  if (!found?.token) throw unofferedError(proof, first.read.challenges)
  const { token } = found
  // §8.1: nothing but base64url, for it becomes a part of a path.
  if (!/^[\w-]{1,200}$/.test(token)) throw acmeError("the authority sent a malformed token")
  const hide = await proof.show({ host, token, authorization: account.authorization(token) })
  try {
    await account.post(found.url, {})
    const isProven = await patiently(clock, async () => {
      const { read, ...answer } = await look()
      if (read.status === "valid") return undefined
      if (read.status === "pending" || read.status === "processing") return answer
      throw unprovenError(proof, read.challenges.find(ours)?.error)
    })
    if (!isProven) throw lateError()
  } finally {
    hide()
  }
}

async function issued(account: Account, clock: Clock, location: string): Promise<string> {
  let place: string | undefined
  const isReady = await patiently(clock, async () => {
    const answer = await account.post(location)
    const read = readAnswer(order, answer.body, "an order")
    if (read.status === "invalid") throw acmeError(`it was refused: ${problemText(read.error)}`)
    place = read.certificate
    return read.status === "valid" && place !== undefined ? undefined : answer
  })
  if (!isReady || place === undefined) throw lateError()
  return place
}

const roundsMax = 30

/**
 * Asks until there is nothing to wait for any more, at the pace that the authority names (§7.5.1).
 * Answers false where it takes longer than anybody should wait.
 */
async function patiently(
  clock: Clock,
  ask: () => Promise<{ readonly retryAfterSeconds: number | undefined } | undefined>,
): Promise<boolean> {
  for (let round = 0; round < roundsMax; round++) {
    const waiting = await ask()
    if (!waiting) return true
    const seconds = Math.min(Math.max(waiting.retryAfterSeconds ?? Math.min(1 + round, 5), 1), 30)
    await new Promise<void>((done) => void clock.after(seconds * 1000, done))
  }
  return false
}

/** What came is for this host, belongs to our key and holds now; or it is not taken. */
function checked(host: string, pair: { readonly cert: string; readonly key: string }, now: number) {
  try {
    const { ends } = certificateOf(pair, "what the authority sent", "ours")
    const leaf = new X509Certificate(pair.cert)
    const from = Date.parse(leaf.validFrom)
    if (leaf.checkHost(host) === undefined) throw acmeError("its certificate is for another host")
    // The clock of either side may be a little off.
    if (from > now + 3_600_000) throw acmeError("its certificate begins later than now")
    if (ends <= now) throw acmeError("its certificate has ended already")
    return { ...pair, from, ends }
  } catch (cause) {
    if (cause instanceof Fault) throw acmeError(cause.message)
    throw cause
  }
}

const ways = { "http-01": "HTTP (http-01)", "tls-alpn-01": "TLS (tls-alpn-01)" } as const

function unofferedError({ type }: Proof, offered: readonly { readonly type: string }[]) {
  const others = offered
    .map((each) => each.type)
    .filter((each) => each !== type && /^[\w-]{1,40}$/.test(each))
  const instead = others.length > 0 ? `, but ${others.slice(0, 5).join(", ")}` : ""
  return acmeError(`the authority offers no proof by ${ways[type]}${instead}`)
}

function unprovenError({ hint }: Proof, problem: unknown) {
  const said = `the authority could not see that the name leads here: ${problemText(problem)}`
  return acmeError(hint ? `${said} (${hint})` : said)
}

const lateError = () => acmeError("the authority did not come to an end in time", "late")
