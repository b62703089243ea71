import { createPublicKey, type KeyObject } from "node:crypto"
import { spendAssertion } from "../../domain/grant/index.ts"
import { Fault } from "../../kernel/fault.ts"
import { lru } from "../../kernel/lru.ts"
import { jose } from "../../protocol/jose.ts"
import { isJwt, jwtParts } from "../../protocol/jwt.ts"
import { type Cx, cached } from "../../store/index.ts"
import { issuerOf, paths } from "../issuer.ts"
import { aheadMaxSeconds, expected, unprovenIn } from "./jwt.ts"

/** A signed assertion that was checked. */
export type Assertion = {
  readonly issuer: string
  readonly jti: string | undefined
  /** ms UTC; the latest that it can be, where the assertion does not say. */
  readonly issued: number
  /** ms UTC; from then on it is refused for its age. */
  readonly expires: number
}

const ageMaxSeconds = 3600
/** Of a client's assertion without an id, which nothing else keeps from being used again. */
const namelessMaxSeconds = 300
const toleranceSeconds = 1

/** Whom an assertion says it is from, and by which key, if it names one; nothing is proven yet. */
type Named = { readonly issuer: string; readonly keyId: string | undefined }

export function readAssertion(text: string): Named | undefined {
  // RFC 7515 §2: one spelling only; decoders take others for the same signature.
  const claims = jwtParts(text) && unprovenIn(text)
  // Types say texts; what a stranger sends may be anything.
  if (typeof claims?.iss !== "string") return undefined
  const { iss, kid } = claims
  return kid === undefined || typeof kid === "string" ? { issuer: iss, keyId: kid } : undefined
}

/** A registered key; ms UTC. */
type Key = { readonly publicKey: string; readonly expires: number }

/** Whether a key is there, and still counts. */
export const isLive = (cx: Cx, key: Key | undefined): key is Key =>
  key !== undefined && cx.clock.now() < key.expires

type Rules = {
  /** Without one it is checked nevertheless, against a key that nobody has. */
  readonly key: Key | undefined
  /** RFC 7523 §2.1: a grant. §2.2: a client. */
  readonly as: "grant" | "client"
}

/**
 * RFC 7523 §3: checks an assertion with the registered key of its issuer. It must name its issuer
 * as its subject and us as its audience, and neither be older nor, from a client, last longer than
 * an hour. OpenID Connect Core §9 wants a `jti` of clients, which some that are in use don't send:
 * without one, theirs counts for five minutes.
 */
export async function verifyAssertion(
  cx: Cx,
  text: string,
  rules: Rules,
): Promise<Assertion | undefined> {
  const now = cx.clock.now()
  const key = rules.key ? publicKeyOf(rules.key.publicKey) : nobodysKey
  const options = {
    algorithms: [...algorithmsOf(key)],
    audience: [...ownNames(cx)],
    requiredClaims: ["iss", "sub", "exp", ...(rules.as === "grant" ? ["iat"] : [])],
    clockTolerance: aheadMaxSeconds,
    currentDate: new Date(now),
  }
  const { jwtVerify } = await jose()
  const verified = isJwt(text) && (await expected(() => jwtVerify(text, key, options)))
  const { iss, sub, jti, exp = 0, iat } = verified ? verified.payload : {}
  if (iss === undefined || iss !== sub || !isLive(cx, rules.key)) return undefined
  const seconds = now / 1000
  // Only a beginning may lie ahead: the end is the end.
  if (exp + toleranceSeconds <= seconds) return undefined
  const ageMax = rules.as === "client" && jti === undefined ? namelessMaxSeconds : ageMaxSeconds
  if (iat !== undefined && !isRecent(iat, { seconds, ageMax })) return undefined
  // Types say a text; who signs may write anything.
  if (jti !== undefined && typeof jti !== "string") return undefined
  // OpenID Connect Core §9 bounds the lifetime by exp alone; iat may be missing.
  const lifeMax = iat === undefined ? ageMax : ageMaxSeconds
  const begins = Math.max(seconds, iat ?? 0)
  if (rules.as === "client" && exp > begins + lifeMax + toleranceSeconds) return undefined
  const end = iat === undefined ? exp : Math.min(exp, iat + ageMax)
  const issued = (iat ?? exp - ageMaxSeconds) * 1000
  return { issuer: iss, jti, issued, expires: (end + toleranceSeconds) * 1000 }
}

