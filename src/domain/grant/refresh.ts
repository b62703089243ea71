import type { Cx, Draft, Transaction } from "../../store/index.ts"
import { vouchesFor } from "../idp/index.ts"
import { session, soleVoucherOf } from "../session/index.ts"
import { isSignInCurrent, passwordVersion } from "../user-lookup/index.ts"
import { readerOf } from "../user-model/index.ts"
import { endGrant } from "./commands.ts"
import { noteIssued } from "./issuance.ts"
import { type Grant, type GrantEvent, grant, offlineUntil } from "./model.ts"
import { noteUse } from "./use.ts"

/** A use of a refresh token. */
export type Renewal = {
  /** Of the token that was shown. */
  readonly generation: number
  readonly clientId: string
  /** What the new tokens are for, of what was granted; for the audit. */
  readonly scopes: readonly string[]
  /** Of the key that the client showed that it holds. */
  readonly jkt: string | undefined
  readonly idleLifetimeSeconds: number
  readonly accessLifetimeSeconds: number
  /** How long the generation before still gets an answer, so that a lost answer harms nobody. */
  readonly graceSeconds: number
}

/**
 * Whether a grant of a user outlives its session. A new password ends it, and so does the removal
 * of the provider that the sign-in depended on, and a role with which the provider may not vouch
 * for the user any more: nothing else has said who the person is.
 */
export function outlivesSession(cx: Cx, userId: string, given: Grant): boolean {
  if (given.status === "absent" || !given.offline) return false
  if (!isOfflineCurrent(cx, userId, given)) return false
  // Grants of older versions do not name the provider; their session does while it is stored.
  const before = soleVoucherOf(cx.store.state(cx, session, given.sessionId))
  const voucher = given.offline.voucher ?? before
  return voucher === undefined || vouchesFor(cx, userId, voucher)
}

/** Whether nothing has ended what the user of a grant signed in under. */
export function isOfflineCurrent(
  cx: Cx,
  userId: string,
  { sessionId, offline }: Pick<Exclude<Grant, { status: "absent" }>, "sessionId" | "offline">,
): boolean {
  if (!offline) return false
  const { passwordVersion: version } = offline
  if (version === passwordVersion(cx, userId)) return true
  return isSignInCurrent(readerOf(cx), userId, { sessionId, passwordVersion: version })
}

/** Why a grant gives nothing more: it has ended, now or before, or wants the key it is bound to. */
export type RenewalEnd = "ended" | "expired" | "other key"

/**
 * RFC 9700 §4.14.2: every use of a refresh token makes the next generation of it, and only the
 * newest counts. Answers the generation that counts from now on. One that was replaced answers
 * that of its successor during the grace, so that many uses at once give one family; later it was
 * stolen from somebody, and the grant ends. Or it answers why there is nothing to be had.
 */
export function renewGrant(tx: Transaction, id: string, renewal: Renewal): number | RenewalEnd {
  const state = tx.state(grant, id)
  if (state.status !== "active" || !state.offline) return "ended"
  const { offline } = state
  // RFC 6749 §10.4 and RFC 9449 §5: bound to the client, and to the key of one without a secret.
  if (state.clientId !== renewal.clientId) return "ended"
  if (offline.jkt !== undefined && offline.jkt !== renewal.jkt) return "other key"
  if (tx.now >= offlineUntil(offline)) return "expired"
  if (renewal.generation > offline.generation) return "ended"

  const graceEnds = offline.renewed + renewal.graceSeconds * 1000
  const isLate = renewal.generation === offline.generation - 1 && tx.now < graceEnds
  if (!isLate && renewal.generation < offline.generation) {
    endGrant(tx, id, "refresh token used again")
    return "ended"
  }
  const { clientId, scopes } = renewal
  const { userId } = state
  noteIssued(tx, id, { grantId: id, clientId, userId, grantType: "refresh_token", scopes })
  noteUse(tx, userId, state.appId)
  if (isLate) return offline.generation

  const { idleLifetimeSeconds, accessLifetimeSeconds } = renewal
  const generation = offline.generation + 1
  const renewed: Draft<GrantEvent> = {
    type: "oidc_session.refresh_token.renewed",
    data: { generation, idleLifetimeSeconds, accessLifetimeSeconds },
  }
  tx.append(grant, id, [renewed])
  return generation
}
