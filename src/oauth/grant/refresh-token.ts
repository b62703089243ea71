import { findApiByResource } from "../../domain/app/index.ts"
import {
  type Grant as Given,
  grant,
  type RefreshFailure,
  refreshGrant,
} from "../../domain/grant/index.ts"
import { type Cause, findingWithoutValue } from "../../domain/refusal/index.ts"
import type { Cx } from "../../store/index.ts"
import type { AuthenticatedApp } from "../client/authentication.ts"
import { OAuthError } from "../error.ts"
import { type Parameters, requireParameter, splitWords } from "../parameters.ts"
import { isActive } from "../token/active.ts"
import { currentAudience } from "../token/audience.ts"
import { lifetimesOf } from "../token/lifetime.ts"
import { openRefreshToken, sealRefreshToken } from "../token/refresh.ts"
import {
  audienceOf,
  isPlain,
  projectsInIdToken,
  scopeError,
  withoutManagementApi,
} from "../token/scope.ts"
import { refreshedParent } from "../token/token-parent.ts"
import type { Grant } from "./grant.ts"
import { requireRegisteredGrant } from "./registered-grant.ts"

/** RFC 6749 §6 and OpenID Connect Core §12, with the rotation of RFC 9700 §4.14.2. */
export const refreshToken: Grant = {
  name: "refresh_token",
  client: "authenticated",
  allow: async (cx, { parameters, client, proof, narrow }) => {
    const application = requireRegisteredGrant(client, "refresh_token")
    const { state, clientId } = application
    const presented = openRefreshToken(cx, requireParameter(parameters, "refresh_token"))
    if (!presented) throw invalidTokenError("refresh.not_ours")
    const { grantId, generation } = presented
    const grantState = requireOwnGrant(cx, application, grantId)
    const scopes = parseScopes(grantState, parameters)
    const { userId } = grantState
    const tokenParents = { grantId: refreshedParent(cx, grantId), userId, clientId }
    // While something is only deactivated, such as an organization, the token must not be used up.
    if (!isActive(cx, tokenParents)) throw invalidTokenError("refresh.stopped")

    const wide = audienceFor(cx, { given: grantState, scopes, projectId: state.projectId })
    const open = currentAudience(cx, { ...tokenParents, audience: wide })
    const allowed = isPlain(scopes, state) ? withoutManagementApi(cx, open) : open
    const audience = narrow({ audience: allowed, clientId, userId })
    const { access, refreshIdle, refreshGrace } = lifetimesOf(cx, clientId)
    const renewal = {
      generation,
      clientId,
      scopes,
      jkt: proof?.jkt,
      idleLifetimeSeconds: refreshIdle,
      accessLifetimeSeconds: access,
      graceSeconds: refreshGrace,
    }
    const step = await cx.store.transact(cx, (tx) => refreshGrant(tx, grantId, renewal))
    const renewed = step.value
    if (typeof renewed === "string") throw invalidTokenError(causesByFailure[renewed])
    const projects = projectsInIdToken(cx, state)
    return {
      userId,
      clientId,
      audience,
      grantId: refreshedParent(cx, grantId),
      scopes,
      tokenType: state.oidc.tokenType,
      clockSkewSeconds: state.oidc.clockSkewSeconds,
      refreshToken: sealRefreshToken(cx, { grantId, generation: renewed }),
      // OpenID Connect Core §12.2: the claims of the original sign-in, without its nonce.
      identity: {
        audience: [clientId, ...projects],
        sessionId: grantState.sessionId,
        authTime: grantState.authTime,
        methods: grantState.methods,
        withUserClaims: state.oidc.idTokenUserinfoAssertion,
        ...(grantState.claims && { requested: grantState.claims.idToken }),
      },
    }
  },
}

type ExistingGrant = Exclude<Given, { status: "absent" }>

/** RFC 6749 §10.4: only the client that the refresh token was issued to can use it. */
function requireOwnGrant(cx: Cx, { state }: AuthenticatedApp, grantId: string): ExistingGrant {
  const grantState = cx.store.state(cx, grant, grantId)
  if (grantState.status === "absent") throw invalidTokenError("refresh.over")
  if (grantState.clientId !== state.clientId) throw invalidTokenError("refresh.other_client")
  if (grantState.status === "ended") throw invalidTokenError("refresh.ended")
  return grantState
}

const causesByFailure = {
  ended: "refresh.ended",
  expired: "refresh.expired",
  "other key": "token.bound",
} as const satisfies Record<RefreshFailure, Cause>

/**
 * RFC 6749 §6: a subset of the granted scopes, for this response only; by default all. Scopes that
 * were dropped from the original request are dropped again.
 */
function parseScopes(
  { scopes, leftOut = [] }: ExistingGrant,
  parameters: Parameters,
): readonly string[] {
  const words = splitWords(parameters.get("scope"))
  if (words.length === 0) return scopes
  const requested = words.filter((scope) => !leftOut.includes(scope))
  if (requested.length > 0 && requested.every((scope) => scopes.includes(scope))) return requested
  throw scopeError("scope contains more than was granted", parameters, scopes)
}

type RequestedTokens = {
  readonly given: ExistingGrant
  readonly scopes: readonly string[]
  readonly projectId: string
}

/**
 * Without a scope, the projects that it added to the audience are omitted, too. Projects from the
 * parameter resource remain.
 */
function audienceFor(
  cx: Cx,
  { given: grantState, scopes, projectId }: RequestedTokens,
): readonly string[] {
  if (scopes.length === grantState.scopes.length) return grantState.audience
  const resourceProjects = grantState.audience.flatMap(
    (id) => findApiByResource(cx, id)?.projectId ?? [],
  )
  const remaining = [projectId, ...resourceProjects, ...audienceOf(cx, scopes)]
  const dropped = audienceOf(cx, grantState.scopes).filter((id) => !remaining.includes(id))
  return grantState.audience.filter((id) => !dropped.includes(id))
}

/** The same error for every invalid token: unknown, expired, replaced, or of another client. */
const invalidTokenError = (cause: Cause) =>
  new OAuthError("invalid_grant", "the refresh token is invalid or has expired", {
    finding: findingWithoutValue("refresh_token", cause),
  })
