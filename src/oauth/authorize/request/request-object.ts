import { createPublicKey } from "node:crypto"
import type { JWTPayload } from "jose"
import { decodeProtectedHeader } from "jose/decode/protected_header"
import { findAppPublicKey } from "../../../domain/app/index.ts"
import {
  type Finding,
  type FindingSource,
  findingWithoutValue,
  likelyCauseOf,
} from "../../../domain/refusal/index.ts"
import { loadJose } from "../../../protocol/jose.ts"
import { isJwt, parseJwtParts } from "../../../protocol/jwt.ts"
import type { Cx } from "../../../store/index.ts"
import { algorithmsOf, isKeyValid, issuerSpellings } from "../../client/assertion.ts"
import {
  aheadMaxSeconds,
  catchInputError,
  compareClaims,
  compareText,
  findingsInJwt,
  textOf,
} from "../../client/jwt.ts"
import { findOnlyKeyId, findRegisteredClient } from "../../client/registered-client.ts"
import { OAuthError } from "../../error.ts"
import { issuerOf } from "../../issuer.ts"
import type { Parameters } from "../../parameters.ts"

const lifetimeMaxSeconds = 3600
const toleranceSeconds = 1

/**
 * RFC 9101: the parameters in a request object, signed with a registered key of the client.
 * Parameters outside it are ignored, but client_id and response_type must match.
 */
export async function parseRequestObject(
  cx: Cx,
  text: string,
  outside: Parameters,
): Promise<URLSearchParams> {
  const clientId = outside.get("client_id")
  if (clientId === undefined) throw new OAuthError("invalid_request", "client_id is required")
  const claims = await verifyRequestObject(cx, text, clientId)
  validateClaims(cx, claims, clientId)
  const inside = parametersOf(claims)
  for (const name of ["client_id", "response_type"]) {
    // RFC 9101 §5 and OpenID Connect Core §6.1: these must be the same inside and outside.
    const outer = outside.get(name)
    if (outer !== undefined && inside.get(name) !== outer) {
      throw invalidObjectError(
        `${name} in the request object must match the parameter outside it`,
        {
          subject: name,
          received: inside.get(name) ?? "",
          expected: [outer],
        },
      )
    }
  }
  return inside
}

/** RFC 8725 §3.1 and §3.10: the registered key determines the algorithms. */
async function verifyRequestObject(cx: Cx, text: string, clientId: string): Promise<JWTPayload> {
  const headerKeyId = await keyIdOf(text)
  const client = findRegisteredClient(cx, clientId)
  const keyId = headerKeyId ?? (client ? findOnlyKeyId(cx, client) : "")
  const key = client?.kind === "application" ? findAppPublicKey(cx, client.appId, keyId) : undefined
  const missingKeyCause = isKeyValid(cx, key) ? undefined : "assertion.app_key"
  const audience = [...issuerSpellings(issuerOf(cx).issuer)]
  const expectedClaims = { iss: clientId, audience, missingKeyCause } as const
  const finding = () =>
    findingsInJwt(text, {
      subject: "request",
      compare: (claims) => [
        ...compareClaims(cx, claims, expectedClaims),
        compareText("client_id", claims.client_id, clientId),
      ],
      fallbackCause: "object.other",
    })
  if (!isKeyValid(cx, key)) throw invalidObjectError("no key with this kid is registered", finding)
  const publicKey = createPublicKey(key.publicKey)
  const options = {
    algorithms: [...algorithmsOf(publicKey)],
    issuer: clientId,
    audience,
    requiredClaims: ["exp"],
    clockTolerance: aheadMaxSeconds,
    currentDate: new Date(cx.clock.now()),
  }
  const { jwtVerify } = await loadJose()
  const checked = await catchInputError(() => jwtVerify(text, publicKey, options))
  if (checked && isTimely(cx, checked.payload)) return checked.payload
  throw invalidObjectError(
    "the request object is invalid: check iss, aud, exp, iat, nbf and the signature",
    finding,
  )
}

/** Clock skew is tolerated for iat, but not for exp. */
function isTimely(cx: Cx, { exp = 0, iat = 0 }: JWTPayload): boolean {
  const seconds = cx.clock.now() / 1000
  return exp + toleranceSeconds > seconds && iat <= seconds + aheadMaxSeconds
}

