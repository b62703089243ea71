import { createPublicKey } from "node:crypto"
import type { JWTPayload } from "jose"
import { decodeProtectedHeader } from "jose/decode/protected_header"
import { appKey } from "../../../domain/app/index.ts"
import { about, because, type Finding, type Found } from "../../../domain/refusal/index.ts"
import { jose } from "../../../protocol/jose.ts"
import { isJwt, jwtParts } from "../../../protocol/jwt.ts"
import type { Cx } from "../../../store/index.ts"
import { algorithmsOf, isLive, issuerNames } from "../../client/assertion.ts"
import {
  aheadMaxSeconds,
  besideText,
  claimsBeside,
  expected,
  findingsInJwt,
  textOf,
} from "../../client/jwt.ts"
import { onlyKeyOf, registered } from "../../client/registered.ts"
import { OAuthError } from "../../error.ts"
import { issuerOf } from "../../issuer.ts"
import type { Parameters } from "../../request.ts"

const lifetimeMaxSeconds = 3600
const toleranceSeconds = 1

/**
 * RFC 9101: the parameters inside a request object, which its client has signed with a key that is
 * registered for it. Nothing that stands outside counts, but client_id and response_type must not
 * contradict.
 */
export async function requestObjectOf(
  cx: Cx,
  text: string,
  outside: Parameters,
): Promise<URLSearchParams> {
  const clientId = outside.get("client_id")
  if (clientId === undefined) throw new OAuthError("invalid_request", "client_id is missing")
  const claims = await verified(cx, text, clientId)
  mustFit(cx, claims, clientId)
  const inside = parametersIn(claims)
  for (const name of ["client_id", "response_type"]) {
    // RFC 9101 §5 and OpenID Connect Core §6.1: the same inside and outside.
    const beside = outside.get(name)
    if (beside !== undefined && inside.get(name) !== beside) {
      throw badObjectError(`${name} inside the request object is not that beside it`, {
        subject: name,
        received: inside.get(name) ?? "",
        expected: [beside],
      })
    }
  }
  return inside
}

/** RFC 8725 §3.1 and §3.10: the key is one that is registered, and it decides how is signed. */
async function verified(cx: Cx, text: string, clientId: string): Promise<JWTPayload> {
  const named = await keyIdOf(text)
  const client = registered(cx, clientId)
  const keyId = named ?? (client ? onlyKeyOf(cx, client) : "")
  const key = client?.kind === "application" ? appKey(cx, client.appId, keyId) : undefined
  const lacksKey = isLive(cx, key) ? undefined : "assertion.app_key"
  const audience = [...issuerNames(issuerOf(cx).issuer)]
  const wanted = { iss: clientId, audience, lacksKey } as const
  const finding = () =>
    findingsInJwt(text, {
      subject: "request",
      beside: (claims) => [
        ...claimsBeside(cx, claims, wanted),
        besideText("client_id", claims.client_id, clientId),
      ],
      otherwise: "object.other",
    })
  if (!isLive(cx, key)) throw badObjectError("no key with its kid is registered", finding)
  const publicKey = createPublicKey(key.publicKey)
  const options = {
    algorithms: [...algorithmsOf(publicKey)],
    issuer: clientId,
    audience,
    requiredClaims: ["exp"],
    clockTolerance: aheadMaxSeconds,
    currentDate: new Date(cx.clock.now()),
  }
  const { jwtVerify } = await jose()
  const checked = await expected(() => jwtVerify(text, publicKey, options))
  if (checked && isTimely(cx, checked.payload)) return checked.payload
  throw badObjectError(
    "the request object is not valid: check iss, aud, exp, iat, nbf and the signature",
    finding,
  )
}

/** Only a beginning may lie ahead: the end is the end. */
function isTimely(cx: Cx, { exp = 0, iat = 0 }: JWTPayload): boolean {
  const seconds = cx.clock.now() / 1000
  return exp + toleranceSeconds > seconds && iat <= seconds + aheadMaxSeconds
}

/** What is said in the header, if it names a key; nothing of it is proven yet. */
async function keyIdOf(text: string): Promise<string | undefined> {
  const header = isJwt(text) && (await expected(() => decodeProtectedHeader(text)))
  if (!header) throw noJwtError()
  const { alg, typ, kid }: Record<string, unknown> = header
  if (alg === "none") {
    // RFC 9101 §7: signed ones are supported, so this is a wrong one.
    throw badObjectError("request objects must be signed", unsigned(alg))
  }
  // RFC 7515 §2: one spelling only; decoders take others for the same signature.
  if (!jwtParts(text)) throw noJwtError()
  if (typeof alg !== "string" || alg.startsWith("HS")) {
    throw badObjectError(
      "the request object must be signed with a key that is registered for the client",
      unsigned(alg),
    )
  }
  // RFC 9101 §10.8: no other JWT of the client passes for a request.
  if (typ !== undefined && !isType(typ)) {
    throw badObjectError("typ must be oauth-authz-req+jwt or JWT", {
      subject: "typ",
      received: textOf(typ),
      expected: ["oauth-authz-req+jwt", "JWT"],
    })
  }
  if (kid === undefined || typeof kid === "string") return kid
  throw badObjectError("kid must be the id of the key that is registered for the client")
}

const isType = (typ: unknown): boolean =>
  typeof typ === "string" && /^(application\/)?oauth-authz-req\+jwt$|^jwt$/i.test(typ)

function mustFit(cx: Cx, claims: JWTPayload, clientId: string): void {
  const { exp = 0, iat = 0, sub } = claims
  const begins = Math.max(cx.clock.now() / 1000, iat)
  if (exp > begins + lifetimeMaxSeconds + toleranceSeconds) {
    throw badObjectError("the request object must expire within an hour")
  }
  // RFC 9101 §10.8: what names the client as subject is made to authenticate it.
  if (sub === clientId)
    throw badObjectError("sub must not be the client: that is a client assertion")
  // RFC 9101 §4.
  if ("request" in claims || "request_uri" in claims) {
    throw badObjectError("a request object must not have another inside")
  }
  if (claims.client_id !== clientId) {
    throw badObjectError("client_id must be inside, too", {
      subject: "client_id",
      received: textOf(claims.client_id),
      expected: [clientId],
    })
  }
}

/** What a JWT says of itself, and not of the request. */
const registeredClaims = ["iss", "aud", "exp", "nbf", "iat", "jti", "sub"]

/** RFC 9101 §4: parameters are members of the object; numbers and objects as JSON has them. */
function parametersIn(claims: JWTPayload): URLSearchParams {
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
  // RFC 8707 §2: the one parameter that may have several values.
  if (name === "resource" && Array.isArray(value) && value.every(isText)) return value
  throw badObjectError("a parameter inside the request object has a value of the wrong type")
}

const isText = (value: unknown): value is string => typeof value === "string"

const badObjectError = (why: string, finding?: Found) =>
  new OAuthError("invalid_request_object", why, { finding })

const noJwtError = () =>
  badObjectError("the request object is no signed JWT", about("request", "assertion.no_jwt"))

/** Of a client's secret we know the hash alone, which verifies no HMAC either. */
const unsigned = (alg: unknown): Finding => ({
  subject: "alg",
  received: textOf(alg),
  expected: [],
  ...because("alg", "object.unsigned"),
})
