import { setImmediate as nextTurn } from "node:timers/promises"
import { type Cx, statement } from "../../store/index.ts"
import { app } from "../app/index.ts"
import { effectiveGroupIds } from "../group/index.ts"
import { isOrgActive } from "../org/index.ts"
import { project } from "../project/index.ts"
import { isUserActive } from "../user-lookup/index.ts"
import { homeOf } from "../user-model/index.ts"
import { appDenial } from "./query.ts"
import { isServiceAccount } from "./requirement.ts"
import { assignmentsOf } from "./view.ts"

/** A user who can use an application, and by which assignments. */
export type AppUser = {
  readonly userId: string
  readonly isAssigned: boolean
  readonly groupIds: readonly string[]
}

/** Candidates that are looked at in one turn of the event loop. */
const turnMax = 200

/** The users who can use an application now, by ID, from the one after `after` on. */
export async function* usersOfApp(cx: Cx, appId: string, after: string): AsyncGenerator<AppUser> {
  const { userIds, groupIds } = assignmentsOf(cx, appId)
  const [direct, groups] = [new Set(userIds), new Set(groupIds)]
  let last = after
  for (;;) {
    const candidates = candidatesOf(cx, appId, last)
    for (const userId of candidates) {
      if (!canUse(cx, userId, appId)) continue
      const by = groups.size > 0 ? effectiveGroupIds(cx, userId).filter((id) => groups.has(id)) : []
      yield { userId, isAssigned: direct.has(userId), groupIds: by }
    }
    if (candidates.length < turnMax) return
    last = candidates.at(-1) ?? last
    await nextTurn()
  }
}

function canUse(cx: Cx, userId: string, appId: string): boolean {
  if (!isUserActive(cx, userId) || isServiceAccount(cx, userId)) return false
  return isOrgActive(cx, homeOf(cx, userId)) && appDenial(cx, userId, appId) === undefined
}

/** At most this many users are counted. */
const countMax = 10_000

export type AppUserCount = {
  readonly users: number
  /** Those who are not assigned themselves. */
  readonly usersByGroup: number
  /** Whether there are more. */
  readonly more: boolean
}

/** Counts the users who can use an application now, up to a limit. */
export async function countUsersOfApp(cx: Cx, appId: string): Promise<AppUserCount> {
  let users = 0
  let usersByGroup = 0
  for await (const { isAssigned, groupIds } of usersOfApp(cx, appId, "")) {
    if (users === countMax) return { users, usersByGroup, more: true }
    users += 1
    if (!isAssigned && groupIds.length > 0) usersByGroup += 1
  }
  return { users, usersByGroup, more: false }
}

// The groups of assignments and authorizations, with those nested in them, each once.
const assigned = statement<{ id: string }>(
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

const authorized = statement<{ id: string }>(
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

const everybody = statement<{ id: string }>(
  "SELECT id FROM users WHERE instance = $instance AND id > $after ORDER BY id LIMIT $limit",
)

/** IDs of users of whom some can use an application, the next after one. */
function candidatesOf(cx: Cx, appId: string, after: string): readonly string[] {
  const state = cx.store.state(cx, app, appId)
  if (!("projectId" in state)) return []
  const { projectId, access } = state
  const page = { after, limit: turnMax }
  const rows =
    access?.rule === "assigned"
      ? cx.store.all(cx, assigned, { appId, ...page })
      : access?.rule === "role" || cx.store.state(cx, project, projectId).projectRoleCheck
        ? cx.store.all(cx, authorized, { projectId, ...page })
        : cx.store.all(cx, everybody, page)
  return rows.map(({ id }) => id)
}
