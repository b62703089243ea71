import { addExchange, exchange } from "../../domain/grant/index.ts"
import { about, because, type Finding } from "../../domain/refusal/index.ts"
import type { Cx } from "../../store/index.ts"
import type { AuthenticatedApp, AuthenticatedClient } from "../client/authentication.ts"
import type { Proof } from "../client/proof.ts"
import { OAuthError } from "../error.ts"
import { exchangeGrant, type Parameters, required, valueFinding, wordsOf } from "../request.ts"
import { isEnterable, mayHaveUnasked } from "../token/audience.ts"
import { mayActAs } from "../token/impersonation.ts"
import { targetFinding } from "../token/resource.ts"
import { isForClientAlone, projectsAsAudience, scopeError } from "../token/scope.ts"
import type { Actor } from "../token/statement.ts"
import { type SubjectToken, subjectTokenIn, tokenTypes } from "../token/subject-token.ts"
import { isOpenTo, tokenParentOf } from "../token/token-parent.ts"
import type { Grant } from "./grant.ts"
import { applicationFor } from "./registered.ts"

/**
 * RFC 8693: an application gets a token for the user of another one, for fewer things; or for a
 * user whom somebody acts for who may. Nothing grows by an exchange: not the audience, not the
 * scope, not the time.
 */
export const tokenExchange: Grant = {
  name: exchangeGrant,
  client: "authenticated",
  allow: async (cx, { parameters, client, proof, narrow }) => {
    const application = confidential(client)
    const type = requestedType(parameters)
    const actor = actorIn(cx, application, parameters)
    const subject = subjectIn(cx, application, { parameters, actor })
    if (actor && !mayActAs(cx, actor.userId, subject.userId)) {
      throw unacceptableError("actor_token", about("actor_token", "actor.may_not"))
    }
    if (isTooDeep(cx, subject)) throw tooDeepError("subject_token")
    if (isTooDeep(cx, actor)) throw tooDeepError("actor_token")
    for (const presented of [subject, actor]) mustBeBound(presented, proof)
    if (!isOpenTo(cx, application.appId, subject.userId)) {
      throw new OAuthError("invalid_grant", "the user may not use this application")
    }
    const scopes = scopesFor(subject, { parameters, type })
    const { clientId } = application
    const { userId } = subject
    const { appId, state } = application
    const wide = audienceFor(cx, appId, { subject, parameters })
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
      actor: actsFor(subject, actor),
      tokenType: type === tokenTypes.jwt ? "jwt" : "bearer",
      clockSkewSeconds: state.oidc.clockSkewSeconds,
      notAfter,
      ...(isIdToken && {
        instead: "id_token" as const,
        identity: { audience, withUserClaims: state.oidc.idTokenUserinfoAssertion },
      }),
      // RFC 8693 §2.2.1.
      extra: { issued_token_type: type },
    }
  },
}

/** What a user is named by where an actor acts for them without any token of theirs. */
const userIdType = "urn:core:params:oauth:token-type:user_id"

/** Whoever finds a token can name a client that has no secret. */
function confidential(client: AuthenticatedClient) {
  const application = applicationFor(client, "token_exchange")
  if (application.method !== "none") return application
  throw new OAuthError("unauthorized_client", "this client may not exchange tokens")
}

/** RFC 8693 §2.1: an access token where nothing is asked for. */
function requestedType(parameters: Parameters): string {
  const type = parameters.get("requested_token_type") ?? tokenTypes.accessToken
  if (Object.values(tokenTypes).some((known) => known === type)) return type
  throw new OAuthError(
    "invalid_request",
    `requested_token_type must be one of ${Object.values(tokenTypes).join(", ")}`,
  )
}

/** RFC 8693 §2.1: the token of whoever acts, with its type; neither without the other. */
function actorIn(
  cx: Cx,
  client: AuthenticatedApp,
  parameters: Parameters,
): SubjectToken | undefined {
  const token = parameters.get("actor_token")
  const type = parameters.get("actor_token_type")
  if (token === undefined && type === undefined) return undefined
  if (token === undefined || type === undefined) {
    throw new OAuthError("invalid_request", "actor_token and actor_token_type belong together")
  }
  const actor = acceptable(cx, client, { name: "actor_token", token, type })
  // Who is acted for holds the right to act for others by themself only.
  if (actor.actor) throw unacceptableError("actor_token", about("actor_token", "actor.may_not"))
  return actor
}

type Requested = { readonly parameters: Parameters; readonly actor: SubjectToken | undefined }

function subjectIn(
  cx: Cx,
  client: AuthenticatedApp,
  { parameters, actor }: Requested,
): SubjectToken {
  const token = required(parameters, "subject_token")
  const type = required(parameters, "subject_token_type")
  if (type === userIdType) {
    if (!actor) throw new OAuthError("invalid_request", "a user_id wants an actor_token beside it")
    // Nothing was granted by the user: what the actor was granted is the most.
    const { clientId, audience, scopes, expires } = actor
    return { userId: token, grantId: "", clientId, audience, scopes, expires }
  }
  return acceptable(cx, client, { name: "subject_token", token, type })
}

type Name = "subject_token" | "actor_token"
type Given = { readonly name: Name; readonly token: string; readonly type: string }

