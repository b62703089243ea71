import { isAppActive } from "../../domain/app/index.ts"
import { grant } from "../../domain/grant/index.ts"
import { isOrgActive } from "../../domain/org/index.ts"
import { sessionNow } from "../../domain/session/index.ts"
import { isUserActive, user } from "../../domain/user/index.ts"
import type { Cx } from "../../store/index.ts"
import { remembered } from "../remembered.ts"
import type { Statement } from "./statement.ts"

/**
 * Whether everything that a token hangs from still stands: its grant, the session, the user, the
 * application, its project, and the organisations of both. Asked at every use of every token.
 */
export function stands(cx: Cx, said: Pick<Statement, "grantId" | "userId">): boolean {
  const known = answers(cx)
  const key = `${said.grantId}/${said.userId}`
  const until = known.get(key) ?? standsUntil(cx, said)
  if (known.size < answersMax) known.set(key, until)
  return cx.clock.now() < until
}

/** Answers are good until anything is written; a session may end earlier, by time alone. */
const answers = remembered(() => new Map<string, number>())
const answersMax = 10_000

/** ms UTC; 0 where it stands no more. */
function standsUntil(cx: Cx, { grantId, userId }: Pick<Statement, "grantId" | "userId">): number {
  if (!isUserActive(cx, userId) || !isOrgActive(cx, orgOf(cx, userId))) return 0
  const keyId = keyIn(grantId)
  if (keyId !== undefined) return keyUntil(cx, userId, keyId)
  const given = cx.store.state(cx, grant, grantId)
  if (given.status !== "active" || given.userId !== userId) return 0
  if (!isAppActive(cx, given.appId)) return 0
  return sessionNow(cx, given.sessionId)?.expires ?? 0
}

/** A service user grants itself, with a key: what the key got ends with it. */
export const grantOfKey = (keyId: string): string => `key/${keyId}`

const keyIn = (grantId: string): string | undefined => /^key\/(.+)$/.exec(grantId)?.[1]

function keyUntil(cx: Cx, userId: string, keyId: string): number {
  const state = cx.store.state(cx, user, userId)
  const keys = "kind" in state && state.kind === "machine" ? state.keys : {}
  return (Object.hasOwn(keys, keyId) ? keys[keyId] : undefined) ?? 0
}

/** The organisation that a user belongs to. */
export const orgOf = (cx: Cx, userId: string): string =>
  cx.store.receipt(cx, user, userId)?.owner ?? ""
