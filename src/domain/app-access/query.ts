import { type Cx, statement } from "../../store/index.ts"
import { app, findClient } from "../app/index.ts"
import { checkProjectAccess, listRolesByOrg } from "../authorization/index.ts"
import { effectiveGroupIds } from "../group/index.ts"
import { isServiceAccount } from "./requirement.ts"

/** Why a user can't use an application. */
export type Denial = "no project" | "no roles" | "not assigned" | "no role"

/** Whether a user can use an application, and each condition that applies. */
export type AppEntry = {
  readonly denial: Denial | undefined
  /** Whether their organization has the project; undefined where the project doesn't check it. */
  readonly hasProject: boolean | undefined
  /** Whether they are authorized on the project; undefined where the project doesn't check it. */
  readonly hasRoles: boolean | undefined
  /** Whether they or a group of theirs is assigned; undefined where the rule is another. */
  readonly isAssigned: boolean | undefined
  /** Whether they have a role of the project; undefined where the rule is another. */
  readonly hasRole: boolean | undefined
}

/**
 * Whether a user can use an application now, by the checks of its project and the application's own
 * rule. Everything that lets users in asks this. The rule is for users who sign in: a service
 * account needs only what the project checks.
 */
export function appEntryOf(cx: Cx, userId: string, appId: string): AppEntry {
  const state = cx.store.state(cx, app, appId)
  const projectId = "projectId" in state ? state.projectId : ""
  const { answer, hasProject, hasRoles } = checkProjectAccess(cx, userId, projectId)
  const rule = "access" in state ? state.access?.rule : undefined
  const isRuled = !isServiceAccount(cx, userId)
  const isAssigned = isRuled && rule === "assigned" ? isAssignedTo(cx, userId, appId) : undefined
  const hasRole = isRuled && rule === "role" ? hasRoleOn(cx, userId, projectId) : undefined
  const byRule = isAssigned === false ? "not assigned" : hasRole === false ? "no role" : undefined
  const denial = answer === "yes" ? byRule : answer
  return { denial, hasProject, hasRoles, isAssigned, hasRole }
}

/** Why a user can't use an application now; undefined if they can. */
export const appDenial = (cx: Cx, userId: string, appId: string): Denial | undefined =>
  appEntryOf(cx, userId, appId).denial

/** Whether a user can use the application with a client ID now; false for an unknown client. */
export function canUseClient(cx: Cx, userId: string, clientId: string): boolean {
  const appId = findClient(cx, clientId)?.appId
  return appId !== undefined && appDenial(cx, userId, appId) === undefined
}

const hasRoleOn = (cx: Cx, userId: string, projectId: string): boolean =>
  listRolesByOrg(cx, userId, projectId).some(({ keys }) => keys.length > 0)

const direct = statement<{ id: string }>(
  `SELECT id FROM app_assignments
   WHERE instance = $instance AND app = $appId AND user_id = $userId LIMIT 1`,
)

const byGroup = statement<{ id: string }>(
  `SELECT a.id FROM json_each($groupIds) g JOIN app_assignments a
     ON a.instance = $instance AND a.group_id = g.value AND a.app = $appId
   LIMIT 1`,
)

/** Whether a user is assigned to an application, or a group that they are in. */
function isAssignedTo(cx: Cx, userId: string, appId: string): boolean {
  if (userId === "") return false
  if (cx.store.get(cx, direct, { appId, userId })) return true
  // The group of a user's assignment is empty: it must match no group.
  const groupIds = JSON.stringify(effectiveGroupIds(cx, userId).filter((id) => id !== ""))
  return cx.store.get(cx, byGroup, { appId, groupIds }) !== undefined
}
