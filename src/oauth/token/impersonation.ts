import { requireInstance } from "../../domain/instance/index.ts"
import {
  listMemberships,
  permissionsOn,
  stateReader,
  type Target,
} from "../../domain/member/index.ts"
import { isOrgActive } from "../../domain/org/index.ts"
import { isUserActive } from "../../domain/user-lookup/index.ts"
import { user } from "../../domain/user-model/index.ts"
import type { Cx } from "../../store/index.ts"

/**
 * Whether an actor can currently impersonate a user: the instance allows it, and the actor has the
 * permission on the user's organization. For administrators it is a different permission, which
 * must cover everything that they administer.
 */
export function canImpersonate(cx: Cx, actorId: string, userId: string): boolean {
  if (!requireInstance(cx).security.enableImpersonation || actorId === userId) return false
  const owner = cx.store.receipt(cx, user, userId)?.owner ?? ""
  if (!isUserActive(cx, userId) || !isOrgActive(cx, owner)) return false
  const administered = listMemberships(cx, userId).map(
    ({ level, id }): Target => (level === "instance" ? { level } : { level, id }),
  )
  const read = { ...stateReader(cx), caller: cx.caller }
  const needed = administered.length > 0 ? "admin.impersonation" : "impersonation"
  const home: Target = { level: "org", id: owner }
  return [home, ...administered].every((target) => permissionsOn(read, target, actorId).has(needed))
}
