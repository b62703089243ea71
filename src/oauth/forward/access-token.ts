import {
  findApiByResource,
  findClient,
  isAtOrBelow,
  isSelfRegistered,
} from "../../domain/app/index.ts"
import { findingWithoutValue } from "../../domain/refusal/index.ts"
import { isPersonalToken } from "../../domain/service-account/index.ts"
import { isJwt } from "../../protocol/jwt.ts"
import type { Cx } from "../../store/index.ts"
import { decodeUnverified } from "../client/jwt.ts"
import type { ProofRequest } from "../client/proof.ts"
import { OAuthError } from "../error.ts"
import { issuerOf } from "../issuer.ts"
import { type PresentedToken, parseAuthorization, verifyPresented } from "../token/presented.ts"
import { isOpaqueToken, readToken, type Statement } from "../token/statement.ts"
import type { ProxiedRequest } from "./proxied-request.ts"

// RFC 6750: clients can call a protected host with an access token if its rules allow it.

/**
 * The token of this instance in an Authorization header; undefined if the header contains other
 * credentials, which are for the protected application. Rejects a header that contains other
 * credentials as well, or has a form that only some applications parse: the decision must cover
 * everything that the application reads.
 */
export function findOwnToken(cx: Cx, authorization: string | null): PresentedToken | undefined {
  const presented = parseAuthorization(authorization)
  if (presented) return isFromThisInstance(cx, presented.token) ? presented : undefined
  // RFC 9110 §5.3: several headers with one name are parsed as one list.
  const words = (authorization ?? "").match(/[\w.~+/-]+=*/g) ?? []
  const scheme = words.findIndex((word) => /^(bearer|dpop)$/i.test(word))
  if (scheme < 0 || !words.slice(scheme + 1).some((word) => isFromThisInstance(cx, word)))
    return undefined
  throw rejectionError(
    "invalid_request",
    "the request must have exactly one Authorization header: Bearer or DPoP, a space, and " +
      "an access token",
  )
}

/** Whether a token claims to be from this instance, of any kind and valid or not. */
const isFromThisInstance = (cx: Cx, token: string): boolean =>
  isJwt(token)
    ? decodeUnverified(token)?.iss === issuerOf(cx).issuer
    : isPersonalToken(cx, token) || isOpaqueToken(cx, token)

type PresentedRequest = Pick<ProofRequest, "headers" | "isReusable"> & {
  readonly proxied: ProxiedRequest
  readonly presented: PresentedToken
}

/**
 * Verifies an access token in a request to a protected host and returns its claims. Rejects tokens
 * that are invalid, are not for this application, were issued to a client that registered itself,
 * or are for impersonation, which the application could not detect.
 */
export async function verifyToken(
  cx: Cx,
  { proxied, headers, presented, isReusable = false }: PresentedRequest,
): Promise<Statement> {
  const statement = await verifyPresented(cx, presented, {
    headers,
    method: headers.get("x-forwarded-method") ?? "",
    origin: proxied.origin,
    path: new URL(proxied.origin + proxied.target).pathname,
    isReusable: isReusable,
  })
  if (typeof statement === "string") {
    throw rejectionError("invalid_token", "the access token is invalid or has expired", {
      finding: findingWithoutValue("access token", statement),
      visibleTo: readToken(cx, presented.token)?.clientId,
    })
  }
  const reason = findRejectionReason(cx, proxied, statement)
  if (reason !== undefined) throw rejectionError("invalid_token", reason)
  return statement
}

function findRejectionReason(
  cx: Cx,
  proxied: ProxiedRequest,
  statement: Statement,
): string | undefined {
  if (!isInAudience(cx, proxied, statement)) return "the access token is not for this application"
  const client = findClient(cx, statement.clientId)
  if (client && isSelfRegistered(cx, client.appId)) {
    return "the access token was issued to a client that registered itself"
  }
  return statement.actor && "the access token is for an impersonated user"
}

/**
 * Whether the audience contains the client ID, or the resource URI of an API in the same project
 * (RFC 8707 §2) that equals the request's URL or is above it. The project alone means all its
 * applications and is not sufficient.
 */
const isInAudience = (
  cx: Cx,
  { clientId, state, origin, target }: ProxiedRequest,
  { audience }: Statement,
) =>
  audience.some((id) => {
    if (id === clientId) return true
    const url = findApiByResource(cx, id)?.projectId === state.projectId ? URL.parse(id) : null
    return url?.origin === origin && isAtOrBelow(url, target)
  })

/** 401, which every proxy treats as denied. */
const rejectionError = (
  error: "invalid_request" | "invalid_token",
  description: string,
  options: ConstructorParameters<typeof OAuthError>[2] = {},
) => new OAuthError(error, description, { ...options, status: 401 })
