import { setImmediate as nextTurn } from "node:timers/promises"
import { type Cx, statement } from "../../store/index.ts"
import { app } from "../app/index.ts"
import { effectiveGroupIds } from "../group/index.ts"
import { isOrgActive } from "../org/index.ts"
import { project } from "../project/index.ts"
import { isUserActive } from "../user-lookup/index.ts"
import { findHomeOrg } from "../user-model/index.ts"
import { findAppDenial } from "./query.ts"
import { isServiceAccount } from "./requirement.ts"
import { assignmentsOf } from "./view.ts"

/** A user who can use an application, with the assignments of the user and of their groups. */
export type AppUser = {
  readonly userId: string
  readonly isAssigned: boolean
  readonly groupIds: readonly string[]
}

/** A user who was checked; `user` is undefined if they can't use the application. */
type CheckedUser = { readonly userId: string; readonly user: AppUser | undefined }

/** Maximum number of users that a request checks, separately for a count and for a page. */
const checksMax = 50_000

/** Number of users that are checked in one turn of the event loop. */
const usersPerTurn = 200

/**
 * Checks which users can use an application now, in the order of their IDs, starting after `after`.
 * Also returns users who can't, so that callers can limit the number of checks.
 */
async function* checkUsersOfApp(cx: Cx, appId: string, after: string): AsyncGenerator<CheckedUser> {
  const { userIds, groupIds } = assignmentsOf(cx, appId)
  const [direct, groups] = [new Set(userIds), new Set(groupIds)]
  let last = after
  for (;;) {
    const candidates = candidatesOf(cx, appId, last)
    for (const userId of candidates) {
      if (!canUse(cx, userId, appId)) {
        yield { userId, user: undefined }
        continue
      }
      const assignedGroupIds =
        groups.size > 0 ? effectiveGroupIds(cx, userId).filter((id) => groups.has(id)) : []
      yield { userId, user: { userId, isAssigned: direct.has(userId), groupIds: assignedGroupIds } }
    }
    if (candidates.length < usersPerTurn) return
    last = candidates.at(-1) ?? last
    await nextTurn()
  }
}

function canUse(cx: Cx, userId: string, appId: string): boolean {
  if (!isUserActive(cx, userId) || isServiceAccount(cx, userId)) return false
  return isOrgActive(cx, findHomeOrg(cx, userId)) && findAppDenial(cx, userId, appId) === undefined
}

export type AppUserPage = {
  readonly users: readonly AppUser[]
  /** The user ID after which the next page begins; empty after the last page. */
  readonly next: string
}

type PageOptions = {
  readonly after: string
  readonly limit: number
  readonly canRead: (userId: string) => boolean
  readonly checks?: number
}

/**
 * A page of the users who can use an application now and whom the caller can read. It has fewer
 * than `limit` users if the maximum number of checks is reached first.
 */
export async function listUsersOfApp(
  cx: Cx,
  appId: string,
  { after, limit, canRead, checks = checksMax }: PageOptions,
): Promise<AppUserPage> {
  const users: AppUser[] = []
  let checked = 0
  let last = after
  for await (const { userId, user } of checkUsersOfApp(cx, appId, after)) {
    const isListed = user !== undefined && canRead(userId)
    if (checked === checks || (isListed && users.length === limit)) return { users, next: last }
    checked += 1
    last = userId
    if (isListed) users.push(user)
  }
  return { users, next: "" }
}

/** Maximum number of users that are counted. */
const countMax = 10_000

export type AppUserCount = {
  readonly users: number
  /** Users who are assigned only through a group. */
  readonly usersByGroup: number
  /** Whether there can be more users than counted. */
  readonly more: boolean
}

/** Counts the users who can use an application now, up to a limit. */
export async function countUsersOfApp(
  cx: Cx,
  appId: string,
  checks = checksMax,
): Promise<AppUserCount> {
  let users = 0
  let usersByGroup = 0
  let checked = 0
  for await (const { user } of checkUsersOfApp(cx, appId, "")) {
    if (checked === checks || (user && users === countMax))
      return { users, usersByGroup, more: true }
    checked += 1
    if (!user) continue
    users += 1
    if (!user.isAssigned && user.groupIds.length > 0) usersByGroup += 1
  }
  return { users, usersByGroup, more: false }
}

// The groups of assignments and authorizations, and the groups nested in them, each once.
const assignedUsers = statement<{ id: string }>(
  `WITH RECURSIVE nested(id) AS (
     SELECT group_id FROM app_assignments
       WHERE instance = $instance AND app = $appId AND group_id > ''
     UNION
     SELECT n.member_id FROM nested r
       JOIN group_groups n ON n.instance = $instance AND n.group_id = r.id
   )
   SELECT user_id AS id FROM app_assignments
     WHERE instance = $instance AND app = $appId AND user_id > $after
   UNION SELECT u.user_id FROM nested r
     JOIN group_users u ON u.instance = $instance AND u.group_id = r.id
     WHERE u.user_id > $after
   ORDER BY 1 LIMIT $limit`,
)

const authorizedUsers = statement<{ id: string }>(
  `WITH RECURSIVE nested(id) AS (
     SELECT group_id FROM group_authorizations WHERE instance = $instance AND project = $projectId
     UNION
     SELECT n.member_id FROM nested r
       JOIN group_groups n ON n.instance = $instance AND n.group_id = r.id
   )
   SELECT user_id AS id FROM authorizations
     WHERE instance = $instance AND project = $projectId AND user_id > $after
   UNION SELECT u.user_id FROM nested r
     JOIN group_users u ON u.instance = $instance AND u.group_id = r.id
     WHERE u.user_id > $after
   ORDER BY 1 LIMIT $limit`,
)

const allUsers = statement<{ id: string }>(
  "SELECT id FROM users WHERE instance = $instance AND id > $after ORDER BY id LIMIT $limit",
)

/** IDs of the next users who could have access to an application. */
function candidatesOf(cx: Cx, appId: string, after: string): readonly string[] {
  const state = cx.store.state(cx, app, appId)
  if (!("projectId" in state)) return []
  const { projectId, access } = state
  const page = { after, limit: usersPerTurn }
  const rows =
    access?.rule === "assigned"
      ? cx.store.all(cx, assignedUsers, { appId, ...page })
      : access?.rule === "role" || cx.store.state(cx, project, projectId).projectRoleCheck
        ? cx.store.all(cx, authorizedUsers, { projectId, ...page })
        : cx.store.all(cx, allUsers, page)
  return rows.map(({ id }) => id)
}
