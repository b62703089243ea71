import { createHash } from "node:crypto"
import type { JWTPayload } from "jose"
import { findingOfUri, likelyCauseOf } from "../../domain/refusal/index.ts"
import { constantTimeEquals } from "../../kernel/crypto/secret.ts"
import { isSameOrigin } from "../../kernel/net/host.ts"
import { loadJose } from "../../protocol/jose.ts"
import { parseJwtParts } from "../../protocol/jwt.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import { issuerOf } from "../issuer.ts"
import {
  aheadMaxSeconds,
  catchInputError,
  compareText,
  findingsInJwt,
  textOf,
  type UnverifiedClaims,
} from "./jwt.ts"
import { isFirstUse, isRemembered } from "./replay.ts"

/** RFC 9449: proof that a client possesses a private key. */
export type DpopProof = {
  /** RFC 7638 thumbprint of the public key. */
  readonly jkt: string
}

/** The request that contains a proof; `path` is the path of its URL. */
export type ProofRequest = {
  readonly headers: Headers
  readonly method: string
  readonly path: string
  /** The origin of the URL, if it is not the issuer's. */
  readonly origin?: string
  /** The access token in the same request, if any. */
  readonly accessToken?: string
  /** Whether the proof can be used again; then the caller must not grant access with it. */
  readonly isReusable?: boolean
}

/** Signing algorithms for proofs, all asymmetric; also in the discovery document. */
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

/** In seconds: a proof is created for one request, by a clock that may be slightly wrong. */
const ageMaxSeconds = 60
const toleranceSeconds = aheadMaxSeconds

/**
 * The DPoP proof of a request; undefined if there is none. Rejects everything except exactly one
 * valid proof for this request with `invalid_dpop_proof`.
 */
export async function verifyProof(cx: Cx, request: ProofRequest): Promise<DpopProof | undefined> {
  const header = request.headers.get("dpop")
  if (header === null) return undefined
  const invalid = () => invalidProofError(cx, header, request)
  // RFC 7515 §2: only one spelling is valid; decoders accept others for the same signature.
  if (!parseJwtParts(header)) throw invalid()
  // RFC 9449 §4.3 (1) and (2): two headers are joined by a comma, which no JWT contains.
  const verified = await catchInputError(() => verifySignature(cx, header))
  const jwk = verified?.protectedHeader.jwk
  if (!verified || !jwk || !matchesRequest(cx, verified.payload, request)) throw invalid()
  const jkt = await (await loadJose()).calculateJwkThumbprint(jwk, "sha256")
  const { jti, iat = 0 } = verified.payload
  if (typeof jti !== "string" || jti === "" || jti.length > jtiMax) throw invalid()
  // RFC 9449 §11.1: a proof from before this process started may have been used already.
  if (!isRemembered(cx, iat * 1000 + 999)) throw invalid()
  if (request.isReusable) return { jkt }
  // Ages are in whole seconds, so the proof is valid until the last one has passed.
  const expires = (iat + ageMaxSeconds + toleranceSeconds + 1) * 1000
  // RFC 9449 §11.1: each proof can be used once, so that it is useless to others.
  if (!(await isFirstUse(cx, `${jkt}/${jti}`, expires))) throw invalid()
  return { jkt }
}

const jtiMax = 256

/** RFC 9449 §4.3 (3) to (7), (11): signed recently with the key in the header. */
async function verifySignature(cx: Cx, text: string) {
  const { EmbeddedJWK, jwtVerify } = await loadJose()
  return jwtVerify(text, EmbeddedJWK, {
    typ: "dpop+jwt",
    algorithms: [...proofAlgorithms],
    maxTokenAge: ageMaxSeconds,
    clockTolerance: toleranceSeconds,
    currentDate: new Date(cx.clock.now()),
  })
}

/** RFC 9449 §4.3 (8), (9) and (12): for this method, URL and access token. */
function matchesRequest(cx: Cx, { htm, htu, ath }: JWTPayload, request: ProofRequest): boolean {
  if (htm !== request.method || !matchesUrl(cx, htu, request)) return false
  if (request.accessToken === undefined) return true
  const hash = createHash("sha256").update(request.accessToken).digest("base64url")
  return typeof ath === "string" && constantTimeEquals(ath, hash)
}

function matchesUrl(cx: Cx, htu: unknown, request: ProofRequest): boolean {
  const { path } = request
  const address = typeof htu === "string" ? URL.parse(htu) : null
  // RFC 9449 §4.3: compared after normalization.
  if (address === null || !isSameOrigin(address.href, originOf(cx, request))) return false
  return address.pathname === path && !address.username && !address.password
}

const originOf = (cx: Cx, { origin }: ProofRequest): string => origin ?? issuerOf(cx).issuer

/**
 * RFC 9449 §5 and §7.1: an invalid proof with an access token has the same status as an invalid
 * token.
 */
const invalidProofError = (cx: Cx, header: string, request: ProofRequest) =>
  new OAuthError(
    "invalid_dpop_proof",
    "the DPoP proof is invalid for this request: check typ, alg, jwk, htm, htu, iat, jti " +
      "and ath",
    {
      status: request.accessToken === undefined ? 400 : 401,
      finding: () =>
        findingsInJwt(header, {
          subject: "DPoP",
          compare: (claims) => compareProof(cx, claims, request),
          fallbackCause: "dpop.other",
        }),
    },
  )

/** RFC 9449 §4.3: compares the claims of a proof with the expected values for this request. */
function compareProof(
  cx: Cx,
  { typ, alg, htm, htu, iat }: UnverifiedClaims,
  request: ProofRequest,
) {
  const age = typeof iat === "number" ? Math.floor(cx.clock.now() / 1000) - iat : undefined
  const isRecent =
    age !== undefined && age >= -toleranceSeconds && age <= ageMaxSeconds + toleranceSeconds
  return [
    compareText("typ", typ, "dpop+jwt"),
    !proofAlgorithms.some((supported) => supported === alg) && {
      subject: "alg",
      received: textOf(alg),
      expected: proofAlgorithms,
    },
    compareText("htm", htm, request.method),
    !matchesUrl(cx, htu, request) &&
      findingOfUri("htu", textOf(htu), [originOf(cx, request) + request.path]),
    !isRecent && {
      subject: "iat",
      received: age === undefined ? "" : `${age} s old`,
      expected: [`at most ${ageMaxSeconds} s old`],
      ...likelyCauseOf("iat", "assertion.clock"),
    },
  ]
}
