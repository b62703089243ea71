import { findClient, recordUse } from "../../domain/app/index.ts"
import {
  type AuthorizationRequest,
  completeAuthRequest,
  exchangeCode,
  findConsentingSession,
  isForCode,
  lastWithdrawal,
} from "../../domain/grant/index.ts"
import type { Session } from "../../domain/session/index.ts"
import type { Cx, Transaction } from "../../store/index.ts"
import { sealCode, sealSelfContainedCode } from "../code.ts"
import { consentedAmong } from "../token/audience.ts"
import { type IssueInput, issueIdToken, issueTokens } from "../token/issue.ts"
import { lifetimesOf } from "../token/lifetime.ts"
import { projectsInIdToken } from "../token/scope.ts"
import { identityOf } from "./identity.ts"

/** A request that can be completed with a session. */
export type CompletableRequest = {
  readonly id: string
  readonly asked: AuthorizationRequest
  readonly sessionId: string
  /** Stores a new request, as the first part of the same transaction. */
  readonly store?: (tx: Transaction) => void
}

type Fields = Readonly<Record<string, string>>

/**
 * Completes a request with a code, or with tokens whose grant is added in the same transaction.
 * Undefined if the session has ended meanwhile.
 */
export async function completeAuthorization(
  cx: Cx,
  ready: CompletableRequest,
): Promise<Fields | undefined> {
  const { id, asked, sessionId, store } = ready
  if (asked.testedBy !== undefined) throw new Error("a test ends with a page only")
  // A pushed request must be marked as used in the transaction that completes it, so a write is
  // needed anyway.
  if (store && isForCode(asked) && !asked.pushed) {
    const step = await cx.store.transact(cx, (tx) => {
      if (!findConsentingSession(cx, tx, ready)) return undefined
      return { codeAt: tx.now, ...lastWithdrawal(tx, sessionId, asked.appId) }
    })
    if (step.value === undefined) return undefined
    const code = sealSelfContainedCode(cx, id, { asked, sessionId, ...step.value })
    if (code !== undefined) return { code }
  }
  const lifetime = { accessLifetimeSeconds: lifetimesOf(cx, asked.clientId).access }
  const step = await cx.store.transact(cx, (tx) => {
    const session = findConsentingSession(cx, tx, ready)
    if (!session) return undefined
    store?.(tx)
    completeAuthRequest(tx, id, sessionId)
    if (isForCode(asked)) return { session, grantId: "" }
    const { clientId, appId, scopes, leftOut, audience, foreign, claims } = asked
    const consented = consentedAmong(cx, session.userId, foreign)
    const grantInput = { clientId, appId, scopes, leftOut, audience, consented, claims }
    return { session, grantId: exchangeCode(tx, { id }, { ...grantInput, session, ...lifetime }) }
  })
  if (!step.value) return undefined
  if (isForCode(asked)) return { code: sealCode(cx, { id }) }
  return tokensOf(cx, ready, step.value)
}

type GrantedSession = { readonly grantId: string; readonly session: Session }

/**
 * OpenID Connect Core §3.2.2.5. Tokens from this endpoint are not bound to a key, because a
 * redirect contains no proof.
 */
async function tokensOf(
  cx: Cx,
  ready: CompletableRequest,
  { grantId, session }: GrantedSession,
): Promise<Fields> {
  const { asked, sessionId } = ready
  const { clientId, audience, scopes } = asked
  const state = findClient(cx, clientId)?.state
  if (state?.kind !== "oidc") throw new Error("the application was removed within the transaction")
  const { tokenType, clockSkewSeconds, idTokenUserinfoAssertion } = state.oidc
  const alone = asked.responseType === "id_token"
  const projects = projectsInIdToken(cx, state)
  // OpenID Connect Core §5.4: without an access token, the client can't request the claims from
  // userinfo.
  const withUserClaims = alone || idTokenUserinfoAssertion
  const allowed: IssueInput = {
    grantId,
    userId: session.userId,
    clientId,
    audience,
    scopes,
    tokenType,
    clockSkewSeconds,
    identity: identityOf(asked, { sessionId, session, projects, withUserClaims }),
  }
  await recordUse(cx, clientId)
  const answer = alone ? await issueIdToken(cx, allowed) : await issueTokens(cx, allowed)
  return Object.fromEntries(Object.entries(answer).map(([name, value]) => [name, String(value)]))
}
