import { bindHandlers } from "../../api/method.ts"
import {
  ApplicationService,
  type ListApplicationUsersRequest,
  type ListApplicationAssignmentsRequest as ListRequest,
} from "../../gen/core/application/v2/application_service_pb.ts"
import { parsePage } from "../../kernel/page.ts"
import { filterMissingError, toPagination, toTimestamp } from "../../protocol/api/response.ts"
import { type Cx, type Filter, search } from "../../store/index.ts"
import { canReadUser } from "../member/index.ts"
import { displayNames, findProfile } from "../user-lookup/index.ts"
import { findHomeOrg } from "../user-model/index.ts"
import { addAssignments, removeAssignments } from "./commands.ts"
import { type AppUser, countUsersOfApp, listUsersOfApp } from "./users.ts"
import { type AssignmentRow, assignments, assignmentsOf } from "./view.ts"

export const v2 = bindHandlers<Cx>()(ApplicationService, {
  addApplicationAssignments: async ({ applicationId, ...subjects }, cx) => ({
    changeDate: toTimestamp(await addAssignments(cx, applicationId, subjects)),
  }),
  removeApplicationAssignments: async ({ applicationId, ...subjects }, cx) => ({
    changeDate: toTimestamp(await removeAssignments(cx, applicationId, subjects)),
  }),
  listApplicationAssignments: (req, cx) => listAssignments(cx, req),
  listApplicationUsers: (req, cx) => listUsers(cx, req),
})

const limitMax = 100
const defaultLimit = 20

async function listUsers(cx: Cx, req: ListApplicationUsersRequest) {
  const { applicationId, afterUserId } = req
  const limit = Math.min(req.limit || defaultLimit, limitMax)
  const page = await listUsersOfApp(cx, applicationId, {
    after: afterUserId,
    limit,
    canRead: (userId) => canReadUser(cx, userId, findHomeOrg(cx, userId)),
  })
  const count = afterUserId === "" ? await countOf(cx, applicationId) : undefined
  const users = page.users.map((user) => toUser(cx, user))
  return { users, nextAfterUserId: page.next, ...(count && { count }) }
}

async function countOf(cx: Cx, appId: string) {
  const groups = assignmentsOf(cx, appId).groupIds.length
  return { ...(await countUsersOfApp(cx, appId)), groups }
}

function toUser(cx: Cx, { userId, isAssigned, groupIds }: AppUser) {
  const { name = "", userName = "" } = findProfile(cx, userId) ?? {}
  const row = { user_name: userName, org: findHomeOrg(cx, userId) }
  const { preferredLoginName } = displayNames(cx, row)
  return { userId, name, preferredLoginName, assigned: isAssigned, groupIds: [...groupIds] }
}

async function listAssignments(cx: Cx, req: ListRequest) {
  const found = await search<AssignmentRow>(cx, assignments, {
    page: parsePage(req.pagination),
    filters: req.filters.map(filterOf),
  })
  return {
    pagination: toPagination(found),
    assignments: found.rows.map((row) => toAssignment(cx, row)),
  }
}

function filterOf({ filter }: ListRequest["filters"][number]): Filter {
  switch (filter.case) {
    case "applicationId":
      return { equals: "app", value: filter.value.id }
    case "userId":
      return { equals: "user_id", value: filter.value.id }
    case "groupId":
      return { equals: "group_id", value: filter.value.id }
    default:
      throw filterMissingError()
  }
}

function toAssignment(cx: Cx, row: AssignmentRow) {
  const assignment = { applicationId: row.app, creationDate: toTimestamp(row.created) }
  const { group_id: groupId, user_id: userId, user_org: org, user_name } = row
  if (groupId !== "") {
    const subject = { case: "groupId", value: groupId } as const
    return { ...assignment, subject, name: row.group_name }
  }
  const subject = { case: "userId", value: userId } as const
  if (!canReadUser(cx, userId, org)) return { ...assignment, subject }
  const { preferredLoginName } = displayNames(cx, { user_name, org })
  return { ...assignment, subject, name: row.display_name, preferredLoginName }
}
