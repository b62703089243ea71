import { share } from "../../api/method.ts"
import {
  GroupsClaim,
  ProjectOrganizationIDFilter_Type as OwnerType,
  PrivateLabelingSetting,
  ProjectFieldName,
  type ProjectOrganizationIDFilter,
  type ProjectSearchFilter,
  ProjectState,
} from "../../gen/core/project/v2/project_pb.ts"
import {
  type ListProjectsRequest,
  ProjectService,
  type UpdateProjectRequest,
} from "../../gen/core/project/v2/project_service_pb.ts"
import { at, filterMissing, meaning, pagination } from "../../kernel/answer.ts"
import { pageOf } from "../../kernel/page.ts"
import { type Cx, type Filter, type Receipt, search, textFilter } from "../../store/index.ts"
import {
  activateProject,
  changeProject,
  deactivateProject,
  type ProjectChange,
} from "./commands.ts"
import { groupsClaims, labelings } from "./model.ts"
import { findProject, type ProjectRow, projects } from "./view.ts"

/**
 * All but CreateProject, which also makes an administrator (see the room of the members), and
 * DeleteProject, which also removes applications (see theirs).
 */
export const v2 = share<Cx>()(ProjectService, {
  getProject: (req, cx) => ({ project: toProject(findProject(cx, req.projectId)) }),
  listProjects: (req, cx) => list(cx, req),
  updateProject: async (req, cx) => changed(await changeProject(cx, req.projectId, changeOf(req))),
  deactivateProject: async (req, cx) => changed(await deactivateProject(cx, req.projectId)),
  activateProject: async (req, cx) => changed(await activateProject(cx, req.projectId)),
})

const changed = (receipt: Receipt) => ({ changeDate: at(receipt.changed) })

const changeOf = (req: UpdateProjectRequest): ProjectChange => ({
  name: req.name,
  projectRoleAssertion: req.projectRoleAssertion,
  projectRoleCheck: req.authorizationRequired,
  hasProjectCheck: req.projectAccessRequired,
  privateLabelingSetting:
    req.privateLabelingSetting === undefined
      ? undefined
      : meaning(labelings, req.privateLabelingSetting),
  groupsClaim: meaning(groupsClaims, req.groupsClaim),
})

function list(cx: Cx, req: ListProjectsRequest) {
  const found = search<ProjectRow>(cx, projects, {
    page: pageOf(req.pagination),
    sort: meaning(columns, req.sortingColumn ?? ProjectFieldName.UNSPECIFIED),
    filters: req.filters.map(filterOf),
  })
  return { pagination: pagination(found), projects: found.rows.map(toProject) }
}

const columns = {
  [ProjectFieldName.UNSPECIFIED]: "created",
  [ProjectFieldName.ID]: "id",
  [ProjectFieldName.CREATION_DATE]: "created",
  [ProjectFieldName.CHANGE_DATE]: "changed",
  [ProjectFieldName.NAME]: "name_folded",
} as const

function filterOf({ filter }: ProjectSearchFilter): Filter {
  switch (filter.case) {
    case "projectNameFilter":
      return textFilter("name", filter.value.projectName, filter.value.method)
    case "inProjectIdsFilter":
      return { oneOf: "id", values: filter.value.ids }
    case "organizationIdFilter":
      return ofOrganization(filter.value)
    default:
      throw filterMissing()
  }
}

/** Nothing grants projects to other organisations yet, so nobody has one by a grant. */
function ofOrganization({ organizationId, type }: ProjectOrganizationIDFilter): Filter {
  const owned: Filter = { equals: "org", value: organizationId }
  return type === OwnerType.GRANTED ? { any: [] } : owned
}

const toProject = (row: ProjectRow) => ({
  projectId: row.id,
  organizationId: row.org,
  creationDate: at(row.created),
  changeDate: at(row.changed),
  name: row.name,
  state: row.state === "active" ? ProjectState.ACTIVE : ProjectState.INACTIVE,
  projectRoleAssertion: row.role_assertion === 1,
  authorizationRequired: row.role_check === 1,
  projectAccessRequired: row.has_project_check === 1,
  privateLabelingSetting: labelingNumbers[row.private_labeling],
  groupsClaim: groupsNumbers[row.groups_claim],
})

const groupsNumbers = {
  off: GroupsClaim.OFF,
  groups: GroupsClaim.GROUPS,
  roles: GroupsClaim.ROLES,
} as const

const labelingNumbers = {
  unspecified: PrivateLabelingSetting.UNSPECIFIED,
  project_owner: PrivateLabelingSetting.ENFORCE_PROJECT_RESOURCE_OWNER_POLICY,
  login_user: PrivateLabelingSetting.ALLOW_LOGIN_USER_RESOURCE_OWNER_POLICY,
} as const
