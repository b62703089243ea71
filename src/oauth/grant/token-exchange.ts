import { addExchange, exchange } from "../../domain/grant/index.ts"
import { type Finding, findingWithoutValue, likelyCauseOf } from "../../domain/refusal/index.ts"
import type { Cx } from "../../store/index.ts"
import type { AuthenticatedApp, AuthenticatedClient } from "../client/authentication.ts"
import type { DpopProof } from "../client/proof.ts"
import { OAuthError } from "../error.ts"
import {
  exchangeGrant,
  type Parameters,
  requireParameter,
  splitWords,
  valueFinding,
} from "../parameters.ts"
import { canAccessWithoutConsent, canUserAccess } from "../token/audience.ts"
import { canImpersonate } from "../token/impersonation.ts"
import { targetFinding } from "../token/resource.ts"
import { isForClientAlone, projectsAsAudience, scopeError } from "../token/scope.ts"
import type { Actor } from "../token/statement.ts"
import { readSubjectToken, type SubjectToken, tokenTypes } from "../token/subject-token.ts"
import { isOpenToUser, tokenParentOf } from "../token/token-parent.ts"
import type { Grant } from "./grant.ts"
import { requireRegisteredGrant } from "./registered-grant.ts"

/**
 * RFC 8693: an application exchanges a token of another one for its own, with less access; or
 * obtains one to act for a user, if the actor is allowed to. An exchange never extends audience,
 * scope or lifetime.
 */
export const tokenExchange: Grant = {
  name: exchangeGrant,
  client: "authenticated",
  allow: async (cx, { parameters, client, proof, narrow }) => {
    const application = requireConfidential(client)
    const type = parseRequestedType(parameters)
    const actor = parseActor(cx, application, parameters)
    const subject = parseSubject(cx, application, { parameters, actor })
    if (actor && !canImpersonate(cx, actor.userId, subject.userId)) {
      throw invalidTokenError("actor_token", findingWithoutValue("actor_token", "actor.may_not"))
    }
    if (hasTooManyExchanges(cx, subject)) throw tooManyExchangesError("subject_token")
    if (hasTooManyExchanges(cx, actor)) throw tooManyExchangesError("actor_token")
    for (const presented of [subject, actor]) requireBound(presented, proof)
    if (!isOpenToUser(cx, application.appId, subject.userId)) {
      throw new OAuthError("invalid_grant", "the user is not allowed to use this application")
    }
    const scopes = parseScopes(subject, { parameters, type })
    const { clientId } = application
    const { userId } = subject
    const { appId, state } = application
    const wide = parseAudience(cx, appId, { subject, parameters })
    const narrowed = narrow({ audience: wide, clientId, userId })
    const isIdToken = type === tokenTypes.idToken
    const audience = isIdToken ? idTokenAudience(application, { narrowed, parameters }) : narrowed
    const notAfter = Math.min(subject.expires, actor?.expires ?? subject.expires)
    const step = await cx.store.transact(cx, (tx) =>
      addExchange(tx, {
        clientId,
        appId,
        userId,
        expires: notAfter * 1000,
        scopes,
        ...(subject.grantId !== "" && { anchor: subject.grantId }),
        ...(actor && { actor: { userId: actor.userId, anchor: actor.grantId } }),
        tokenIds: [subject, actor].flatMap((presented) => presented?.id ?? []),
        depth: 1 + Math.max(depthOf(cx, subject), depthOf(cx, actor)),
      }),
    )
    return {
      grantId: tokenParentOf("exchange", step.value),
      userId,
      clientId,
      audience,
      scopes,
      actor: actorChain(subject, actor),
      tokenType: type === tokenTypes.jwt ? "jwt" : "bearer",
      clockSkewSeconds: state.oidc.clockSkewSeconds,
      notAfter,
      ...(isIdToken && {
        issuedType: "id_token" as const,
        identity: { audience, withUserClaims: state.oidc.idTokenUserinfoAssertion },
      }),
      // RFC 8693 §2.2.1.
      extra: { issued_token_type: type },
    }
  },
}

/** The token type of a user ID, if an actor acts for a user without a token of theirs. */
const userIdType = "urn:core:params:oauth:token-type:user_id"

