import type { OidcApp } from "../../domain/app/index.ts"
import {
  addGrant,
  deviceAuthorization,
  finishDevice,
  isWithdrawn,
} from "../../domain/grant/index.ts"
import { type Cause, findingWithoutValue } from "../../domain/refusal/index.ts"
import { findUsableSession } from "../../domain/session/index.ts"
import type { Cx, Transaction } from "../../store/index.ts"
import type { AuthenticatedApp } from "../client/authentication.ts"
import type { DpopProof } from "../client/proof.ts"
import { openDeviceCode } from "../device/code.ts"
import { isPollingTooFast } from "../device/polling.ts"
import { OAuthError } from "../error.ts"
import { requireParameter } from "../parameters.ts"
import type { Narrow } from "../token/audience.ts"
import { consentedAmong } from "../token/audience.ts"
import type { Issuance } from "../token/issue.ts"
import { type Lifetimes, lifetimesOf } from "../token/lifetime.ts"
import { offlineAccessOf, sealRefreshToken } from "../token/refresh.ts"
import { projectsInIdToken } from "../token/scope.ts"
import type { Grant } from "./grant.ts"
import { requireRegisteredGrant } from "./registered-grant.ts"

/** RFC 8628 §3.4: a device fetches its tokens after the user has approved it. */
export const deviceCode: Grant = {
  name: "urn:ietf:params:oauth:grant-type:device_code",
  client: "authenticated",
  allow: async (cx, { parameters, client, proof, narrow }) => {
    const application = requireRegisteredGrant(client, "device_code")
    const { state, clientId } = application
    const id = openDeviceCode(cx, requireParameter(parameters, "device_code"))
    if (id === undefined) throw invalidCodeError("code.not_ours")
    const redemption = {
      id,
      client: application,
      oidc: state.oidc,
      proof,
      narrow,
      projects: projectsInIdToken(cx, state),
      lifetimes: lifetimesOf(cx, clientId),
    }
    const step = await cx.store.transact(cx, (tx) => redeemInTransaction(cx, tx, redemption))
    const { offline, ...issuance } = step.value
    if (!offline) return issuance
    const first = { grantId: issuance.grantId, generation: 1 }
    return { ...issuance, refreshToken: sealRefreshToken(cx, first) }
  },
}

type DeviceRedemption = {
  readonly id: string
  readonly client: AuthenticatedApp
  readonly oidc: OidcApp["oidc"]
  readonly proof: DpopProof | undefined
  readonly narrow: Narrow
  /** Projects in the audience of the ID token, in addition to the client. */
  readonly projects: readonly string[]
  readonly lifetimes: Lifetimes
}

/** `offline`: with a refresh token. */
type RedeemedCode = Issuance & { readonly offline: boolean }

/**
 * Marks the code as used and adds the grant, in one transaction. Throws if the code can't be used
 * (RFC 8628 §3.5).
 */
function redeemInTransaction(cx: Cx, tx: Transaction, redemption: DeviceRedemption): RedeemedCode {
  const { id, client, oidc, proof, lifetimes } = redemption
  const state = tx.state(deviceAuthorization, id)
  if (state.status === "absent") throw invalidCodeError("code.over")
  if (state.clientId !== client.clientId) throw invalidCodeError("code.other_client")
  if (state.status === "done") throw invalidCodeError("code.used")
  if (state.status === "denied")
    throw new OAuthError("access_denied", "the user denied the request")
  if (tx.now >= state.expires) {
    throw new OAuthError("expired_token", "the code has expired", {
      finding: findingWithoutValue("device_code", "device.old"),
    })
  }
  if (state.status !== "approved") throw pendingError(cx, id)
  // RFC 9449 §5: a request that began with a key must end with it.
  if (state.jkt !== undefined && state.jkt !== proof?.jkt) {
    throw new OAuthError("invalid_dpop_proof", "the code is bound to another key")
  }
  const session = findUsableSession(tx, state.sessionId)
  if (!session) throw new OAuthError("access_denied", "the user has signed out meanwhile")
  const { clientId, appId, scopes, leftOut, audience, foreign, sessionId } = state
  if (isWithdrawn(tx, state, appId)) throw withdrawnError()
  const narrowed = redemption.narrow({ audience, clientId, userId: session.userId })
  const offline = offlineAccessOf({ client, scopes, proof, lifetimes })
  const grantId = addGrant(tx, {
    clientId,
    appId,
    scopes,
    leftOut,
    audience,
    sessionId,
    session,
    authTime: session.authTime,
    consented: consentedAmong(cx, session.userId, foreign),
    accessLifetimeSeconds: lifetimes.access,
    grantType: deviceCode.name,
    ...(offline && { offline }),
  })
  finishDevice(tx, id, grantId)
  return {
    grantId,
    userId: session.userId,
    clientId,
    audience: narrowed,
    scopes,
    offline: offline !== undefined,
    tokenType: oidc.tokenType,
    clockSkewSeconds: oidc.clockSkewSeconds,
    identity: {
      audience: [clientId, ...redemption.projects],
      sessionId,
      authTime: session.authTime,
      methods: session.methods,
      withUserClaims: oidc.idTokenUserinfoAssertion,
    },
  }
}

const pendingError = (cx: Cx, id: string): OAuthError =>
  isPollingTooFast(cx, id)
    ? new OAuthError("slow_down", "increase the polling interval by 5 seconds")
    : new OAuthError("authorization_pending", "the user has not approved the request yet")

const withdrawnError = () => new OAuthError("access_denied", "the user has withdrawn the access")

/** The same error for every invalid code: unknown, used, or of another client. */
const invalidCodeError = (cause: Cause) =>
  new OAuthError("invalid_grant", "the device_code is invalid or has expired", {
    finding: findingWithoutValue("device_code", cause),
  })
