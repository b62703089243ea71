import { Fault } from "../../kernel/fault.ts"
import { type Cx, readableByAll, type Transaction } from "../../store/index.ts"
import { app } from "../app/index.ts"
import { requireInstance } from "../instance/index.ts"
import { sessionNow } from "../session/index.ts"
import { endGrant } from "./commands.ts"
import { applicationConsents, consentsId } from "./consent/model.ts"
import { consentsNow, withdrawConsent } from "./consent/remember.ts"
import { consentedApps } from "./consent/view.ts"
import { type Grant, grant, offlineUntil } from "./model.ts"
import { outlivesSession } from "./refresh.ts"
import { applicationUse, pairId } from "./use.ts"
import { grantsOf } from "./view.ts"

/** An application that can act for a person, by all that they have granted it; times are ms UTC. */
export type Connected = {
  readonly appId: string
  readonly name: string
  readonly scopes: readonly string[]
  /** Projects of others that they have allowed by name. */
  readonly projects: readonly string[]
  /** Whether it stays when they have signed out. */
  readonly isOffline: boolean
  readonly since: number
  readonly lastUsed: number
  /** Until when its user is not asked again for what they have allowed; absent: each time. */
  readonly consentUntil?: number
}

/** The applications that can act for a person, the last used first; the console is none of them. */
export function connectedApps(cx: Cx, userId: string): readonly Connected[] {
  const byApp = new Map<string, Connected>()
  for (const id of grantsOf(cx, userId)) {
    const one = connectedBy(cx, userId, id)
    if (!one) continue
    const before = byApp.get(one.appId)
    byApp.set(one.appId, before ? joined(before, one) : one)
  }
  for (const appId of consentedApps(cx, userId)) {
    const one = rememberedBy(cx, userId, appId)
    if (!one) continue
    const before = byApp.get(appId)
    const { consentUntil } = one
    byApp.set(appId, before ? { ...before, consentUntil } : one)
  }
  return [...byApp.values()].sort((a, b) => b.lastUsed - a.lastUsed)
}

/** What one grant is good for; undefined where it is good for nothing, or is the console's. */
function connectedBy(cx: Cx, userId: string, id: string): Connected | undefined {
  const given = cx.store.state(cx, grant, id)
  if (!isUsable(cx, userId, given)) return undefined
  const { appId, scopes, consented = [], offline } = given
  const on = cx.store.state(cx, app, appId)
  if (!("projectId" in on) || on.projectId === requireInstance(cx).projectId) return undefined
  const created = cx.store.receipt(cx, grant, id)?.created ?? 0
  const used = cx.store.state(cx, applicationUse, pairId(userId, appId)).last
  return {
    appId,
    name: on.name,
    scopes,
    projects: consented,
    since: created,
    isOffline: offline !== undefined && isRenewable(cx, userId, given),
    lastUsed: Math.max(created, offline?.renewed ?? 0, used),
  }
}

/** What an application can have without asking a user again; undefined where it is nothing. */
function rememberedBy(cx: Cx, userId: string, appId: string) {
  const consents = consentsNow(cx, userId, appId)
  const state = cx.store.state(cx, app, appId)
  if (consents.length === 0 || !("projectId" in state)) return undefined
  const used = cx.store.state(cx, applicationUse, pairId(userId, appId)).last
  const { name } = state
  return {
    appId,
    name,
    isOffline: false,
    scopes: [...new Set(consents.flatMap(({ scopes }) => scopes))],
    projects: [...new Set(consents.flatMap(({ projects }) => projects))],
    since: Math.min(...consents.map(({ given }) => given)),
    lastUsed: Math.max(used, ...consents.map(({ given }) => given)),
    consentUntil: Math.max(...consents.map(({ expires }) => expires)),
  }
}

type Given = Exclude<Grant, { status: "absent" }>

/** A grant counts with its session, or by what renews it. */
const isUsable = (cx: Cx, userId: string, given: Grant): given is Given =>
  given.status === "active" &&
  given.userId === userId &&
  (sessionNow(cx, given.sessionId) !== undefined || isRenewable(cx, userId, given))

const isRenewable = (cx: Cx, userId: string, given: Given): boolean =>
  given.offline !== undefined &&
  cx.clock.now() < offlineUntil(given.offline) &&
  outlivesSession(cx, userId, given)

const joined = (a: Connected, b: Connected): Connected => ({
  ...a,
  scopes: [...new Set([...a.scopes, ...b.scopes])],
  projects: [...new Set([...a.projects, ...b.projects])],
  isOffline: a.isOffline || b.isOffline,
  since: Math.min(a.since, b.since),
  lastUsed: Math.max(a.lastUsed, b.lastUsed),
})

/**
 * Ends all that a person has granted to an application, with its tokens, its codes and what is
 * remembered of their consent, and answers when. Refuses where it has nothing of theirs; another's
 * answers the same.
 */
export async function disconnectApp(
  cx: Cx,
  userId: string,
  appId: string,
  reason: string,
): Promise<number> {
  const end = (tx: Transaction): number => {
    const theirs = grantsOf(cx, userId).filter((id) => {
      const given = tx.state(grant, id)
      return given.status === "active" && given.userId === userId && given.appId === appId
    })
    const { remembered } = tx.state(applicationConsents, consentsId(userId, appId))
    if (theirs.length + remembered.length === 0) throw missingError()
    for (const id of theirs) endGrant(tx, id, reason)
    return tx.now
  }
  const withdraw = (tx: Transaction): number => {
    const now = end(tx)
    withdrawConsent(tx, userId, appId, reason)
    return now
  }
  // While an older node is there, nothing is remembered, and codes are valid until they expire.
  const step = await readableByAll(
    () => cx.store.transact(cx, withdraw),
    () => cx.store.transact(cx, end),
  )
  return step.value
}

const missingError = () =>
  new Fault("not_found", "grant.missing", "the application has no access to this account")
