import { share } from "../../api/method.ts"
import {
  GroupsClaim,
  PrivateLabelingSetting,
  ProjectState,
} from "../../gen/core/project/v2/project_pb.ts"
import {
  ProjectService,
  type UpdateProjectRequest,
} from "../../gen/core/project/v2/project_service_pb.ts"
import { at, meaning } from "../../protocol/api/answer.ts"
import type { Cx, Receipt } from "../../store/index.ts"
import {
  activateProject,
  changeProject,
  deactivateProject,
  type ProjectChange,
} from "./commands.ts"
import { groupsClaims, labelings } from "./model.ts"
import { findProject, type ProjectRow } from "./view.ts"

/**
 * All but CreateProject, which also makes an administrator (see the module of the members),
 * DeleteProject, which also removes applications (see theirs), and ListProjects, which also shows
 * what was granted (see the module of the grants).
 */
export const v2 = share<Cx>()(ProjectService, {
  getProject: (req, cx) => ({ project: toProject(findProject(cx, req.projectId)) }),
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

/** A project as it is shown, apart from how the caller comes to have it. */
export const toProject = (row: Omit<ProjectRow, "version">) => ({
  projectId: row.id,
  organizationId: row.org,
  creationDate: at(row.created),
  changeDate: at(row.changed),
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