/** Anyone who obtains a token could use it with a public client. */
function requireConfidential(client: AuthenticatedClient) {
  const application = requireRegisteredGrant(client, "token_exchange")
  if (application.method !== "none") return application
  throw new OAuthError("unauthorized_client", "this client is not allowed to exchange tokens")
}

/** RFC 8693 §2.1: an access token by default. */
function parseRequestedType(parameters: Parameters): string {
  const type = parameters.get("requested_token_type") ?? tokenTypes.accessToken
  if (Object.values(tokenTypes).some((supported) => supported === type)) return type
  throw new OAuthError(
    "invalid_request",
    `requested_token_type must be one of: ${Object.values(tokenTypes).join(", ")}`,
  )
}

/** RFC 8693 §2.1: the actor's token and its type, which must be used together. */
function parseActor(
  cx: Cx,
  client: AuthenticatedApp,
  parameters: Parameters,
): SubjectToken | undefined {
  const token = parameters.get("actor_token")
  const type = parameters.get("actor_token_type")
  if (token === undefined && type === undefined) return undefined
  if (token === undefined || type === undefined) {
    throw new OAuthError(
      "invalid_request",
      "actor_token and actor_token_type must be used together",
    )
  }
  const actor = requireAcceptable(cx, client, { name: "actor_token", token, type })
  // A token for impersonation can't be used for another impersonation.
  if (actor.actor)
    throw invalidTokenError("actor_token", findingWithoutValue("actor_token", "actor.may_not"))
  return actor
}

type ExchangeRequest = { readonly parameters: Parameters; readonly actor: SubjectToken | undefined }

function parseSubject(
  cx: Cx,
  client: AuthenticatedApp,
  { parameters, actor }: ExchangeRequest,
): SubjectToken {
  const token = requireParameter(parameters, "subject_token")
  const type = requireParameter(parameters, "subject_token_type")
  if (type === userIdType) {
    if (!actor)
      throw new OAuthError(
        "invalid_request",
        "a subject_token of type user_id requires an actor_token",
      )
    // The user granted nothing themselves, so the actor's grant is the limit.
    const { clientId, audience, scopes, expires } = actor
    return { userId: token, grantId: "", clientId, audience, scopes, expires }
  }
  return requireAcceptable(cx, client, { name: "subject_token", token, type })
}

type TokenParameter = "subject_token" | "actor_token"
type PresentedToken = {
  readonly name: TokenParameter
  readonly token: string
  readonly type: string
}

/** Verifies a token, and that this client is allowed to present it. */
function requireAcceptable(
  cx: Cx,
  client: AuthenticatedApp,
  { name, token, type }: PresentedToken,
): SubjectToken {
  const supported = [
    ...Object.values(tokenTypes),
    ...(name === "subject_token" ? [userIdType] : []),
  ]
  if (!supported.includes(type))
    throw invalidTokenError(name, valueFinding(`${name}_type`, type, supported))
  const presented = readSubjectToken(cx, token, type)
  if (typeof presented === "string")
    throw invalidTokenError(name, findingWithoutValue(name, presented))
  if (isInAudience(cx, client, presented)) return presented
  const subject = `aud of ${name}`
  throw invalidTokenError(name, {
    subject,
    received: presented.audience.join(" "),
    expected: [client.clientId, client.state.projectId],
    ...likelyCauseOf(subject, "token.audience"),
  })
}

/**
 * The client must be the one that the token was issued to, or in its audience. Project IDs can be
 * chosen: one that is also a client ID represents that client.
 */
function isInAudience(
  cx: Cx,
  { clientId, state }: AuthenticatedApp,
  presented: SubjectToken,
): boolean {
  if (presented.clientId === clientId || presented.audience.includes(clientId)) return true
  const isNamed = presented.audience.includes(state.projectId)
  return isNamed && projectsAsAudience(cx, [state.projectId]).length > 0
}

/** RFC 9449: a token obtained from a bound token must be bound to a key, too. */
function requireBound(presented: SubjectToken | undefined, proof: DpopProof | undefined): void {
  if (presented?.jkt === undefined || proof) return
  throw new OAuthError("invalid_dpop_proof", "a token that is bound to a key requires a DPoP proof")
}

