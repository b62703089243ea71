import { findClient, noteUse } from "../../domain/app/index.ts"
import {
  allowedSession,
  answerRequest,
  exchangeCode,
  isForCode,
  lastWithdrawal,
  type Requested,
} from "../../domain/grant/index.ts"
import type { Session } from "../../domain/session/index.ts"
import type { Cx, Transaction } from "../../store/index.ts"
import { writeCode, writeWholeCode } from "../code.ts"
import { consentedAmong } from "../token/audience.ts"
import { type Allowed, issue, issueIdToken } from "../token/issue.ts"
import { lifetimesOf } from "../token/lifetime.ts"
import { projectsInIdToken } from "../token/scope.ts"
import { identityOf } from "./identity.ts"

/** A request that the person of a session may have answered. */
export type Ready = {
  readonly id: string
  readonly asked: Requested
  readonly sessionId: string
  /** Keeps a request that is new, as the first part of the same step. */
  readonly keep?: (tx: Transaction) => void
}

type Fields = Readonly<Record<string, string>>

/**
 * Answers a request with what it asked for: a code, or the tokens themselves, which hang from a
 * grant that is added in the same step. Undefined where the session has ended meanwhile.
 */
export async function complete(cx: Cx, ready: Ready): Promise<Fields | undefined> {
  const { id, asked, sessionId, keep } = ready
  if (asked.testedBy !== undefined) throw new Error("a test is answered with a page alone")
  // A pushed request is used up in the step that answers it, so that one is written anyway.
  if (keep && isForCode(asked) && !asked.pushed) {
    const step = await cx.store.transact(cx, (tx) => {
      if (!allowedSession(cx, tx, ready)) return undefined
      return { codeAt: tx.now, ...lastWithdrawal(tx, sessionId, asked.appId) }
    })
    if (step.value === undefined) return undefined
    const code = writeWholeCode(cx, id, { asked, sessionId, ...step.value })
    if (code !== undefined) return { code }
  }
  const lifetime = { accessLifetimeSeconds: lifetimesOf(cx, asked.clientId).access }
  const step = await cx.store.transact(cx, (tx) => {
    const session = allowedSession(cx, tx, ready)
    if (!session) return undefined
    keep?.(tx)
    answerRequest(tx, id, sessionId)
    if (isForCode(asked)) return { session, grantId: "" }
    const { clientId, appId, scopes, leftOut, audience, foreign, claims } = asked
    const consented = consentedAmong(cx, session.userId, foreign)
    const given = { clientId, appId, scopes, leftOut, audience, consented, claims }
    return { session, grantId: exchangeCode(tx, { id }, { ...given, session, ...lifetime }) }
  })
  if (!step.value) return undefined
  if (isForCode(asked)) return { code: writeCode(cx, { id }) }
  return tokensOf(cx, ready, step.value)
}

type Granted = { readonly grantId: string; readonly session: Session }

/** OpenID Connect Core §3.2.2.5. Nothing here is bound to a key: no proof comes with a redirect. */
async function tokensOf(cx: Cx, ready: Ready, { grantId, session }: Granted): Promise<Fields> {
  const { asked, sessionId } = ready
  const { clientId, audience, scopes } = asked
  const state = findClient(cx, clientId)?.state
  if (state?.kind !== "oidc") throw new Error("an application was removed within one step")
  const { tokenType, clockSkewSeconds, idTokenUserinfoAssertion } = state.oidc
  const alone = asked.responseType === "id_token"
  const projects = projectsInIdToken(cx, state)
  // OpenID Connect Core §5.4: without an access token, userinfo can't be asked for the claims.
  const withUserClaims = alone || idTokenUserinfoAssertion
  const allowed: Allowed = {
    grantId,
    userId: session.userId,
    clientId,
    audience,
    scopes,
    tokenType,
    clockSkewSeconds,
    identity: identityOf(asked, { sessionId, session, projects, withUserClaims }),
  }
  await noteUse(cx, clientId)
  const answer = alone ? await issueIdToken(cx, allowed) : await issue(cx, allowed)
  return Object.fromEntries(Object.entries(answer).map(([name, value]) => [name, String(value)]))
}