/** A token that is good, and that this client may come with. */
function acceptable(cx: Cx, client: AuthenticatedApp, { name, token, type }: Given): SubjectToken {
  const known = [...Object.values(tokenTypes), ...(name === "subject_token" ? [userIdType] : [])]
  if (!known.includes(type))
    throw unacceptableError(name, valueFinding(`${name}_type`, type, known))
  const presented = subjectTokenIn(cx, token, type)
  if (typeof presented === "string") throw unacceptableError(name, about(name, presented))
  if (isFor(cx, client, presented)) return presented
  const subject = `aud of ${name}`
  throw unacceptableError(name, {
    subject,
    received: presented.audience.join(" "),
    expected: [client.clientId, client.state.projectId],
    ...because(subject, "token.audience"),
  })
}

/**
 * Who exchanges a token must have come by it rightly: it was issued to them, or it is for them. Ids
 * of projects may be chosen: one that is a client's id too stands for that client.
 */
function isFor(cx: Cx, { clientId, state }: AuthenticatedApp, presented: SubjectToken): boolean {
  if (presented.clientId === clientId || presented.audience.includes(clientId)) return true
  const isNamed = presented.audience.includes(state.projectId)
  return isNamed && projectsAsAudience(cx, [state.projectId]).length > 0
}

/** RFC 9449: what comes of a token that is bound to a key must be bound to one, too. */
function mustBeBound(presented: SubjectToken | undefined, proof: Proof | undefined): void {
  if (presented?.jkt === undefined || proof) return
  throw new OAuthError("invalid_dpop_proof", "a token that is bound to a key wants a DPoP proof")
}

type Narrowing = { readonly parameters: Parameters; readonly type: string }

/** RFC 8693 §2.1 `scope`: some of those that the exchanged token has; without a wish, all. */
function scopesFor(subject: SubjectToken, { parameters, type }: Narrowing): readonly string[] {
  // No refresh token comes of an exchange.
  const most = subject.scopes.filter((scope) => scope !== "offline_access")
  const asked = wordsOf(parameters.get("scope"))
  const scopes = asked.length > 0 ? asked : most
  const isKnown = scopes.every((scope) => most.includes(scope))
  if (isKnown && (type !== tokenTypes.idToken || scopes.includes("openid"))) return scopes
  throw scopeError(
    "scope names more than the exchanged token has, or lacks openid for an id_token",
    parameters,
    most,
  )
}

/**
 * RFC 8693 §2.1 `audience`, §2.2.2: some of whom the exchanged token is for; else all. A user who
 * is only named has allowed nothing: for them it is what the application may have without asking.
 */
function audienceFor(cx: Cx, appId: string, { subject, parameters }: Of): readonly string[] {
  const { userId, grantId, audience } = subject
  const open = audience.filter(
    (id) => isEnterable(cx, userId, id) && (grantId !== "" || mayHaveUnasked(cx, appId, id)),
  )
  const asked = wordsOf(parameters.get("audience"))
  if (asked.length === 0 && open.length > 0) return open
  if (asked.length > 0 && asked.every((id) => open.includes(id))) return asked
  throw new OAuthError("invalid_target", "audience names more than the exchanged token is for", {
    finding: asked.map((id) => targetFinding("audience", id, "resource.closed")),
  })
}

type Of = { readonly subject: SubjectToken; readonly parameters: Parameters }

type Narrowed = { readonly narrowed: readonly string[]; readonly parameters: Parameters }

/**
 * An ID token that is for its client alone names others only where the request does. Where the
 * exchanged token is not for the client, it names all of them: the ID of another client alone would
 * make it pass for one that was issued to that client.
 */
function idTokenAudience(
  { clientId, state }: AuthenticatedApp,
  { narrowed, parameters }: Narrowed,
): readonly string[] {
  const isNamed = parameters.has("audience") || parameters.has("resource")
  const isAlone = !isNamed && state.kind === "oidc" && isForClientAlone(state.oidc)
  return isAlone && narrowed.includes(clientId) ? [clientId] : narrowed
}

/** RFC 8693 §4.1: who acts now, and who acted before; that is never forgotten. */
function actsFor(subject: SubjectToken, actor: SubjectToken | undefined): Actor | undefined {
  if (!actor) return subject.actor
  return { sub: actor.userId, ...(subject.actor && { act: subject.actor }) }
}

/** Each is asked for at every use of a token, and an actor makes every token longer. */
const exchangesMax = 10

/** Whether a token has come through as many exchanges as there may be. */
const isTooDeep = (cx: Cx, presented: SubjectToken | undefined): boolean =>
  depthOf(cx, presented) >= exchangesMax

function depthOf(cx: Cx, presented: SubjectToken | undefined): number {
  const [kind, ...id] = presented?.grantId.split("/") ?? []
  if (kind !== "exchange") return 0
  const given = cx.store.state(cx, exchange, id.join("/"))
  return given.status === "absent" ? 0 : (given.depth ?? 1)
}

const tooDeepError = (name: Name) => unacceptableError(name, about(name, "token.exchanged"))

/** RFC 8693 §2.2.2: one answer whatever is wrong with a token, and whoever may not act for whom. */
const unacceptableError = (name: Name, finding: Finding) =>
  new OAuthError(
    "invalid_request",
    name === "subject_token"
      ? "subject_token is not valid, not of its type, or not for this client"
      : "actor_token is not valid, not of its type, not for this client, or may not act for them",
    { finding },
  )
