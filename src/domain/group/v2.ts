import { share } from "../../api/method.ts"
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
import { pageOf } from "../../kernel/page.ts"
import { givenId } from "../../kernel/text/given.ts"
import { at, filterMissingError, meaning, pagination } from "../../protocol/api/answer.ts"
import { type Cx, type Filter, search, textFilter } from "../../store/index.ts"
import { shownNames } from "../user-lookup/index.ts"
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
  findGroup,
  type GroupRow,
  type GroupUserRow,
  groups,
  groupUsers,
  hasMemberGroup,
  hasUser,
  type MemberGroupRow,
  memberGroups,
} from "./view.ts"

export const v2 = share<Cx>()(GroupService, {
  createGroup: (req, cx) => add(cx, req),
  getGroup: (req, cx) => ({ group: toGroup(findGroup(cx, req.id)) }),
  listGroups: (req, cx) => list(cx, req),
  updateGroup: async ({ id, name, description }, cx) => {
    const { changed } = await updateGroup(cx, id, { name, description })
    return { changeDate: at(changed) }
  },
  deleteGroup: async (req, cx) => ({ deletionDate: at((await deleteGroup(cx, req.id)).changed) }),
  listGroupUsers: (req, cx) => listUsers(cx, req),
  addUsersToGroup: async ({ id, userIds, confirmedCredentials: confirmed }, cx) => ({
    changeDate: at(await addToGroup(cx, id, { userIds, confirmed })),
  }),
  removeUsersFromGroup: async ({ id, userIds }, cx) => ({
    changeDate: at(await removeFromGroup(cx, id, userIds)),
  }),
  listMemberGroups: (req, cx) => listMembers(cx, req),
  addGroupsToGroup: async ({ id, groupIds, confirmedCredentials: confirmed }, cx) => ({
    changeDate: at(await addGroupsToGroup(cx, id, { groupIds, confirmed })),
  }),
  removeGroupsFromGroup: async ({ id, groupIds }, cx) => ({
    changeDate: at(await removeGroupsFromGroup(cx, id, groupIds)),
  }),
})

async function add(cx: Cx, { organizationId, name, description, ...req }: CreateGroupRequest) {
  const id = givenId(cx.ids, "id", req.id)
  const { created } = await createGroup(cx, id, { orgId: organizationId, name, description })
  return { id, creationDate: at(created) }
}

async function list(cx: Cx, req: ListGroupsRequest) {
  const found = await search<GroupRow>(cx, groups, {
    page: pageOf(req.pagination),
    sort: meaning(columns, req.sortingColumn ?? FieldName.UNSPECIFIED),
    filters: req.filters.map((filter) => filterOf(cx, filter)),
  })
  return { pagination: pagination(found), groups: found.rows.map(toGroup) }
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
      return hasUser(filter.value.id)
    case "effectiveUserId":
      return { oneOf: "id", values: effectiveGroupIds(cx, filter.value.id) }
    case "memberGroupId":
      return hasMemberGroup(filter.value.id)
    default:
      throw filterMissingError()
  }
}

const toGroup = (row: GroupRow) => ({
  id: row.id,
  name: row.name,
  description: row.description,
  organizationId: row.org,
  creationDate: at(row.created),
  changeDate: at(row.changed),
})

async function listUsers(cx: Cx, req: ListGroupUsersRequest) {
  const found = await search<GroupUserRow>(cx, groupUsers, {
    page: pageOf(req.pagination),
    filters: req.filters.map(userFilterOf),
  })
  return { pagination: pagination(found), groupUsers: found.rows.map((row) => toUser(cx, row)) }
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
  preferredLoginName: shownNames(cx, { user_name: row.user_name, org: row.user_org })
    .preferredLoginName,
  creationDate: at(row.created),
})

async function listMembers(cx: Cx, req: ListMemberGroupsRequest) {
  const found = await search<MemberGroupRow>(cx, memberGroups, {
    page: pageOf(req.pagination),
    filters: req.filters.map(memberFilterOf),
  })
  return { pagination: pagination(found), memberGroups: found.rows.map(toMember) }
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

const toMember = (row: MemberGroupRow) => ({
  groupId: row.group_id,
  memberGroupId: row.member_id,
  name: row.name,
  creationDate: at(row.created),
})
