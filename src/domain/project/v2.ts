import { bindHandlers } from "../../api/method.ts"
import {
  GroupsClaim,
  PrivateLabelingSetting,
  ProjectState,
} from "../../gen/core/project/v2/project_pb.ts"
import {
  ProjectService,
  type UpdateProjectRequest,
} from "../../gen/core/project/v2/project_service_pb.ts"
import { toTimestamp, valueOfEnum } from "../../protocol/api/response.ts"
import type { Cx, Receipt } from "../../store/index.ts"
import {
  activateProject,
  deactivateProject,
  type UpdateProjectInput,
  updateProject,
} from "./commands.ts"
import { groupsClaims, privateLabelings } from "./model.ts"
import { getProject, type ProjectRow } from "./view.ts"

/**
 * All project operations except CreateProject, which also adds an administrator (see `member`),
 * DeleteProject, which also removes applications (see `app`), and ListProjects, which includes
 * granted projects (see `project-grant`).
 */
export const v2 = bindHandlers<Cx>()(ProjectService, {
  getProject: (req, cx) => ({ project: toProject(getProject(cx, req.projectId)) }),
  updateProject: async (req, cx) =>
    toChangeDate(await updateProject(cx, req.projectId, updateInputOf(req))),
  deactivateProject: async (req, cx) => toChangeDate(await deactivateProject(cx, req.projectId)),
  activateProject: async (req, cx) => toChangeDate(await activateProject(cx, req.projectId)),
})

const toChangeDate = (receipt: Receipt) => ({ changeDate: toTimestamp(receipt.changed) })

const updateInputOf = (req: UpdateProjectRequest): UpdateProjectInput => ({
  name: req.name,
  projectRoleAssertion: req.projectRoleAssertion,
  projectRoleCheck: req.authorizationRequired,
  hasProjectCheck: req.projectAccessRequired,
  privateLabelingSetting:
    req.privateLabelingSetting === undefined
      ? undefined
      : valueOfEnum(privateLabelings, req.privateLabelingSetting),
  groupsClaim: valueOfEnum(groupsClaims, req.groupsClaim),
})

/** A project as an API message, without how it belongs to the caller's organization. */
export const toProject = (row: Omit<ProjectRow, "version">) => ({
  projectId: row.id,
  organizationId: row.org,
  creationDate: toTimestamp(row.created),
  changeDate: toTimestamp(row.changed),
  name: row.name,
  state: row.state === "active" ? ProjectState.ACTIVE : ProjectState.INACTIVE,
  projectRoleAssertion: row.role_assertion,
  authorizationRequired: row.role_check,
  projectAccessRequired: row.has_project_check,
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
