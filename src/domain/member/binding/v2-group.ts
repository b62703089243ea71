import type { MessageInitShape } from "@bufbuild/protobuf"
import { bindHandlers } from "../../../api/method.ts"
import {
  type EffectiveAdministratorSchema,
  GroupAdministratorFieldName,
  type GroupAdministratorSchema,
  type GroupAdministratorSearchFilter,
} from "../../../gen/core/internal_permission/v2/internal_permission_pb.ts"
import {
  type CreateGroupAdministratorRequest,
  type DeleteGroupAdministratorRequest,
  InternalPermissionService,
  type ListEffectiveAdministratorsRequest,
  type ListGroupAdministratorsRequest,
} from "../../../gen/core/internal_permission/v2/internal_permission_service_pb.ts"
import { parsePage } from "../../../kernel/page.ts"
import {
  filterMissingError,
  toPagination,
  toTimestamp,
  valueOfEnum,
} from "../../../protocol/api/response.ts"
import { type Cx, type Filter, paginate, textFilter } from "../../../store/index.ts"
import { timeFilter } from "../../family/api.ts"
import { group } from "../../group/index.ts"
import { org } from "../../org/index.ts"
import { project } from "../../project/index.ts"
import { projectGrant } from "../../project-grant/index.ts"
import {
  createGroupAdministrator,
  removeGroupAdministrator,
  updateGroupAdministrator,
} from "../group/commands.ts"
import { searchGroupAdministrators } from "../group/search.ts"
import type { GroupAdministratorRow } from "../group/view.ts"
import { listMembershipsFromGroups, listOwnMemberships, type Membership } from "../view.ts"
import { findTarget, targetOf } from "./v2.ts"
import { resourceFilter, resourceOf } from "./v2-search.ts"

/** Administrator roles of groups, and all administrator roles that a user has. */
export const v2group = bindHandlers<Cx>()(InternalPermissionService, {
  createGroupAdministrator: async (req, cx) => ({
    creationDate: toTimestamp(await createGroupAdministrator(cx, inputOf(cx, req))),
  }),
  updateGroupAdministrator: async (req, cx) => ({
    changeDate: toTimestamp(await updateGroupAdministrator(cx, inputOf(cx, req))),
  }),
  deleteGroupAdministrator: (req, cx) => removeAdministrator(cx, req),
  listGroupAdministrators: (req, cx) => listAdministrators(cx, req),
  listEffectiveAdministrators: (req, cx) => listEffective(cx, req),
})

const inputOf = (
  cx: Cx,
  {
    groupId,
    resource,
    roles,
    confirmedCredentials: confirmed,
  }: Pick<
    CreateGroupAdministratorRequest,
    "groupId" | "resource" | "roles" | "confirmedCredentials"
  >,
) => ({ groupId, target: targetOf(cx, resource), roles, confirmed })

async function removeAdministrator(cx: Cx, { groupId, resource }: DeleteGroupAdministratorRequest) {
  const target = findTarget(cx, resource)
  const removed = target && (await removeGroupAdministrator(cx, { target, groupId }))
  return removed === undefined ? {} : { deletionDate: toTimestamp(removed) }
}

async function listAdministrators(cx: Cx, req: ListGroupAdministratorsRequest) {
  const found = await searchGroupAdministrators(cx, {
    page: parsePage(req.pagination),
    sort: valueOfEnum(columns, req.sortingColumn),
    filters: req.filters.map((filter) => filterOf(cx, filter)),
  })
  return {
    pagination: toPagination(found),
    groupAdministrators: found.rows.map(toGroupAdministrator),
  }
}

const columns = {
  [GroupAdministratorFieldName.UNSPECIFIED]: "created",
  [GroupAdministratorFieldName.GROUP_ID]: "group_id",
  [GroupAdministratorFieldName.CREATION_DATE]: "created",
  [GroupAdministratorFieldName.CHANGE_DATE]: "changed",
} as const

function filterOf(cx: Cx, { filter }: GroupAdministratorSearchFilter): Filter {
  switch (filter.case) {
    case "inGroupIdsFilter":
      return { oneOf: "group_id", values: filter.value.ids }
    case "groupName":
      return textFilter("group_name", filter.value.name, filter.value.method)
    case "groupOrganizationId":
      return { equals: "group_org", value: filter.value.id }
    case "resource":
      return resourceFilter(cx, filter.value)
    case "role":
      return { text: "roles", method: "contains", value: `|${filter.value.roleKey}|` }
    case "creationDate":
      return timeFilter("created", filter.value)
    case "changeDate":
      return timeFilter("changed", filter.value)
    default:
      throw filterMissingError()
  }
}

const toGroupAdministrator = (
  row: GroupAdministratorRow,
): MessageInitShape<typeof GroupAdministratorSchema> => ({
  creationDate: toTimestamp(row.created),
  changeDate: toTimestamp(row.changed),
  group: { id: row.group_id, name: row.group_name, organizationId: row.group_org },
  resource: resourceOf(row),
  roles: [...row.roles],
})

/** Instance roles are shown to the user, and to callers who can see instance administrators. */
function listEffective(
  cx: Cx,
  { userId, pagination: requested }: ListEffectiveAdministratorsRequest,
) {
  const { caller } = cx
  const isCaller = caller.kind === "user" && caller.userId === userId
  const canSeeInstance =
    isCaller || caller.kind === "system" || cx.holdsOnInstance?.("iam.member.read")
  const all = [
    ...listOwnMemberships(cx, userId).map((each) => ({ ...each, groupId: "" })),
    ...listMembershipsFromGroups(cx, userId),
  ].filter(({ level }) => level !== "instance" || canSeeInstance)
  const found = paginate(cx, all, {
    page: parsePage(requested),
    requested: ["effective administrators", userId],
    by: ({ level, id, groupId }) => [level, id, groupId],
  })
  return {
    pagination: toPagination(found),
    effectiveAdministrators: found.rows.map((each) => toEffective(cx, each)),
  }
}

function toEffective(
  cx: Cx,
  { groupId, ...membership }: Membership & { readonly groupId: string },
): MessageInitShape<typeof EffectiveAdministratorSchema> {
  const { name, orgId: organizationId } = cx.store.state(cx, group, groupId)
  return {
    resource: resourceOf(rowOf(cx, membership)),
    roles: [...membership.roles],
    ...(groupId && { group: { id: groupId, name, organizationId } }),
  }
}

/** A membership as a row, with the names that lists join. */
function rowOf(cx: Cx, { level, id: target }: Membership): Parameters<typeof resourceOf>[0] {
  const grant = level === "grant" ? cx.store.state(cx, projectGrant, target) : undefined
  const projectId = grant?.projectId ?? (level === "project" ? target : "")
  const targetProject = cx.store.state(cx, project, projectId)
  return {
    level,
    target,
    project: projectId,
    project_name: targetProject.name,
    project_org: targetProject.orgId,
    org: grant?.grantedOrgId ?? (level === "project" ? targetProject.orgId : target),
    org_name: level === "org" ? cx.store.state(cx, org, target).name : null,
  }
}
