import { Fault } from "../../kernel/fault.ts"
import { type Cx, type Transaction, writeReadableByAll } from "../../store/index.ts"
import { app } from "../app/index.ts"
import { requireInstance } from "../instance/index.ts"
import { findSession } from "../session/index.ts"
import { endGrant } from "./commands.ts"
import { applicationConsents, consentsId } from "./consent/model.ts"
import { listValidConsents, withdrawConsent } from "./consent/remember.ts"
import { consentedAppIds } from "./consent/view.ts"
import { type Grant, grant, offlineExpiryOf } from "./model.ts"
import { outlivesSession } from "./refresh.ts"
import { applicationUse, applicationUseId } from "./use.ts"
import { grantIdsOf } from "./view.ts"

/**
 * An application that can act for a user, with everything they have granted it. Times are ms UTC.
 */
export type ConnectedApp = {
  readonly appId: string
  readonly name: string
  readonly scopes: readonly string[]
  /** Projects of other organizations that the user allowed explicitly. */
  readonly projects: readonly string[]
  /** Whether access continues after the user has signed out. */
  readonly isOffline: boolean
  readonly since: number
  readonly lastUsed: number
  /** When a remembered consent expires; absent if the user is asked each time. */
  readonly consentUntil?: number
}

/** The applications that can act for a user, last used first, without the console. */
export function connectedApps(cx: Cx, userId: string): readonly ConnectedApp[] {
  const byApp = new Map<string, ConnectedApp>()
  for (const id of grantIdsOf(cx, userId)) {
    const one = connectedByGrant(cx, userId, id)
    if (!one) continue
    const before = byApp.get(one.appId)
    byApp.set(one.appId, before ? merge(before, one) : one)
  }
  for (const appId of consentedAppIds(cx, userId)) {
    const one = rememberedConsentOf(cx, userId, appId)
    if (!one) continue
    const before = byApp.get(appId)
    const { consentUntil } = one
    byApp.set(appId, before ? { ...before, consentUntil } : one)
  }
  return [...byApp.values()].sort((a, b) => b.lastUsed - a.lastUsed)
}

/** What one grant allows; undefined if it is no longer usable or belongs to the console. */
function connectedByGrant(cx: Cx, userId: string, id: string): ConnectedApp | undefined {
  const grantState = cx.store.state(cx, grant, id)
  if (!isUsable(cx, userId, grantState)) return undefined
  const { appId, scopes, consented = [], offline } = grantState
  const on = cx.store.state(cx, app, appId)
  if (!("projectId" in on) || on.projectId === requireInstance(cx).projectId) return undefined
  const created = cx.store.receipt(cx, grant, id)?.created ?? 0
  const used = cx.store.state(cx, applicationUse, applicationUseId(userId, appId)).last
  return {
    appId,
    name: on.name,
    scopes,
    projects: consented,
    since: created,
    isOffline: offline !== undefined && isRenewable(cx, userId, grantState),
    lastUsed: Math.max(created, offline?.renewed ?? 0, used),
  }
}

/** What an application can obtain without asking the user again; undefined if nothing. */
function rememberedConsentOf(cx: Cx, userId: string, appId: string) {
  const consents = listValidConsents(cx, userId, appId)
  const state = cx.store.state(cx, app, appId)
  if (consents.length === 0 || !("projectId" in state)) return undefined
  const used = cx.store.state(cx, applicationUse, applicationUseId(userId, appId)).last
  const { name } = state
  return {
    appId,
    name,
    isOffline: false,
    scopes: [...new Set(consents.flatMap(({ scopes }) => scopes))],
    projects: [...new Set(consents.flatMap(({ projects }) => projects))],
    since: Math.min(...consents.map(({ given: grantState }) => grantState)),
    lastUsed: Math.max(used, ...consents.map(({ given: grantState }) => grantState)),
    consentUntil: Math.max(...consents.map(({ expires }) => expires)),
  }
}

type ExistingGrant = Exclude<Grant, { status: "absent" }>

/** A grant is usable while its session is active, or while its refresh token is valid. */
const isUsable = (cx: Cx, userId: string, grantState: Grant): grantState is ExistingGrant =>
  grantState.status === "active" &&
  grantState.userId === userId &&
  (findSession(cx, grantState.sessionId) !== undefined || isRenewable(cx, userId, grantState))

const isRenewable = (cx: Cx, userId: string, grantState: ExistingGrant): boolean =>
  grantState.offline !== undefined &&
  cx.clock.now() < offlineExpiryOf(grantState.offline) &&
  outlivesSession(cx, userId, grantState)

const merge = (a: ConnectedApp, b: ConnectedApp): ConnectedApp => ({
  ...a,
  scopes: [...new Set([...a.scopes, ...b.scopes])],
  projects: [...new Set([...a.projects, ...b.projects])],
  isOffline: a.isOffline || b.isOffline,
  since: Math.min(a.since, b.since),
  lastUsed: Math.max(a.lastUsed, b.lastUsed),
})

/**
 * Revokes everything that a user has granted to an application, with its tokens, codes and
 * remembered consents; returns the time in ms UTC. Throws if the application has no access to this
 * account, or if it does not exist.
 */
export async function disconnectApp(
  cx: Cx,
  userId: string,
  appId: string,
  reason: string,
): Promise<number> {
  const endGrants = (tx: Transaction): number => {
    const grantIds = grantIdsOf(cx, userId).filter((id) => {
      const grantState = tx.state(grant, id)
      return (
        grantState.status === "active" && grantState.userId === userId && grantState.appId === appId
      )
    })
    const { remembered } = tx.state(applicationConsents, consentsId(userId, appId))
    if (grantIds.length + remembered.length === 0) throw noAccessError()
    for (const id of grantIds) endGrant(tx, id, reason)
    return tx.now
  }
  const withdraw = (tx: Transaction): number => {
    const now = endGrants(tx)
    withdrawConsent(tx, userId, appId, reason)
    return now
  }
  // Older nodes remember no consents, and codes remain valid until they expire.
  const step = await writeReadableByAll(
    () => cx.store.transact(cx, withdraw),
    () => cx.store.transact(cx, endGrants),
  )
  return step.value
}

const noAccessError = () =>
  new Fault("not_found", "grant.missing", "the application has no access to this account")