type Window = { readonly seconds: number; readonly ageMax: number }

const isRecent = (iat: unknown, { seconds, ageMax }: Window): boolean =>
  typeof iat === "number" &&
  iat <= seconds + aheadMaxSeconds &&
  iat + ageMax + toleranceSeconds > seconds

/** Reading a key costs as much as checking a signature with it. */
function publicKeyOf(pem: string): KeyObject {
  const key = keys.get(pem) ?? createPublicKey(pem)
  keys.set(pem, key)
  return key
}
const keys = lru<KeyObject>(1000)

/** The issuer as clients name it: many libraries add the slash of an empty path. */
export const issuerNames = (issuer: string): readonly string[] => [issuer, `${issuer}/`]

/** RFC 7523 §3 (3), OpenID Connect Core §9: the issuer, or an endpoint that asks for the client. */
export const ownNames = cached(
  (cx): readonly string[] => {
    const { issuer } = issuerOf(cx)
    const { token, introspection, revocation, par, deviceAuthorization } = paths
    const asking = [token, introspection, revocation, par, deviceAuthorization]
    return [...issuerNames(issuer), ...asking.map((path) => issuer + path)]
  },
  ["instance"],
)

/** Spends an assertion that carries an id; false where that was, or may have been, spent before. */
export async function spend(cx: Cx, assertion: Assertion): Promise<boolean> {
  const { issuer, jti, expires } = assertion
  if (jti === undefined) return true
  if (cx.store.isForgotten(assertion, cx.clock.now())) return false
  try {
    await cx.store.transact(cx, (tx) => spendAssertion(tx, { issuer, jti, expires }))
    return true
  } catch (cause) {
    if (cause instanceof Fault && cause.id === "assertion.used") return false
    throw cause
  }
}

/** Algorithms of assertions; discovery names them. */
export const assertionAlgorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
] as const

/** RFC 8725 §3.1: the registered key decides which algorithms are possible, not the header. */
export function algorithmsOf(key: KeyObject): readonly string[] {
  const curve = key.asymmetricKeyDetails?.namedCurve ?? ""
  if (key.asymmetricKeyType === "rsa") {
    return ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]
  }
  if (key.asymmetricKeyType === "ed25519") return ["EdDSA", "Ed25519"]
  return curveAlgorithms[curve] ?? []
}

const curveAlgorithms: Readonly<Record<string, readonly string[]>> = {
  prime256v1: ["ES256"],
  secp384r1: ["ES384"],
  secp521r1: ["ES512"],
}

/** The private half was thrown away: an assertion of nobody takes as long as a wrong one. */
const nobodysKey = createPublicKey({
  format: "der",
  type: "spki",
  key: Buffer.from(
    [
      "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAjn2FLf4JqSvhDgVnHHi3eOXasrCj7mOQB8sxxjtD",
      "fqHX9FYlKfBkxr6X7AnZis1aO3tQJOzDli7cOqx9uwIha05w3bSTUs3g+5tEITcWy2881+we/rLtaT8eXBhj",
      "yGUwtwKUuvhd69R8CJY0KdI1JMnSJO7u1dq7A9wdCDu7hu85LYBLHrCnPLJ6AX+A+eUhPo31tGvuZMD5mODb",
      "rJAa3r1assvu7nFckrSWZnklbqmR6+VY2xqvycVsbP3cejzlfUuBoVtmuPy9DqntLcAU7qFkHwKvmy2LWvli",
      "7Kyhb/4qaZzYI5ggPQUopo3p25Mbhdid3Sz+5FoIsZDDo77wEwIDAQAB",
    ].join(""),
    "base64",
  ),
})
