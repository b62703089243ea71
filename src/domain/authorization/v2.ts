import { bindHandlers } from "../../api/method.ts"
import {
  AuthorizationFieldName,
  type AuthorizationsSearchFilter,
  State,
} from "../../gen/core/authorization/v2/authorization_pb.ts"
import {
  AuthorizationService,
  type CreateAuthorizationRequest,
  type ListAuthorizationsRequest,
} from "../../gen/core/authorization/v2/authorization_service_pb.ts"
import { parsePage } from "../../kernel/page.ts"
import {
  filterMissingError,
  toPagination,
  toTimestamp,
  valueOfEnum,
} from "../../protocol/api/response.ts"
import { type Cx, type Filter, type Receipt, search, textFilter } from "../../store/index.ts"
import { avatarUrl } from "../user/index.ts"
import {
  activateAuthorization,
  createAuthorization,
  deactivateAuthorization,
  removeAuthorization,
  updateAuthorization,
} from "./commands.ts"
import type { AuthorizationStatus } from "./model.ts"
import { type AuthorizationRow, authorizations, hasRoleFilter, listRolesOf } from "./view.ts"

export const v2 = bindHandlers<Cx>()(AuthorizationService, {
  listAuthorizations: (req, cx) => listAuthorizations(cx, req),
  createAuthorization: (req, cx) => createFromRequest(cx, req),
  updateAuthorization: async (req, cx) =>
    toChangeDate(await updateAuthorization(cx, req.id, req.roleKeys)),
  deleteAuthorization: async (req, cx) => {
    const receipt = await removeAuthorization(cx, req.id)
    return { deletionDate: toTimestamp(receipt.changed) }
  },
  activateAuthorization: async (req, cx) => toChangeDate(await activateAuthorization(cx, req.id)),
  deactivateAuthorization: async (req, cx) =>
    toChangeDate(await deactivateAuthorization(cx, req.id)),
})

const toChangeDate = (receipt: Receipt) => ({ changeDate: toTimestamp(receipt.changed) })

async function createFromRequest(cx: Cx, req: CreateAuthorizationRequest) {
  const { userId, projectId, organizationId: orgId, roleKeys } = req
  const id = cx.ids.next()
  const receipt = await createAuthorization(cx, id, { userId, projectId, orgId, roleKeys })
  return { id, creationDate: toTimestamp(receipt.created) }
}

async function listAuthorizations(cx: Cx, req: ListAuthorizationsRequest) {
  const found = await search<AuthorizationRow>(cx, authorizations, {
    page: parsePage(req.pagination),
    sort: valueOfEnum(columns, req.sortingColumn),
    filters: req.filters.map((filter) => filterOf(cx, filter, req.filters)),
  })
  const messages = found.rows.map((row) => toAuthorization(cx, row))
  return { pagination: toPagination(found), authorizations: messages }
}

const columns = {
  [AuthorizationFieldName.UNSPECIFIED]: "created",
  [AuthorizationFieldName.CREATED_DATE]: "created",
  [AuthorizationFieldName.CHANGED_DATE]: "changed",
  [AuthorizationFieldName.ID]: "id",
  [AuthorizationFieldName.USER_ID]: "user_id",
  [AuthorizationFieldName.PROJECT_ID]: "project",
  [AuthorizationFieldName.ORGANIZATION_ID]: "org",
  [AuthorizationFieldName.USER_ORGANIZATION_ID]: "user_org",
} as const

function filterOf(
  cx: Cx,
  { filter }: AuthorizationsSearchFilter,
  all: readonly AuthorizationsSearchFilter[],
): Filter {
  switch (filter.case) {
    case "authorizationIds":
      return { oneOf: "id", values: filter.value.ids }
    case "organizationId":
      return { equals: "org", value: filter.value.id }
    case "state":
      return { equals: "state", value: valueOfEnum(states, filter.value.state) }
    case "inUserIds":
      return { oneOf: "user_id", values: filter.value.ids }
    case "userOrganizationId":
      return { equals: "user_org", value: filter.value.id }
    case "userPreferredLoginName":
      return textFilter("login_name", filter.value.loginName, filter.value.method)
    case "userDisplayName":
      return textFilter("display_name", filter.value.displayName, filter.value.method)
    case "projectId":
      return { equals: "project", value: filter.value.id }
    case "projectName":
      return textFilter("project_name", filter.value.name, filter.value.method)
    case "roleKey": {
      const key = textFilter("role_key", filter.value.key, filter.value.method)
      const narrowing = all.filter((each) => narrows.has(each.filter.case ?? ""))
      const others = narrowing.map((each) => filterOf(cx, each, []))
      return hasRoleFilter([key, ...others])
    }
    case "projectGrantId":
      return { equals: "grant_id", value: filter.value.id }
    case undefined:
      throw filterMissingError()
  }
}

/** Other filters limit how many roles must be read. */
const narrows: ReadonlySet<string> = new Set([
  "authorizationIds",
  "organizationId",
  "inUserIds",
  "projectId",
  "projectGrantId",
])

const states: Readonly<Record<number, AuthorizationStatus>> = {
  [State.ACTIVE]: "active",
  [State.INACTIVE]: "inactive",
}

const toAuthorization = (cx: Cx, row: AuthorizationRow) => ({
  id: row.id,
  creationDate: toTimestamp(row.created),
  changeDate: toTimestamp(row.changed),
  project: { id: row.project, name: row.project_name, organizationId: row.project_org },
  organization: { id: row.org, name: row.org_name },
  user: {
    id: row.user_id,
    preferredLoginName: row.login_name,
    avatarUrl: avatarUrl(cx, row.user_id),
    displayName: row.display_name,
    organizationId: row.user_org,
  },
  state: row.state === "active" ? State.ACTIVE : State.INACTIVE,
  roles: [...listRolesOf(cx, row.id)],
})
