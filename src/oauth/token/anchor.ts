import { isAppActive } from "../../domain/app/index.ts"
import { grant } from "../../domain/grant/index.ts"
import { sessionNow } from "../../domain/session/index.ts"
import { user } from "../../domain/user/index.ts"
import type { Cx } from "../../store/index.ts"

/**
 * What tokens hang from, beside their user: a person's grant, named by its id alone, or what a
 * service user came with, named by its kind and id.
 */
type Kind = "key"

/** A service user grants itself, with a key: what the key got ends with it. */
export const anchorOf = (kind: Kind, id: string): string => `${kind}/${id}`

/** When an anchor of a user ends as things stand, ms UTC; 0 where it has ended. */
export function anchorUntil(cx: Cx, userId: string, anchor: string): number {
  const [kind, ...id] = anchor.split("/")
  if (id.length === 0) return grantUntil(cx, userId, anchor)
  return kind === "key" ? keyUntil(cx, userId, id.join("/")) : 0
}

function grantUntil(cx: Cx, userId: string, grantId: string): number {
  const given = cx.store.state(cx, grant, grantId)
  if (given.status !== "active" || given.userId !== userId) return 0
  if (!isAppActive(cx, given.appId)) return 0
  return sessionNow(cx, given.sessionId)?.expires ?? 0
}

function keyUntil(cx: Cx, userId: string, keyId: string): number {
  const state = cx.store.state(cx, user, userId)
  const keys = "kind" in state && state.kind === "machine" ? state.keys : {}
  return (Object.hasOwn(keys, keyId) ? keys[keyId] : undefined) ?? 0
}
