import { apiAt, findClient, isAtOrBelow, isSelfRegistered } from "../../domain/app/index.ts"
import { about } from "../../domain/refusal/index.ts"
import { isPersonalToken } from "../../domain/service-account/index.ts"
import { isJwt } from "../../protocol/jwt.ts"
import type { Cx } from "../../store/index.ts"
import { unprovenIn } from "../client/jwt.ts"
import type { Use } from "../client/proof.ts"
import { OAuthError } from "../error.ts"
import { issuerOf } from "../issuer.ts"
import { checkPresented, type Presented, presentedIn } from "../token/presented.ts"
import { isOpaqueToken, readToken, type Statement } from "../token/statement.ts"
import type { Proxied } from "./proxied.ts"

// RFC 6750: programs that call a protected host present an access token, where its rules allow it.

/**
 * The token of this instance that an Authorization header contains; undefined where it contains
 * something else, which is for the protected program. Refuses a header in which a token of ours
 * stands beside other credentials, or in a form that only some programs read: what is decided here
 * must be about all that the program reads.
 */
export function ownTokenIn(cx: Cx, authorization: string | null): Presented | undefined {
  const presented = presentedIn(authorization)
  if (presented) return isOwn(cx, presented.token) ? presented : undefined
  // RFC 9110 §5.3: several headers of one name are read as one list.
  const words = (authorization ?? "").match(/[\w.~+/-]+=*/g) ?? []
  const scheme = words.findIndex((word) => /^(bearer|dpop)$/i.test(word))
  if (scheme < 0 || !words.slice(scheme + 1).some((word) => isOwn(cx, word))) return undefined
  throw refusal(
    "invalid_request",
    "the request must have one Authorization header: Bearer or DPoP, a space, and an access token",
  )
}

/** Whether a token claims to be of this instance: of any kind, valid or not. */
const isOwn = (cx: Cx, token: string): boolean =>
  isJwt(token)
    ? unprovenIn(token)?.iss === issuerOf(cx).issuer
    : isPersonalToken(cx, token) || isOpaqueToken(cx, token)

type Presenting = Pick<Use, "headers" | "staysUnused"> & {
  readonly at: Proxied
  readonly presented: Presented
}

/**
 * What a token says that is presented for a request to a protected host. Refuses one that is not
 * valid here and now, is not for this application, or was issued to a client that nobody here has
 * registered; and one with which somebody acts for its user, since the program could not tell.
 */
export async function tokenFor(
  cx: Cx,
  { at, headers, presented, staysUnused = false }: Presenting,
): Promise<Statement> {
  const statement = await checkPresented(cx, presented, {
    headers,
    method: headers.get("x-forwarded-method") ?? "",
    origin: at.origin,
    path: new URL(at.origin + at.target).pathname,
    staysUnused,
  })
  if (typeof statement === "string") {
    throw refusal("invalid_token", "the access token is not valid (any more)", {
      finding: about("access token", statement),
      whose: readToken(cx, presented.token)?.clientId,
    })
  }
  const reason = reasonAgainst(cx, at, statement)
  if (reason !== undefined) throw refusal("invalid_token", reason)
  return statement
}

function reasonAgainst(cx: Cx, at: Proxied, statement: Statement): string | undefined {
  if (!isFor(cx, at, statement)) return "the access token is for another application"
  const client = findClient(cx, statement.clientId)
  if (client && isSelfRegistered(cx, client.appId)) {
    return "the access token was issued to a client that registered itself"
  }
  return statement.actor && "the access token lets somebody act for another user"
}

/**
 * Whether the audience contains the client ID, or the URI by which an API of the same project is
 * registered (RFC 8707 §2) and which the request's address is at or below. The project alone stands
 * for all of its applications, so that it is not enough.
 */
const isFor = (cx: Cx, { clientId, state, origin, target }: Proxied, { audience }: Statement) =>
  audience.some((id) => {
    if (id === clientId) return true
    const url = apiAt(cx, id)?.projectId === state.projectId ? URL.parse(id) : null
    return url?.origin === origin && isAtOrBelow(url, target)
  })

/** 401, which every proxy takes for a refusal. */
const refusal = (
  error: "invalid_request" | "invalid_token",
  description: string,
  options: ConstructorParameters<typeof OAuthError>[2] = {},
) => new OAuthError(error, description, { ...options, status: 401 })
