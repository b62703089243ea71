import type { OidcApp } from "../../domain/app/index.ts"
import {
  addGrant,
  deviceAuthorization,
  finishDevice,
  isWithdrawn,
} from "../../domain/grant/index.ts"
import { about, type Cause } from "../../domain/refusal/index.ts"
import { usableSession } from "../../domain/session/index.ts"
import type { Cx, Transaction } from "../../store/index.ts"
import type { AuthenticatedApp } from "../client/authentication.ts"
import type { Proof } from "../client/proof.ts"
import { readDeviceCode } from "../device/code.ts"
import { mustPollSlower } from "../device/polling.ts"
import { OAuthError } from "../error.ts"
import { required } from "../request.ts"
import type { Narrow } from "../token/audience.ts"
import { consentedAmong } from "../token/audience.ts"
import type { Issuance } from "../token/issue.ts"
import { type Lifetimes, lifetimesOf } from "../token/lifetime.ts"
import { offlineFor, writeRefreshToken } from "../token/refresh.ts"
import { projectsInIdToken } from "../token/scope.ts"
import type { Grant } from "./grant.ts"
import { applicationFor } from "./registered.ts"

/** RFC 8628 §3.4: a device fetches what a person has allowed elsewhere. */
export const deviceCode: Grant = {
  name: "urn:ietf:params:oauth:grant-type:device_code",
  client: "authenticated",
  allow: async (cx, { parameters, client, proof, narrow }) => {
    const application = applicationFor(client, "device_code")
    const { state, clientId } = application
    const id = readDeviceCode(cx, required(parameters, "device_code"))
    if (id === undefined) throw wrongCodeError("code.not_ours")
    const asked = {
      id,
      client: application,
      oidc: state.oidc,
      proof,
      narrow,
      projects: projectsInIdToken(cx, state),
      lifetimes: lifetimesOf(cx, clientId),
    }
    const step = await cx.store.transact(cx, (tx) => redeem(cx, tx, asked))
    const { offline, ...issuance } = step.value
    if (!offline) return issuance
    const first = { grantId: issuance.grantId, generation: 1 }
    return { ...issuance, refreshToken: writeRefreshToken(cx, first) }
  },
}

type Requested = {
  readonly id: string
  readonly client: AuthenticatedApp
  readonly oidc: OidcApp["oidc"]
  readonly proof: Proof | undefined
  readonly narrow: Narrow
  /** What stands in the id_token's audience beside the client. */
  readonly projects: readonly string[]
  readonly lifetimes: Lifetimes
}

/** `offline`: a refresh token goes with it. */
type Redeemed = Issuance & { readonly offline: boolean }

/** Uses up the code and adds the grant, in one step; or says why that can't be (RFC 8628 §3.5). */
function redeem(cx: Cx, tx: Transaction, asked: Requested): Redeemed {
  const { id, client, oidc, proof, lifetimes } = asked
  const state = tx.state(deviceAuthorization, id)
  if (state.status === "absent") throw wrongCodeError("code.over")
  if (state.clientId !== client.clientId) throw wrongCodeError("code.other_client")
  if (state.status === "done") throw wrongCodeError("code.used")
  if (state.status === "denied") throw new OAuthError("access_denied", "the person refused")
  if (tx.now >= state.expires) {
    throw new OAuthError("expired_token", "the code has expired", {
      finding: about("device_code", "device.old"),
    })
  }
  if (state.status !== "approved") throw waitingError(cx, id)
  // RFC 9449 §5: what began with a key ends with it.
  if (state.jkt !== undefined && state.jkt !== proof?.jkt) {
    throw new OAuthError("invalid_dpop_proof", "the code is bound to another key")
  }
  const session = usableSession(tx, state.sessionId)
  if (!session) throw new OAuthError("access_denied", "the person has signed out meanwhile")
  const { clientId, appId, scopes, leftOut, audience, foreign, sessionId } = state
  if (isWithdrawn(tx, state, appId)) throw withdrawnError()
  const narrowed = asked.narrow({ audience, clientId, userId: session.userId })
  const offline = offlineFor({ client, scopes, proof, lifetimes })
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
      audience: [clientId, ...asked.projects],
      sessionId,
      authTime: session.authTime,
      methods: session.methods,
      withUserClaims: oidc.idTokenUserinfoAssertion,
    },
  }
}

const waitingError = (cx: Cx, id: string): OAuthError =>
  mustPollSlower(cx, id)
    ? new OAuthError("slow_down", "wait 5 seconds longer between two tries")
    : new OAuthError("authorization_pending", "the person has not decided yet")

const withdrawnError = () =>
  new OAuthError("access_denied", "the user has withdrawn the access meanwhile")

/** One answer for every code that isn't good: unknown, used or someone else's. */
const wrongCodeError = (cause: Cause) =>
  new OAuthError("invalid_grant", "the device_code is not valid (any more)", {
    finding: about("device_code", cause),
  })
