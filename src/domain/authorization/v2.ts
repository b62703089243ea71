import { share } from "../../api/method.ts"
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
import { pageOf } from "../../kernel/page.ts"
import { at, filterMissingError, meaning, pagination } from "../../protocol/api/answer.ts"
import { type Cx, type Filter, type Receipt, search, textFilter } from "../../store/index.ts"
import { avatarAddress } from "../user/index.ts"
import {
  activateAuthorization,
  changeAuthorization,
  createAuthorization,
  deactivateAuthorization,
  removeAuthorization,
} from "./commands.ts"
import type { AuthorizationStatus } from "./model.ts"
import { type AuthorizationRow, authorizations, hasRole, shownRoles } from "./view.ts"

export const v2 = share<Cx>()(AuthorizationService, {
  listAuthorizations: (req, cx) => list(cx, req),
  createAuthorization: (req, cx) => create(cx, req),
  updateAuthorization: async (req, cx) =>
    changed(await changeAuthorization(cx, req.id, req.roleKeys)),
  deleteAuthorization: async (req, cx) => {
    const receipt = await removeAuthorization(cx, req.id)
    return { deletionDate: at(receipt.changed) }
  },
  activateAuthorization: async (req, cx) => changed(await activateAuthorization(cx, req.id)),
  deactivateAuthorization: async (req, cx) => changed(await deactivateAuthorization(cx, req.id)),
})

const changed = (receipt: Receipt) => ({ changeDate: at(receipt.changed) })

async function create(cx: Cx, req: CreateAuthorizationRequest) {
  const { userId, projectId, organizationId: orgId, roleKeys } = req
  const id = cx.ids.next()
  const receipt = await createAuthorization(cx, id, { userId, projectId, orgId, roleKeys })
  return { id, creationDate: at(receipt.created) }
}

async function list(cx: Cx, req: ListAuthorizationsRequest) {
  const found = await search<AuthorizationRow>(cx, authorizations, {
    page: pageOf(req.pagination),
    sort: meaning(columns, req.sortingColumn),
    filters: req.filters.map((filter) => filterOf(cx, filter, req.filters)),
  })
  const shown = found.rows.map((row) => toAuthorization(cx, row))
  return { pagination: pagination(found), authorizations: shown }
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
      return { equals: "state", value: meaning(states, filter.value.state) }
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
      return hasRole([key, ...others])
    }
    case "projectGrantId":
      return { equals: "grant_id", value: filter.value.id }
    case undefined:
      throw filterMissingError()
  }
}

/** What else is asked for bounds how many roles are looked at. */
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
  creationDate: at(row.created),
  changeDate: at(row.changed),
  project: { id: row.project, name: row.project_name, organizationId: row.project_org },
  organization: { id: row.org, name: row.org_name },
  user: {
    id: row.user_id,
    preferredLoginName: row.login_name,
    avatarUrl: avatarAddress(cx, row.user_id),
    displayName: row.display_name,
    organizationId: row.user_org,
  },
  state: row.state === "active" ? State.ACTIVE : State.INACTIVE,
  roles: [...shownRoles(cx, row.id)],
})
