import { Fault } from "../../kernel/fault.ts"
import { jwtParts } from "../../protocol/jwt.ts"
import { type Cx, cached } from "../../store/index.ts"
import {
  type Claims,
  isSignedBy,
  type PrivateKey,
  type PublicKey,
  privateKeyOf,
  publicKeyOf,
  signJwt,
} from "./jws.ts"
import { type Algorithm, algorithms, webKey } from "./model.ts"
import { sealedAbout } from "./pair.ts"
import { activeKey, listWebKeys } from "./view.ts"

/** Signs JWTs with the active key of one algorithm. */
export type Signer = {
  readonly kid: string
  readonly alg: Algorithm
  /** At once for ES and EdDSA, off the event loop for RS. `typ` tells what the token is for. */
  readonly sign: (claims: Claims, typ: string) => string | Promise<string>
}

/** What a JWT must be to be one of ours. */
export type Expected = {
  readonly typ: string | readonly string[]
  readonly algorithms: readonly Algorithm[]
  /** Where an expired token is still a hint, as at logout; everywhere else it is nothing. */
  readonly expired?: "accepted"
}

/** A published key, as /keys shows it (RFC 7517 §4). */
export type PublishedJwk = {
  readonly kid: string
  readonly alg: Algorithm
  readonly use: "sig"
  readonly kty: string
  readonly [member: string]: string
}

/** The signer of an algorithm. Refuses where no key of it is active. */
export function signer(cx: Cx, alg: Algorithm): Signer {
  const known = current(cx)
  const key = known.private.get(alg) ?? openActive(cx, alg)
  known.private.set(alg, key)
  return { kid: key.id, alg, sign: (claims, typ) => signJwt(key, claims, typ) }
}

/**
 * Reads a JWT that we signed: the key must still be published, and its own algorithm, the `typ` and
 * the expiry must fit. Answers its claims, or undefined for anything else. Issuer and audience are
 * the caller's to check.
 */
export function verifyJwt(cx: Cx, jwt: string, expected: Expected): Claims | undefined {
  const parts = jwtParts(jwt)
  if (!parts) return undefined
  const [head, body, signature] = parts
  const header = objectOf(head)
  // RFC 7515 §4.1.11: what must be understood and isn't makes the token invalid.
  if (!header || ![expected.typ].flat().includes(String(header.typ)) || "crit" in header) {
    return undefined
  }

  // Nobody has signed this yet: what is no text may be anything, and may have none.
  const key = typeof header.kid === "string" ? current(cx).public.get(header.kid) : undefined
  if (!key || key.algorithm !== header.alg) return undefined
  if (!expected.algorithms.includes(key.algorithm)) return undefined
  if (!isSignedBy(key, jwt.slice(0, jwt.lastIndexOf(".")), signature)) return undefined

  const claims = objectOf(body)
  if (!claims || expected.expired === "accepted") return claims
  const { exp } = claims
  return typeof exp === "number" && exp * 1000 > cx.clock.now() ? claims : undefined
}

/** The keys that clients may verify with: every key that is not removed, oldest first. */
export const publicKeys = (cx: Cx): readonly PublishedJwk[] => current(cx).published

/** The algorithms that something can be signed with now: those that a key is active for. */
export const signingAlgorithms = (cx: Cx): readonly Algorithm[] => {
  const active = listWebKeys(cx).filter(({ status }) => status === "active")
  return algorithms.filter((each) => active.some(({ algorithm }) => algorithm === each))
}

/** The keys of one instance. */
type Known = {
  readonly published: readonly PublishedJwk[]
  readonly public: ReadonlyMap<string, PublicKey>
  /** Opened when something is signed with them first. */
  readonly private: Map<Algorithm, PrivateKey>
}

/** What is known holds while no key changes. */
const current = cached(
  (cx): Known => {
    const rows = listWebKeys(cx)
    return {
      published: rows.map(({ id, algorithm, publicKey }) => ({
        ...publicKey,
        kty: publicKey.kty ?? "",
        kid: id,
        alg: algorithm,
        use: "sig",
      })),
      public: new Map(
        rows.map(({ id, algorithm, publicKey }) => [
          id,
          { algorithm, key: publicKeyOf(publicKey) },
        ]),
      ),
      private: new Map(),
    }
  },
  [webKey.stream],
)

function openActive(cx: Cx, algorithm: Algorithm): PrivateKey {
  const row = activeKey(cx, algorithm)
  if (!row) {
    throw new Fault(
      "failed_precondition",
      "web_key.none_active",
      `no ${algorithm} key is active, so nothing can be signed with it; activate one`,
    )
  }
  const secret = cx.secrets.open("seal", row.sealed, sealedAbout(row.id))
  if (secret === undefined) throw new Error(`the private half of web key ${row.id} can't be opened`)
  return { id: row.id, algorithm, key: privateKeyOf(JSON.parse(secret)) }
}

/** A JSON object, or undefined: what a stranger sends is data, not an accident. */
function objectOf(bytes: Uint8Array): Claims | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString())
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Claims =>
  typeof value === "object" && value !== null && !Array.isArray(value)
