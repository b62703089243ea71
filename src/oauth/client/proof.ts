import { createHash } from "node:crypto"
import type { JWTPayload } from "jose"
import { because, findingOfAddress } from "../../domain/refusal/index.ts"
import { sameText } from "../../kernel/crypto/secret.ts"
import { isSameOrigin } from "../../kernel/net/host.ts"
import { jose } from "../../protocol/jose.ts"
import { jwtParts } from "../../protocol/jwt.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import { issuerOf } from "../issuer.ts"
import {
  aheadMaxSeconds,
  besideText,
  expected,
  findingsInJwt,
  textOf,
  type Unproven,
} from "./jwt.ts"
import { isFirstUse, isRemembered } from "./replay.ts"

/** RFC 9449: that a client holds a private key. */
export type Proof = {
  /** RFC 7638 thumbprint of the public key. */
  readonly jkt: string
}

/** The request that a proof comes with; `path` is that of its address. */
export type Use = {
  readonly headers: Headers
  readonly method: string
  readonly path: string
  /** Of that address, where it is not the issuer's. */
  readonly origin?: string
  /** The access token that is presented with it, where one is. */
  readonly accessToken?: string
  /** Whether the proof goes on being good; whoever asks so must let nothing in by it. */
  readonly staysUnused?: boolean
}

/** Every way to sign a proof, all of them with a key pair; discovery names them. */
export const proofAlgorithms = [
  "ES256",
  "ES384",
  "ES512",
  "Ed25519",
  "EdDSA",
  "PS256",
  "PS384",
  "PS512",
  "RS256",
  "RS384",
  "RS512",
] as const

/** Seconds: a proof is made for one request, by a clock that may be a little off. */
const ageMaxSeconds = 60
const toleranceSeconds = aheadMaxSeconds

/**
 * The proof that a request brings; undefined where it brings none. Refuses with
 * `invalid_dpop_proof` whatever is not exactly one good proof for this very request.
 */
export async function proofOf(cx: Cx, use: Use): Promise<Proof | undefined> {
  const header = use.headers.get("dpop")
  if (header === null) return undefined
  const refused = () => badProofError(cx, header, use)
  // RFC 7515 §2: one spelling only; decoders take others for the same signature.
  if (!jwtParts(header)) throw refused()
  // RFC 9449 §4.3 (1) and (2): two headers come to us joined by a comma, which is in no JWT.
  const proven = await expected(() => verified(cx, header))
  const jwk = proven?.protectedHeader.jwk
  if (!proven || !jwk || !isForThis(cx, proven.payload, use)) throw refused()
  const jkt = await (await jose()).calculateJwkThumbprint(jwk, "sha256")
  const { jti, iat = 0 } = proven.payload
  if (typeof jti !== "string" || jti === "" || jti.length > jtiMax) throw refused()
  // RFC 9449 §11.1: before this process began it may have been used, and nobody here would know.
  if (!isRemembered(cx, iat * 1000 + 999)) throw refused()
  if (use.staysUnused) return { jkt }
  // Ages are whole seconds: it counts until the last one is over.
  const expires = (iat + ageMaxSeconds + toleranceSeconds + 1) * 1000
  // RFC 9449 §11.1: a proof that somebody else has seen must be worth nothing to them.
  if (!(await isFirstUse(cx, `${jkt}/${jti}`, expires))) throw refused()
  return { jkt }
}

const jtiMax = 256

/** RFC 9449 §4.3 (3) to (7), (11): the key in the header has signed it, lately. */
async function verified(cx: Cx, text: string) {
  const { EmbeddedJWK, jwtVerify } = await jose()
  return jwtVerify(text, EmbeddedJWK, {
    typ: "dpop+jwt",
    algorithms: [...proofAlgorithms],
    maxTokenAge: ageMaxSeconds,
    clockTolerance: toleranceSeconds,
    currentDate: new Date(cx.clock.now()),
  })
}

/** RFC 9449 §4.3 (8), (9) and (12): for this method, this address, and this access token. */
function isForThis(cx: Cx, { htm, htu, ath }: JWTPayload, use: Use): boolean {
  if (htm !== use.method || !isForAddress(cx, htu, use)) return false
  if (use.accessToken === undefined) return true
  const hash = createHash("sha256").update(use.accessToken).digest("base64url")
  return typeof ath === "string" && sameText(ath, hash)
}

function isForAddress(cx: Cx, htu: unknown, use: Use): boolean {
  const { path } = use
  const address = typeof htu === "string" ? URL.parse(htu) : null
  // RFC 9449 §4.3: compared after normalization.
  if (address === null || !isSameOrigin(address.href, originOf(cx, use))) return false
  return address.pathname === path && !address.username && !address.password
}

const originOf = (cx: Cx, { origin }: Use): string => origin ?? issuerOf(cx).issuer

/** RFC 9449 §5 and §7.1: a proof that comes with an access token fails as that token does. */
const badProofError = (cx: Cx, header: string, use: Use) =>
  new OAuthError(
    "invalid_dpop_proof",
    "the DPoP proof is not valid for this request: check typ, alg, jwk, htm, htu, iat, jti and ath",
    {
      status: use.accessToken === undefined ? 400 : 401,
      finding: () =>
        findingsInJwt(header, {
          subject: "DPoP",
          beside: (claims) => besideProof(cx, claims, use),
          otherwise: "dpop.other",
        }),
    },
  )

/** RFC 9449 §4.3: what a proof says, beside what it must say for this request. */
function besideProof(cx: Cx, { typ, alg, htm, htu, iat }: Unproven, use: Use) {
  const age = typeof iat === "number" ? Math.floor(cx.clock.now() / 1000) - iat : undefined
  const isRecent =
    age !== undefined && age >= -toleranceSeconds && age <= ageMaxSeconds + toleranceSeconds
  return [
    besideText("typ", typ, "dpop+jwt"),
    !proofAlgorithms.some((known) => known === alg) && {
      subject: "alg",
      received: textOf(alg),
      expected: proofAlgorithms,
    },
    besideText("htm", htm, use.method),
    !isForAddress(cx, htu, use) &&
      findingOfAddress("htu", textOf(htu), [originOf(cx, use) + use.path]),
    !isRecent && {
      subject: "iat",
      received: age === undefined ? "" : `${age} s old`,
      expected: [`at most ${ageMaxSeconds} s old`],
      ...because("iat", "assertion.clock"),
    },
  ]
}
