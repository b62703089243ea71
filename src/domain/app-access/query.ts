import { type Cx, statement } from "../../store/index.ts"
import { app, findClient } from "../app/index.ts"
import { checkProjectAccess, listRolesByOrg } from "../authorization/index.ts"
import { effectiveGroupIds } from "../group/index.ts"
import { isServiceAccount } from "./requirement.ts"

/** Why a user can't use an application. */
export type Denial = "no project" | "no roles" | "not assigned" | "no role"

/** Whether a user can use an application, with the results of the individual checks. */
export type AppAccessResult = {
  readonly denial: Denial | undefined
  /**
   * Whether the user's organization has the project; undefined if the project doesn't require it.
   */
  readonly hasProject: boolean | undefined
  /** Whether the user is authorized on the project; undefined if this was not checked. */
  readonly hasRoles: boolean | undefined
  /**
   * Whether the user or one of their groups is assigned; undefined if the rule doesn't require it.
   */
  readonly isAssigned: boolean | undefined
  /** Whether the user has a role of the project; undefined if the rule doesn't require it. */
  readonly hasRole: boolean | undefined
}

/**
 * Checks whether a user can use an application now: the checks of its project, then the
 * application's own rule. Every sign-in and every use of a token depends on this. The rule applies
 * only to users who sign in; service accounts need only pass the project's checks.
 */
export function checkAppAccess(cx: Cx, userId: string, appId: string): AppAccessResult {
  const state = cx.store.state(cx, app, appId)
  const projectId = "projectId" in state ? state.projectId : ""
  const { answer, hasProject, hasRoles } = checkProjectAccess(cx, userId, projectId)
  const rule = "access" in state ? state.access?.rule : undefined
  const isRuleApplied = !isServiceAccount(cx, userId)
  const isAssigned =
    isRuleApplied && rule === "assigned" ? isAssignedTo(cx, userId, appId) : undefined
  const hasRole = isRuleApplied && rule === "role" ? hasRoleOn(cx, userId, projectId) : undefined
  const ruleDenial =
    isAssigned === false ? "not assigned" : hasRole === false ? "no role" : undefined
  const denial = answer === "yes" ? ruleDenial : answer
  return { denial, hasProject, hasRoles, isAssigned, hasRole }
}

/** Why a user can't use an application now; undefined if they can. */
export const findAppDenial = (cx: Cx, userId: string, appId: string): Denial | undefined =>
  checkAppAccess(cx, userId, appId).denial

/** Whether a user can use the application with a client ID now; false for an unknown client. */
export function canUseClient(cx: Cx, userId: string, clientId: string): boolean {
  const appId = findClient(cx, clientId)?.appId
  return appId !== undefined && findAppDenial(cx, userId, appId) === undefined
}

const hasRoleOn = (cx: Cx, userId: string, projectId: string): boolean =>
  listRolesByOrg(cx, userId, projectId).some(({ keys }) => keys.length > 0)

const directAssignment = statement<{ id: string }>(
  `SELECT id FROM app_assignments
   WHERE instance = $instance AND app = $appId AND user_id = $userId LIMIT 1`,
)

const groupAssignment = statement<{ id: string }>(
  `SELECT a.id FROM json_each($groupIds) g JOIN app_assignments a
     ON a.instance = $instance AND a.group_id = g.value AND a.app = $appId
   LIMIT 1`,
)

/** Whether a user is assigned to an application, directly or through a group. */
function isAssignedTo(cx: Cx, userId: string, appId: string): boolean {
  if (userId === "") return false
  if (cx.store.get(cx, directAssignment, { appId, userId })) return true
  // Assignments of users have an empty group ID, which must match no group.
  const groupIds = JSON.stringify(effectiveGroupIds(cx, userId).filter((id) => id !== ""))
  return cx.store.get(cx, groupAssignment, { appId, groupIds }) !== undefined
}
