import { bindHandlers } from "../../api/method.ts"
import {
  FieldName,
  type GroupsSearchFilter,
  type GroupUsersSearchFilter,
  type MemberGroupsSearchFilter,
} from "../../gen/core/group/v2/group_pb.ts"
import {
  type CreateGroupRequest,
  GroupService,
  type ListGroupsRequest,
  type ListGroupUsersRequest,
  type ListMemberGroupsRequest,
} from "../../gen/core/group/v2/group_service_pb.ts"
import { parsePage } from "../../kernel/page.ts"
import { parseResourceId } from "../../kernel/text/identifier.ts"
import {
  filterMissingError,
  toPagination,
  toTimestamp,
  valueOfEnum,
} from "../../protocol/api/response.ts"
import { type Cx, type Filter, search, textFilter } from "../../store/index.ts"
import { displayNames } from "../user-lookup/index.ts"
import { createGroup } from "./commands.ts"
import { effectiveGroupIds } from "./effective.ts"
import { addToGroup, removeFromGroup } from "./member.ts"
import {
  addGroupsToGroup,
  deleteGroup,
  removeGroupsFromGroup,
  updateGroup,
} from "./member-group.ts"
import {
  type GroupRow,
  type GroupUserRow,
  getGroup,
  groups,
  groupUsers,
  hasMemberGroupFilter,
  hasUserFilter,
  type MemberGroupRow,
  memberGroups,
} from "./view.ts"

export const v2 = bindHandlers<Cx>()(GroupService, {
  createGroup: (req, cx) => createFromRequest(cx, req),
  getGroup: (req, cx) => ({ group: toGroup(getGroup(cx, req.id)) }),
  listGroups: (req, cx) => searchGroups(cx, req),
  updateGroup: async ({ id, name, description }, cx) => {
    const { changed } = await updateGroup(cx, id, { name, description })
    return { changeDate: toTimestamp(changed) }
  },
  deleteGroup: async (req, cx) => ({
    deletionDate: toTimestamp((await deleteGroup(cx, req.id)).changed),
  }),
  listGroupUsers: (req, cx) => listUsers(cx, req),
  addUsersToGroup: async ({ id, userIds, confirmedCredentials: confirmed }, cx) => ({
    changeDate: toTimestamp(await addToGroup(cx, id, { userIds, confirmed })),
  }),
  removeUsersFromGroup: async ({ id, userIds }, cx) => ({
    changeDate: toTimestamp(await removeFromGroup(cx, id, userIds)),
  }),
  listMemberGroups: (req, cx) => listMemberGroups(cx, req),
  addGroupsToGroup: async ({ id, groupIds, confirmedCredentials: confirmed }, cx) => ({
    changeDate: toTimestamp(await addGroupsToGroup(cx, id, { groupIds, confirmed })),
  }),
  removeGroupsFromGroup: async ({ id, groupIds }, cx) => ({
    changeDate: toTimestamp(await removeGroupsFromGroup(cx, id, groupIds)),
  }),
})

async function createFromRequest(
  cx: Cx,
  { organizationId, name, description, ...req }: CreateGroupRequest,
) {
  const id = parseResourceId(cx.ids, "id", req.id)
  const { created } = await createGroup(cx, id, { orgId: organizationId, name, description })
  return { id, creationDate: toTimestamp(created) }
}

async function searchGroups(cx: Cx, req: ListGroupsRequest) {
  const found = await search<GroupRow>(cx, groups, {
    page: parsePage(req.pagination),
    sort: valueOfEnum(columns, req.sortingColumn ?? FieldName.UNSPECIFIED),
    filters: req.filters.map((filter) => filterOf(cx, filter)),
  })
  return { pagination: toPagination(found), groups: found.rows.map(toGroup) }
}

const columns = {
  [FieldName.UNSPECIFIED]: "created",
  [FieldName.ID]: "id",
  [FieldName.CREATION_DATE]: "created",
  [FieldName.CHANGE_DATE]: "changed",
  [FieldName.NAME]: "name_folded",
} as const

function filterOf(cx: Cx, { filter }: GroupsSearchFilter): Filter {
  switch (filter.case) {
    case "groupIds":
      return { oneOf: "id", values: filter.value.ids }
    case "nameFilter":
      return textFilter("name", filter.value.name, filter.value.method)
    case "organizationId":
      return { equals: "org", value: filter.value.id }
    case "userId":
      return hasUserFilter(filter.value.id)
    case "effectiveUserId":
      return { oneOf: "id", values: effectiveGroupIds(cx, filter.value.id) }
    case "memberGroupId":
      return hasMemberGroupFilter(filter.value.id)
    default:
      throw filterMissingError()
  }
}

const toGroup = (row: GroupRow) => ({
  id: row.id,
  name: row.name,
  description: row.description,
  organizationId: row.org,
  creationDate: toTimestamp(row.created),
  changeDate: toTimestamp(row.changed),
})

async function listUsers(cx: Cx, req: ListGroupUsersRequest) {
  const found = await search<GroupUserRow>(cx, groupUsers, {
    page: parsePage(req.pagination),
    filters: req.filters.map(userFilterOf),
  })
  return { pagination: toPagination(found), groupUsers: found.rows.map((row) => toUser(cx, row)) }
}

function userFilterOf({ filter }: GroupUsersSearchFilter): Filter {
  switch (filter.case) {
    case "groupIds":
      return { oneOf: "group_id", values: filter.value.ids }
    case "userIds":
      return { oneOf: "user_id", values: filter.value.ids }
    case "nameFilter": {
      const { name, method } = filter.value
      return {
        any: [textFilter("display_name", name, method), textFilter("user_name", name, method)],
      }
    }
    default:
      throw filterMissingError()
  }
}

const toUser = (cx: Cx, row: GroupUserRow) => ({
  groupId: row.group_id,
  userId: row.user_id,
  displayName: row.display_name,
  preferredLoginName: displayNames(cx, { user_name: row.user_name, org: row.user_org })
    .preferredLoginName,
  creationDate: toTimestamp(row.created),
})

async function listMemberGroups(cx: Cx, req: ListMemberGroupsRequest) {
  const found = await search<MemberGroupRow>(cx, memberGroups, {
    page: parsePage(req.pagination),
    filters: req.filters.map(memberFilterOf),
  })
  return { pagination: toPagination(found), memberGroups: found.rows.map(toMemberGroup) }
}

function memberFilterOf({ filter }: MemberGroupsSearchFilter): Filter {
  switch (filter.case) {
    case "groupIds":
      return { oneOf: "group_id", values: filter.value.ids }
    case "memberGroupIds":
      return { oneOf: "member_id", values: filter.value.ids }
    case "nameFilter":
      return textFilter("name", filter.value.name, filter.value.method)
    default:
      throw filterMissingError()
  }
}

const toMemberGroup = (row: MemberGroupRow) => ({
  groupId: row.group_id,
  memberGroupId: row.member_id,
  name: row.name,
  creationDate: toTimestamp(row.created),
})