type ScopeRequest = { readonly parameters: Parameters; readonly type: string }

/** RFC 8693 §2.1 `scope`: a subset of the scopes of the exchanged token; by default all. */
function parseScopes(subject: SubjectToken, { parameters, type }: ScopeRequest): readonly string[] {
  // An exchange never returns a refresh token.
  const available = subject.scopes.filter((scope) => scope !== "offline_access")
  const requested = splitWords(parameters.get("scope"))
  const scopes = requested.length > 0 ? requested : available
  const isKnown = scopes.every((scope) => available.includes(scope))
  if (isKnown && (type !== tokenTypes.idToken || scopes.includes("openid"))) return scopes
  throw scopeError(
    "scope contains more than the exchanged token has, or lacks openid for an ID token",
    parameters,
    available,
  )
}

/**
 * RFC 8693 §2.1 `audience`, §2.2.2: a subset of the audience of the exchanged token; by default all
 * of it. A user who is only named has consented to nothing: then it is what the application can
 * access without consent.
 */
function parseAudience(
  cx: Cx,
  appId: string,
  { subject, parameters }: AudienceRequest,
): readonly string[] {
  const { userId, grantId, audience } = subject
  const open = audience.filter(
    (id) =>
      canUserAccess(cx, userId, id) && (grantId !== "" || canAccessWithoutConsent(cx, appId, id)),
  )
  const requested = splitWords(parameters.get("audience"))
  if (requested.length === 0 && open.length > 0) return open
  if (requested.length > 0 && requested.every((id) => open.includes(id))) return requested
  throw new OAuthError(
    "invalid_target",
    "audience contains more than that of the exchanged token",
    {
      finding: requested.map((id) => targetFinding("audience", id, "resource.closed")),
    },
  )
}

type AudienceRequest = { readonly subject: SubjectToken; readonly parameters: Parameters }

type NarrowedAudience = { readonly narrowed: readonly string[]; readonly parameters: Parameters }

/**
 * An ID token for its client alone contains other audiences only if requested. If the exchanged
 * token is not for the client, it contains all of them: with the ID of one other client alone, the
 * ID token would pass for one of that client.
 */
function idTokenAudience(
  { clientId, state }: AuthenticatedApp,
  { narrowed, parameters }: NarrowedAudience,
): readonly string[] {
  const isNamed = parameters.has("audience") || parameters.has("resource")
  const isAlone = !isNamed && state.kind === "oidc" && isForClientAlone(state.oidc)
  return isAlone && narrowed.includes(clientId) ? [clientId] : narrowed
}

/** RFC 8693 §4.1: the current actor and the previous ones, which are always kept. */
function actorChain(subject: SubjectToken, actor: SubjectToken | undefined): Actor | undefined {
  if (!actor) return subject.actor
  return { sub: actor.userId, ...(subject.actor && { act: subject.actor }) }
}

/** Each exchange is checked at every use of the token, and an actor makes every token longer. */
const exchangesMax = 10

/** Whether a token has reached the maximum number of exchanges. */
const hasTooManyExchanges = (cx: Cx, presented: SubjectToken | undefined): boolean =>
  depthOf(cx, presented) >= exchangesMax

function depthOf(cx: Cx, presented: SubjectToken | undefined): number {
  const [kind, ...id] = presented?.grantId.split("/") ?? []
  if (kind !== "exchange") return 0
  const exchangeState = cx.store.state(cx, exchange, id.join("/"))
  return exchangeState.status === "absent" ? 0 : (exchangeState.depth ?? 1)
}

const tooManyExchangesError = (name: TokenParameter) =>
  invalidTokenError(name, findingWithoutValue(name, "token.exchanged"))

/** RFC 8693 §2.2.2: the same error for every invalid token, and for actors without permission. */
const invalidTokenError = (name: TokenParameter, finding: Finding) =>
  new OAuthError(
    "invalid_request",
    name === "subject_token"
      ? "subject_token is invalid, does not have its type, or is not for this client"
      : "actor_token is invalid, does not have its type, is not for this client, or can't " +
          "act for the user",
    { finding },
  )
