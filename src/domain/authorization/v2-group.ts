import { bindHandlers } from "../../api/method.ts"
import {
  GroupAuthorizationFieldName,
  type GroupAuthorizationsSearchFilter,
} from "../../gen/core/authorization/v2/authorization_pb.ts"
import {
  AuthorizationService,
  type CreateGroupAuthorizationRequest,
  type ListGroupAuthorizationsRequest,
} from "../../gen/core/authorization/v2/authorization_service_pb.ts"
import { parsePage } from "../../kernel/page.ts"
import {
  filterMissingError,
  toPagination,
  toTimestamp,
  valueOfEnum,
} from "../../protocol/api/response.ts"
import { type Cx, type Filter, search, textFilter } from "../../store/index.ts"
import {
  createGroupAuthorization,
  removeGroupAuthorization,
  updateGroupAuthorization,
} from "./group/commands.ts"
import { type GroupAuthorizationRow, groupAuthorizations, listGroupRolesOf } from "./group/view.ts"

/** Authorizations of groups. */
export const v2group = bindHandlers<Cx>()(AuthorizationService, {
  listGroupAuthorizations: (req, cx) => listAuthorizations(cx, req),
  createGroupAuthorization: (req, cx) => createFromRequest(cx, req),
  updateGroupAuthorization: async (req, cx) => {
    const { changed } = await updateGroupAuthorization(cx, req.id, req.roleKeys)
    return { changeDate: toTimestamp(changed) }
  },
  deleteGroupAuthorization: async (req, cx) => {
    const { changed } = await removeGroupAuthorization(cx, req.id)
    return { deletionDate: toTimestamp(changed) }
  },
})

async function createFromRequest(cx: Cx, req: CreateGroupAuthorizationRequest) {
  const { groupId, projectId, organizationId: orgId, roleKeys } = req
  const id = cx.ids.next()
  const { created } = await createGroupAuthorization(cx, id, {
    groupId,
    projectId,
    orgId,
    roleKeys,
  })
  return { id, creationDate: toTimestamp(created) }
}

async function listAuthorizations(cx: Cx, req: ListGroupAuthorizationsRequest) {
  const found = await search<GroupAuthorizationRow>(cx, groupAuthorizations, {
    page: parsePage(req.pagination),
    sort: valueOfEnum(columns, req.sortingColumn),
    filters: req.filters.map(filterOf),
  })
  return {
    pagination: toPagination(found),
    groupAuthorizations: found.rows.map((row) => toGroupAuthorization(cx, row)),
  }
}

const columns = {
  [GroupAuthorizationFieldName.UNSPECIFIED]: "created",
  [GroupAuthorizationFieldName.CREATED_DATE]: "created",
  [GroupAuthorizationFieldName.CHANGED_DATE]: "changed",
  [GroupAuthorizationFieldName.ID]: "id",
  [GroupAuthorizationFieldName.GROUP_ID]: "group_id",
  [GroupAuthorizationFieldName.PROJECT_ID]: "project",
  [GroupAuthorizationFieldName.ORGANIZATION_ID]: "org",
} as const

function filterOf({ filter }: GroupAuthorizationsSearchFilter): Filter {
  switch (filter.case) {
    case "authorizationIds":
      return { oneOf: "id", values: filter.value.ids }
    case "organizationId":
      return { equals: "org", value: filter.value.id }
    case "groupIds":
      return { oneOf: "group_id", values: filter.value.ids }
    case "groupName":
      return textFilter("group_name", filter.value.name, filter.value.method)
    case "projectId":
      return { equals: "project", value: filter.value.id }
    case "projectName":
      return textFilter("project_name", filter.value.name, filter.value.method)
    case "projectGrantId":
      return { equals: "grant_id", value: filter.value.id }
    case undefined:
      throw filterMissingError()
  }
}

const toGroupAuthorization = (cx: Cx, row: GroupAuthorizationRow) => ({
  id: row.id,
  creationDate: toTimestamp(row.created),
  changeDate: toTimestamp(row.changed),
  project: { id: row.project, name: row.project_name, organizationId: row.project_org },
  organization: { id: row.org, name: row.org_name },
  group: { id: row.group_id, name: row.group_name },
  roles: [...listGroupRolesOf(cx, row.id)],
})
