import { Fault } from "../../kernel/fault.ts"
import { parseJwtParts } from "../../protocol/jwt.ts"
import { type Cx, cacheQuery } from "../../store/index.ts"
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
import { sealContextOf } from "./pair.ts"
import { findActiveKey, listWebKeys } from "./view.ts"

/** Signs JWTs with the active key of one algorithm. */
export type Signer = {
  readonly kid: string
  readonly alg: Algorithm
  /** Synchronous for ES and EdDSA, off the event loop for RS. `typ` is the type of the token. */
  readonly sign: (claims: Claims, typ: string) => string | Promise<string>
}

/** Requirements for a JWT of this instance. */
export type JwtRequirements = {
  readonly typ: string | readonly string[]
  readonly algorithms: readonly Algorithm[]
  /** Accepts expired tokens, which are still valid as hints, as at logout. */
  readonly expired?: "accepted"
}

/** A published key, as in the key set at /keys (RFC 7517 §4). */
export type PublishedJwk = {
  readonly kid: string
  readonly alg: Algorithm
  readonly use: "sig"
  readonly kty: string
  readonly [member: string]: string
}

/** The signer of an algorithm. Throws if it has no active key. */
export function getSigner(cx: Cx, alg: Algorithm): Signer {
  const loaded = loadedKeys(cx)
  const key = loaded.private.get(alg) ?? unsealActiveKey(cx, alg)
  loaded.private.set(alg, key)
  return { kid: key.id, alg, sign: (claims, typ) => signJwt(key, claims, typ) }
}

/**
 * Verifies a JWT that this instance signed: the key must still be published, and its algorithm,
 * `typ` and expiry must match. Returns its claims; undefined if it is invalid. The caller must
 * check issuer and audience.
 */
export function verifyJwt(cx: Cx, jwt: string, expected: JwtRequirements): Claims | undefined {
  const parts = parseJwtParts(jwt)
  if (!parts) return undefined
  const [head, body, signature] = parts
  const header = parseObject(head)
  // RFC 7515 §4.1.11: critical headers that are not understood make the token invalid.
  if (!header || ![expected.typ].flat().includes(String(header.typ)) || "crit" in header) {
    return undefined
  }

  // The header is not verified yet; `kid` can have any type or be absent.
  const key = typeof header.kid === "string" ? loadedKeys(cx).public.get(header.kid) : undefined
  if (!key || key.algorithm !== header.alg) return undefined
  if (!expected.algorithms.includes(key.algorithm)) return undefined
  if (!isSignedBy(key, jwt.slice(0, jwt.lastIndexOf(".")), signature)) return undefined

  const claims = parseObject(body)
  if (!claims || expected.expired === "accepted") return claims
  const { exp } = claims
  return typeof exp === "number" && exp * 1000 > cx.clock.now() ? claims : undefined
}

/** The public keys of the instance: all that were not removed, oldest first. */
export const publicKeys = (cx: Cx): readonly PublishedJwk[] => loadedKeys(cx).published

/** The algorithms that have an active key. */
export const signingAlgorithms = (cx: Cx): readonly Algorithm[] => {
  const active = listWebKeys(cx).filter(({ status }) => status === "active")
  return algorithms.filter((each) => active.some(({ algorithm }) => algorithm === each))
}

/** The loaded keys of one instance. */
type LoadedKeys = {
  readonly published: readonly PublishedJwk[]
  readonly public: ReadonlyMap<string, PublicKey>
  /** Unsealed on first use. */
  readonly private: Map<Algorithm, PrivateKey>
}

/** Cleared when a key changes. */
const loadedKeys = cacheQuery(
  (cx): LoadedKeys => {
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

function unsealActiveKey(cx: Cx, algorithm: Algorithm): PrivateKey {
  const row = findActiveKey(cx, algorithm)
  if (!row) {
    throw new Fault(
      "failed_precondition",
      "web_key.none_active",
      `no ${algorithm} key is active; activate one`,
    )
  }
  const secret = cx.secrets.open("seal", row.sealed, sealContextOf(row.id))
  if (secret === undefined)
    throw new Error(`the private key of web key ${row.id} can't be unsealed`)
  return { id: row.id, algorithm, key: privateKeyOf(JSON.parse(secret)) }
}

/** The parsed JSON object; undefined for anything else, because invalid input is expected here. */
function parseObject(bytes: Uint8Array): Claims | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString())
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Claims =>
  typeof value === "object" && value !== null && !Array.isArray(value)
