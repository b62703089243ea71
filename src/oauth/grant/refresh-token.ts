import { apiAt } from "../../domain/app/index.ts"
import {
  type Grant as Given,
  grant,
  type RenewalEnd,
  renewGrant,
} from "../../domain/grant/index.ts"
import { about, type Cause } from "../../domain/refusal/index.ts"
import type { Cx } from "../../store/index.ts"
import type { AuthenticatedApp } from "../client/authentication.ts"
import { OAuthError } from "../error.ts"
import { type Parameters, required, wordsOf } from "../request.ts"
import { isActive } from "../token/active.ts"
import { openAudience } from "../token/audience.ts"
import { lifetimesOf } from "../token/lifetime.ts"
import { readRefreshToken, writeRefreshToken } from "../token/refresh.ts"
import { audienceOf, isPlain, projectsInIdToken, scopeError, withoutOurs } from "../token/scope.ts"
import { refreshedParent } from "../token/token-parent.ts"
import type { Grant } from "./grant.ts"
import { applicationFor } from "./registered.ts"

/** RFC 6749 §6 and OpenID Connect Core §12, with the rotation of RFC 9700 §4.14.2. */
export const refreshToken: Grant = {
  name: "refresh_token",
  client: "authenticated",
  allow: async (cx, { parameters, client, proof, narrow }) => {
    const application = applicationFor(client, "refresh_token")
    const { state, clientId } = application
    const shown = readRefreshToken(cx, required(parameters, "refresh_token"))
    if (!shown) throw wrongTokenError("refresh.not_ours")
    const { grantId, generation } = shown
    const given = givenTo(cx, application, grantId)
    const scopes = scopesOf(given, parameters)
    const { userId } = given
    const hanging = { grantId: refreshedParent(cx, grantId), userId, clientId }
    // What may come to life again, as an organisation, must not use up the token meanwhile.
    if (!isActive(cx, hanging)) throw wrongTokenError("refresh.stopped")

    const wide = audienceFor(cx, { given, scopes, projectId: state.projectId })
    const open = openAudience(cx, { ...hanging, audience: wide })
    const allowed = isPlain(scopes, state) ? withoutOurs(cx, open) : open
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
    const step = await cx.store.transact(cx, (tx) => renewGrant(tx, grantId, renewal))
    const renewed = step.value
    if (typeof renewed === "string") throw wrongTokenError(causes[renewed])
    const projects = projectsInIdToken(cx, state)
    return {
      userId,
      clientId,
      audience,
      grantId: refreshedParent(cx, grantId),
      scopes,
      tokenType: state.oidc.tokenType,
      clockSkewSeconds: state.oidc.clockSkewSeconds,
      refreshToken: writeRefreshToken(cx, { grantId, generation: renewed }),
      // OpenID Connect Core §12.2: of the sign-in that was, and without its nonce.
      identity: {
        audience: [clientId, ...projects],
        sessionId: given.sessionId,
        authTime: given.authTime,
        methods: given.methods,
        withUserClaims: state.oidc.idTokenUserinfoAssertion,
        ...(given.claims && { requested: given.claims.idToken }),
      },
    }
  },
}

type There = Exclude<Given, { status: "absent" }>

/** RFC 6749 §10.4: a refresh token is worth something only to the client it was issued to. */
function givenTo(cx: Cx, { state }: AuthenticatedApp, grantId: string): There {
  const given = cx.store.state(cx, grant, grantId)
  if (given.status === "absent") throw wrongTokenError("refresh.over")
  if (given.clientId !== state.clientId) throw wrongTokenError("refresh.other_client")
  if (given.status === "ended") throw wrongTokenError("refresh.ended")
  return given
}

const causes = {
  ended: "refresh.ended",
  expired: "refresh.expired",
  "other key": "token.bound",
} as const satisfies Record<RenewalEnd, Cause>

/**
 * RFC 6749 §6: fewer scopes than were granted, for this answer alone; without a wish, all. What was
 * left out of the first request is left out again.
 */
function scopesOf({ scopes, leftOut = [] }: There, parameters: Parameters): readonly string[] {
  const words = wordsOf(parameters.get("scope"))
  if (words.length === 0) return scopes
  const asked = words.filter((scope) => !leftOut.includes(scope))
  if (asked.length > 0 && asked.every((scope) => scopes.includes(scope))) return asked
  throw scopeError("scope names more than was granted", parameters, scopes)
}

type Wanted = {
  readonly given: There
  readonly scopes: readonly string[]
  readonly projectId: string
}

/**
 * With the scopes that are left out go the projects that they had put into the audience. What the
 * parameter resource had put there stays.
 */
function audienceFor(cx: Cx, { given, scopes, projectId }: Wanted): readonly string[] {
  if (scopes.length === given.scopes.length) return given.audience
  const named = given.audience.flatMap((id) => apiAt(cx, id)?.projectId ?? [])
  const kept = [projectId, ...named, ...audienceOf(cx, scopes)]
  const dropped = audienceOf(cx, given.scopes).filter((id) => !kept.includes(id))
  return given.audience.filter((id) => !dropped.includes(id))
}

/** One answer for every token that isn't good: unknown, expired, replaced or someone else's. */
const wrongTokenError = (cause: Cause) =>
  new OAuthError("invalid_grant", "the refresh token is not valid (any more)", {
    finding: about("refresh_token", cause),
  })