/** The key ID in the header, if any; the header is not verified yet. */
async function keyIdOf(text: string): Promise<string | undefined> {
  const header = isJwt(text) && (await catchInputError(() => decodeProtectedHeader(text)))
  if (!header) throw notJwtError()
  const { alg, typ, kid }: Record<string, unknown> = header
  if (alg === "none") {
    // RFC 9101 §7: signed request objects are supported, so an unsigned one is invalid.
    throw invalidObjectError("request objects must be signed", unsignedFinding(alg))
  }
  // RFC 7515 §2: only one spelling is valid; decoders accept others for the same signature.
  if (!parseJwtParts(text)) throw notJwtError()
  if (typeof alg !== "string" || alg.startsWith("HS")) {
    throw invalidObjectError(
      "the request object must be signed with a key that is registered for the client",
      unsignedFinding(alg),
    )
  }
  // RFC 9101 §10.8: other JWTs of the client must not be accepted as request objects.
  if (typ !== undefined && !isRequestObjectType(typ)) {
    throw invalidObjectError("typ must be oauth-authz-req+jwt or JWT", {
      subject: "typ",
      received: textOf(typ),
      expected: ["oauth-authz-req+jwt", "JWT"],
    })
  }
  if (kid === undefined || typeof kid === "string") return kid
  throw invalidObjectError("kid must be the ID of a key that is registered for the client")
}

const isRequestObjectType = (typ: unknown): boolean =>
  typeof typ === "string" && /^(application\/)?oauth-authz-req\+jwt$|^jwt$/i.test(typ)

function validateClaims(cx: Cx, claims: JWTPayload, clientId: string): void {
  const { exp = 0, iat = 0, sub } = claims
  const begins = Math.max(cx.clock.now() / 1000, iat)
  if (exp > begins + lifetimeMaxSeconds + toleranceSeconds) {
    throw invalidObjectError("the request object must expire within an hour")
  }
  // RFC 9101 §10.8: a JWT with the client as subject is a client assertion.
  if (sub === clientId)
    throw invalidObjectError("sub must not be the client: this JWT is a client assertion")
  // RFC 9101 §4.
  if ("request" in claims || "request_uri" in claims) {
    throw invalidObjectError("a request object must not contain another one")
  }
  if (claims.client_id !== clientId) {
    throw invalidObjectError("client_id is required in the request object", {
      subject: "client_id",
      received: textOf(claims.client_id),
      expected: [clientId],
    })
  }
}

/** Claims about the JWT itself, not parameters of the request. */
const registeredClaims = ["iss", "aud", "exp", "nbf", "iat", "jti", "sub"]

/** RFC 9101 §4: parameters are members of the object; numbers and objects in JSON. */
function parametersOf(claims: JWTPayload): URLSearchParams {
  const inside = new URLSearchParams()
  for (const [name, value] of Object.entries(claims)) {
    if (registeredClaims.includes(name)) continue
    for (const text of textsOf(name, value)) inside.append(name, text)
  }
  return inside
}

function textsOf(name: string, value: unknown): readonly string[] {
  if (typeof value === "string") return [value]
  if (typeof value === "number") return [String(value)]
  if (name === "claims" && typeof value === "object") return [JSON.stringify(value)]
  // RFC 8707 §2: the only parameter that can have several values.
  if (name === "resource" && Array.isArray(value) && value.every(isText)) return value
  throw invalidObjectError("a parameter in the request object has a value of the wrong type")
}

const isText = (value: unknown): value is string => typeof value === "string"

const invalidObjectError = (description: string, finding?: FindingSource) =>
  new OAuthError("invalid_request_object", description, { finding })

const notJwtError = () =>
  invalidObjectError(
    "the request object is not a signed JWT",
    findingWithoutValue("request", "assertion.no_jwt"),
  )

/** Only hashes of client secrets are stored, so HMAC signatures can't be verified either. */
const unsignedFinding = (alg: unknown): Finding => ({
  subject: "alg",
  received: textOf(alg),
  expected: [],
  ...likelyCauseOf("alg", "object.unsigned"),
})
