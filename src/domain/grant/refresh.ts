import type { Cx, Draft, Transaction } from "../../store/index.ts"
import { vouchesFor } from "../idp/index.ts"
import { session, soleVoucherOf } from "../session/index.ts"
import { isSignInCurrent, passwordVersion } from "../user-lookup/index.ts"
import { createReader } from "../user-model/index.ts"
import { endGrant } from "./commands.ts"
import { recordIssuedTokens } from "./issuance.ts"
import { type Grant, type GrantEvent, grant, offlineExpiryOf } from "./model.ts"
import { recordApplicationUse } from "./use.ts"

/** The use of a refresh token. */
export type RefreshInput = {
  /** The generation of the presented token. */
  readonly generation: number
  readonly clientId: string
  /** Scopes of the new tokens, a subset of those granted; for the audit log. */
  readonly scopes: readonly string[]
  /** Thumbprint of the key that the client proved possession of. */
  readonly jkt: string | undefined
  readonly idleLifetimeSeconds: number
  readonly accessLifetimeSeconds: number
  /**
   * How long the previous generation is still accepted, so that a client can repeat a request whose
   * response was lost.
   */
  readonly graceSeconds: number
}

/**
 * Whether a user's grant outlives its session. The grant ends with a new password, when the only
 * provider that the sign-in relied on is removed, and when the provider can no longer vouch for the
 * user because of a role.
 */
export function outlivesSession(cx: Cx, userId: string, grantState: Grant): boolean {
  if (grantState.status === "absent" || !grantState.offline) return false
  if (!isOfflineCurrent(cx, userId, grantState)) return false
  // Grants of older versions don't contain the provider; their session does while it is stored.
  const soleVoucher = soleVoucherOf(cx.store.state(cx, session, grantState.sessionId))
  const voucher = grantState.offline.voucher ?? soleVoucher
  return voucher === undefined || vouchesFor(cx, userId, voucher)
}

/** Whether the credentials that the user of a grant signed in with are unchanged. */
export function isOfflineCurrent(
  cx: Cx,
  userId: string,
  { sessionId, offline }: Pick<Exclude<Grant, { status: "absent" }>, "sessionId" | "offline">,
): boolean {
  if (!offline) return false
  const { passwordVersion: version } = offline
  if (version === passwordVersion(cx, userId)) return true
  return isSignInCurrent(createReader(cx), userId, { sessionId, passwordVersion: version })
}

/** Why a grant can't be refreshed: it has ended or expired, or is bound to another key. */
export type RefreshFailure = "ended" | "expired" | "other key"

/**
 * RFC 9700 §4.14.2: every use of a refresh token creates its next generation, and only the newest
 * is valid. Returns the valid generation. During the grace period, the previous generation returns
 * the current one, so that concurrent uses don't fork the token; after it, reuse indicates theft
 * and ends the grant. Otherwise returns why the grant can't be refreshed.
 */
export function refreshGrant(
  tx: Transaction,
  id: string,
  input: RefreshInput,
): number | RefreshFailure {
  const state = tx.state(grant, id)
  if (state.status !== "active" || !state.offline) return "ended"
  const { offline } = state
  // RFC 6749 §10.4 and RFC 9449 §5: bound to the client, and to the key of a client without a
  // secret.
  if (state.clientId !== input.clientId) return "ended"
  if (offline.jkt !== undefined && offline.jkt !== input.jkt) return "other key"
  if (tx.now >= offlineExpiryOf(offline)) return "expired"
  if (input.generation > offline.generation) return "ended"

  const graceEnds = offline.renewed + input.graceSeconds * 1000
  const isWithinGrace = input.generation === offline.generation - 1 && tx.now < graceEnds
  if (!isWithinGrace && input.generation < offline.generation) {
    endGrant(tx, id, "refresh token was reused")
    return "ended"
  }
  const { clientId, scopes } = input
  const { userId } = state
  recordIssuedTokens(tx, id, { grantId: id, clientId, userId, grantType: "refresh_token", scopes })
  recordApplicationUse(tx, userId, state.appId)
  if (isWithinGrace) return offline.generation

  const { idleLifetimeSeconds, accessLifetimeSeconds } = input
  const generation = offline.generation + 1
  const renewed: Draft<GrantEvent> = {
    type: "oidc_session.refresh_token.renewed",
    data: { generation, idleLifetimeSeconds, accessLifetimeSeconds },
  }
  tx.append(grant, id, [renewed])
  return generation
}
