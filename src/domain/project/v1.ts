import { bindHandlers } from "../../api/method.ts"
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
import { parsePage } from "../../kernel/page.ts"
import { selectMasked } from "../../protocol/api/mask.ts"
import {
  filterMissingError,
  toDetails,
  toTimestamp,
  valueOfEnum,
} from "../../protocol/api/response.ts"
import { type Cx, type Filter, search, type Transaction, textFilter } from "../../store/index.ts"
import { contextOrg } from "../org/index.ts"
import { activateProject, deactivateProject, updateProject } from "./commands.ts"
import { type ProjectFields, privateLabelings, project } from "./model.ts"
import { getProject, type ProjectRow, projects } from "./view.ts"

/** All project operations except AddProject and RemoveProject; see v2.ts. */
export const management = bindHandlers<Cx>()(ManagementService, {
  getProjectByID: (req, cx) => ({ project: toProject(getProject(cx, req.id)) }),
  listProjects: (req, cx) => listProjects(cx, req),
  updateProject: (req, cx) =>
    requireChange(cx, req.id, (tx) =>
      updateProject.within(tx, req.id, selectMasked(req, fieldsOf(req))),
    ),
  deactivateProject: (req, cx) =>
    requireChange(cx, req.id, (tx) => deactivateProject.within(tx, req.id)),
  reactivateProject: (req, cx) =>
    requireChange(cx, req.id, (tx) => activateProject.within(tx, req.id)),
})

/** v1 rejects a request that changes nothing; v2 accepts it. */
async function requireChange(cx: Cx, id: string, act: (tx: Transaction) => void) {
  const step = await cx.store.transact(cx, (tx) => {
    const before = tx.state(project, id)
    act(tx)
    if (tx.state(project, id) === before) {
      throw new Fault(
        "failed_precondition",
        "project.unchanged",
        "nothing to update: the project already has these values",
      )
    }
  })
  return { details: toDetails(step.receipt(project, id)) }
}

const fieldsOf = (req: UpdateProjectRequest): Omit<ProjectFields, "groupsClaim"> => ({
  name: req.name,
  projectRoleAssertion: req.projectRoleAssertion,
  projectRoleCheck: req.projectRoleCheck,
  hasProjectCheck: req.hasProjectCheck,
  privateLabelingSetting: valueOfEnum(privateLabelings, req.privateLabelingSetting),
})

async function listProjects(cx: Cx, req: ListProjectsRequest) {
  const found = await search<ProjectRow>(cx, projects, {
    page: parsePage(req.query),
    filters: [{ equals: "org", value: contextOrg(cx) }, ...req.queries.map(filterOf)],
  })
  return {
    details: {
      totalResult: BigInt(found.total),
      processedSequence: BigInt(cx.store.log.durable()),
      viewTimestamp: toTimestamp(cx.clock.now()),
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
  details: toDetails({ ...row, owner: row.org }),
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
