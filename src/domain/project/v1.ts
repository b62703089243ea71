import { share } from "../../api/method.ts"
import {
  type ListProjectsRequest,
  ManagementService,
  type UpdateProjectRequest,
} from "../../gen/core/management/v1/management_service_pb.ts"
import {
  PrivateLabelingSetting,
  type ProjectQuery,
  ProjectState,
} from "../../gen/core/project/v1/project_pb.ts"
import { Fault } from "../../kernel/fault.ts"
import { pageOf } from "../../kernel/page.ts"
import { at, details, filterMissingError, meaning } from "../../protocol/api/answer.ts"
import { selected } from "../../protocol/api/mask.ts"
import { type Cx, type Filter, search, type Transaction, textFilter } from "../../store/index.ts"
import { contextOrg } from "../org/index.ts"
import { activateProject, changeProject, deactivateProject } from "./commands.ts"
import { labelings, type ProjectFields, project } from "./model.ts"
import { findProject, type ProjectRow, projects } from "./view.ts"

/** All but AddProject and RemoveProject; see v2.ts. */
export const management = share<Cx>()(ManagementService, {
  getProjectByID: (req, cx) => ({ project: toProject(findProject(cx, req.id)) }),
  listProjects: (req, cx) => list(cx, req),
  updateProject: (req, cx) =>
    changing(cx, req.id, (tx) => changeProject.within(tx, req.id, selected(req, fieldsOf(req)))),
  deactivateProject: (req, cx) =>
    changing(cx, req.id, (tx) => deactivateProject.within(tx, req.id)),
  reactivateProject: (req, cx) => changing(cx, req.id, (tx) => activateProject.within(tx, req.id)),
})

/** v1 tells callers who change nothing so, where v2 lets them pass. */
async function changing(cx: Cx, id: string, act: (tx: Transaction) => void) {
  const step = await cx.store.transact(cx, (tx) => {
    const before = tx.state(project, id)
    act(tx)
    if (tx.state(project, id) === before) {
      throw new Fault("failed_precondition", "project.unchanged", "no changes: it is so already")
    }
  })
  return { details: details(step.receipt(project, id)) }
}

const fieldsOf = (req: UpdateProjectRequest): Omit<ProjectFields, "groupsClaim"> => ({
  name: req.name,
  projectRoleAssertion: req.projectRoleAssertion,
  projectRoleCheck: req.projectRoleCheck,
  hasProjectCheck: req.hasProjectCheck,
  privateLabelingSetting: meaning(labelings, req.privateLabelingSetting),
})

async function list(cx: Cx, req: ListProjectsRequest) {
  const found = await search<ProjectRow>(cx, projects, {
    page: pageOf(req.query),
    filters: [{ equals: "org", value: contextOrg(cx) }, ...req.queries.map(filterOf)],
  })
  return {
    details: {
      totalResult: BigInt(found.total),
      processedSequence: BigInt(cx.store.log.durable()),
      viewTimestamp: at(cx.clock.now()),
    },
    result: found.rows.map(toProject),
  }
}

function filterOf({ query }: ProjectQuery): Filter {
  switch (query.case) {
    case "nameQuery":
      return textFilter("name", query.value.name, query.value.method)
    case "projectResourceOwnerQuery":
      return { equals: "org", value: query.value.resourceOwner }
    default:
      throw filterMissingError()
  }
}

const toProject = (row: ProjectRow) => ({
  id: row.id,
  details: details({ ...row, owner: row.org }),
  name: row.name,
  state: row.state === "active" ? ProjectState.ACTIVE : ProjectState.INACTIVE,
  projectRoleAssertion: row.role_assertion,
  projectRoleCheck: row.role_check,
  hasProjectCheck: row.has_project_check,
  privateLabelingSetting: labelingNumbers[row.private_labeling],
})

const labelingNumbers = {
  unspecified: PrivateLabelingSetting.UNSPECIFIED,
  project_owner: PrivateLabelingSetting.ENFORCE_PROJECT_RESOURCE_OWNER_POLICY,
  login_user: PrivateLabelingSetting.ALLOW_LOGIN_USER_RESOURCE_OWNER_POLICY,
} as const
