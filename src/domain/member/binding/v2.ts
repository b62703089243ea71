import { bindHandlers } from "../../../api/method.ts"
import type { ResourceType } from "../../../gen/core/internal_permission/v2/internal_permission_pb.ts"
import {
  type CreateAdministratorRequest,
  type DeleteAdministratorRequest,
  InternalPermissionService,
} from "../../../gen/core/internal_permission/v2/internal_permission_service_pb.ts"
import {
  type AddOrganizationRequest,
  type AddOrganizationRequest_Admin,
  OrganizationService,
} from "../../../gen/core/org/v2/organization_service_pb.ts"
import {
  type CreateProjectRequest,
  ProjectService,
} from "../../../gen/core/project/v2/project_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { parseResourceId } from "../../../kernel/text/identifier.ts"
import { toDetails, toTimestamp, valueOfEnum } from "../../../protocol/api/response.ts"
import type { Cx, Transaction } from "../../../store/index.ts"
import { parseOrgOidc } from "../../org/api.ts"
import { groupsClaims, privateLabelings } from "../../project/index.ts"
import { newHumanFrom, returnedCodesOf } from "../../user/api.ts"
import { addMember, removeMember, updateMember } from "../commands.ts"
import {
  type Administrator,
  createOrganizationWithAdmins,
  createProjectWithAdmins,
} from "../create.ts"
import type { Target } from "../model.ts"
import { canRemoveUser } from "../rank.ts"
import { findGrantTarget, memberChangedAt } from "../view.ts"

/** Commands of administrators; v2-search.ts has the queries. */
export const v2 = bindHandlers<Cx>()(InternalPermissionService, {
  createAdministrator: async (req, cx) => ({
    creationDate: await putAdministrator(cx, req, addMember),
  }),
  updateAdministrator: async (req, cx) => ({
    changeDate: await putAdministrator(cx, req, updateMember),
  }),
  deleteAdministrator: (req, cx) => removeAdministrator(cx, req),
})

/**
 * Organizations and projects are created with their first administrators, so these operations are
 * implemented here.
 */
export const orgV2 = bindHandlers<Cx>()(OrganizationService, {
  addOrganization: (req, cx) => addOrg(cx, req),
})

export const projectV2 = bindHandlers<Cx>()(ProjectService, {
  createProject: (req, cx) => addProject(cx, req),
})

type MemberRequest = Pick<
  CreateAdministratorRequest,
  "userId" | "resource" | "roles" | "confirmedCredentials"
>

async function putAdministrator(
  cx: Cx,
  { userId, resource, roles, confirmedCredentials: confirmed }: MemberRequest,
  act: typeof addMember,
) {
  const target = targetOf(cx, resource)
  const step = await cx.store.transact(cx, (tx: Transaction) => {
    act(tx, { target, userId, roles, confirmed })
    return tx.now
  })
  return toTimestamp(memberChangedAt(cx, target, userId) ?? step.value)
}

async function removeAdministrator(cx: Cx, { userId, resource }: DeleteAdministratorRequest) {
  const target = findTarget(cx, resource)
  const input = target && { target, userId, over: canRemoveUser(cx, userId) }
  const step = await cx.store.transact(cx, (tx) => input && removeMember(tx, input) && tx.now)
  if (step.value) return { deletionDate: toTimestamp(step.value) }
  // Callers who have access only because of the user must not learn about other resources.
  if (cx.fallback) throw cx.fallback
  return {}
}

/** The resource of a request. Throws if the request contains none. */
export function targetOf(cx: Cx, resource: ResourceType | undefined): Target {
  const target = findTarget(cx, resource)
  if (target) return target
  throw new Fault(
    "invalid_argument",
    "member.resource_missing",
    "resource is required, one of: instance, organization, project, project grant",
  )
}

export function findTarget(cx: Cx, resource: ResourceType | undefined): Target | undefined {
  const resourceCase = resource?.resource
  if (resourceCase?.case === "instance" && resourceCase.value) return { level: "instance" }
  if (resourceCase?.case === "organizationId") return { level: "org", id: resourceCase.value }
  if (resourceCase?.case === "projectId") return { level: "project", id: resourceCase.value }
  return resourceCase?.case === "projectGrant" ? findGrantTarget(cx, resourceCase.value) : undefined
}

async function addOrg(cx: Cx, req: AddOrganizationRequest) {
  const id = parseResourceId(cx.ids, "organization_id", req.organizationId ?? req.orgId)
  if (req.admins.length > adminsMax) {
    const message = `at most ${adminsMax} administrators are allowed`
    throw new Fault("invalid_argument", "org.admins_too_many", message)
  }
  const admins = await Promise.all(req.admins.map((admin) => administratorOf(cx, admin)))
  const oidc = req.oidcSettings && parseOrgOidc(req.oidcSettings)
  const receipt = await createOrganizationWithAdmins(cx, id, { name: req.name, oidc, admins })
  return {
    details: toDetails(receipt),
    organizationId: id,
    createdAdmins: admins.flatMap(({ userId, human }) =>
      human ? [{ userId, ...returnedCodesOf(human) }] : [],
    ),
  }
}

const adminsMax = 20

async function administratorOf(cx: Cx, req: AddOrganizationRequest_Admin): Promise<Administrator> {
  const { roles, userType } = req
  if (userType.case === "userId") return { userId: userType.value, roles }
  if (userType.case === undefined) {
    const message = "each administrator requires user_id or human"
    throw new Fault("invalid_argument", "org.admin_missing", message)
  }
  const { value } = userType
  if (value.organization) {
    const message = "a new administrator belongs to the new organization; omit organization"
    throw new Fault("invalid_argument", "org.admin_elsewhere", message)
  }
  const userId = parseResourceId(cx.ids, "user_id", value.userId)
  const { username: userName } = value
  return {
    userId,
    roles,
    human: { userName, ...(await newHumanFrom(cx, userId, value, { orgId: "", userName })) },
  }
}

async function addProject(cx: Cx, req: CreateProjectRequest) {
  const id = parseResourceId(cx.ids, "project_id", req.projectId)
  const { created } = await createProjectWithAdmins(cx, id, {
    orgId: req.organizationId,
    name: req.name,
    projectRoleAssertion: req.projectRoleAssertion,
    projectRoleCheck: req.authorizationRequired,
    hasProjectCheck: req.projectAccessRequired,
    privateLabelingSetting: valueOfEnum(privateLabelings, req.privateLabelingSetting),
    groupsClaim: valueOfEnum(groupsClaims, req.groupsClaim),
    admins: [],
  })
  return { projectId: id, creationDate: toTimestamp(created) }
}
