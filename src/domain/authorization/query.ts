import type { Cx } from "../../store/index.ts"
import { isProjectThere, project } from "../project/index.ts"
import { hasLeft, user } from "../user/index.ts"
import { rolesIn } from "./commands.ts"
import { type Authorization, authorization, isThere, pairClaim, pairOf } from "./model.ts"

/** Roles of a user on a project, and the organisation that gives them. */
export type Held = { readonly orgId: string; readonly keys: readonly string[] }

/** Every role that a user has on a project now, by who gives it. */
export function rolesHeld(cx: Cx, userId: string, projectId: string): readonly Held[] {
  const on = cx.store.state(cx, project, projectId)
  const found = isProjectThere(on) ? active(cx, userId, projectId) : undefined
  return found ? [{ orgId: found.orgId, keys: rolesIn(on, found) }] : []
}

/**
 * Whether a user may sign in to the applications of a project, as the project asks for it: their
 * organisation must have the project, they must be authorized on it. Who was given roles that are
 * all gone is authorized no more.
 */
export function mayEnter(
  cx: Cx,
  userId: string,
  projectId: string,
): "yes" | "no roles" | "no project" {
  const on = cx.store.state(cx, project, projectId)
  // Nothing grants projects to other organisations yet: whose organisation has it, owns it.
  if (on.hasProjectCheck && cx.store.receipt(cx, user, userId)?.owner !== on.orgId) {
    return "no project"
  }
  if (!on.projectRoleCheck) return "yes"
  const found = active(cx, userId, projectId)
  if (!found) return "no roles"
  return found.roleKeys.length === 0 || rolesIn(on, found).length > 0 ? "yes" : "no roles"
}

function active(cx: Cx, userId: string, projectId: string): Authorization | undefined {
  const key = pairOf({ userId, projectId, grantId: "" })
  const holder = cx.store.log.holder(cx.instance, pairClaim, key, cx.clock.now())
  const state = holder && cx.store.state(cx, authorization, holder.id)
  return state?.status === "active" ? state : undefined
}

/** What the access to an authorization hangs from; undefined where there is none. */
export function authorizationChain(cx: Cx, id: string) {
  const state = cx.store.state(cx, authorization, id)
  const { orgId, projectId, userId } = state
  if (!isThere(state) || !isProjectThere(cx.store.state(cx, project, projectId))) return undefined
  if (hasLeft(cx.store.state(cx, user, userId))) return undefined
  return { instance: true, org: orgId, project: projectId } as const
}
