import { share } from "../../../api/method.ts"
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
import { givenId } from "../../../kernel/text/given.ts"
import { at, details, meaning } from "../../../protocol/api/answer.ts"
import type { Cx, Transaction } from "../../../store/index.ts"
import { orgOidcOf } from "../../org/api.ts"
import { groupsClaims, labelings } from "../../project/index.ts"
import { codesOf, newHuman } from "../../user/api.ts"
import { addMember, changeMember, removeMember } from "../commands.ts"
import {
  type Administrator,
  createOrganizationWithAdmins,
  createProjectWithAdmins,
} from "../create.ts"
import type { Target } from "../model.ts"
import { isOver } from "../rank.ts"
import { grantTarget, memberChanged } from "../view.ts"

/** Changing administrators; looking at them is in v2search.ts. */
export const v2 = share<Cx>()(InternalPermissionService, {
  createAdministrator: async (req, cx) => ({ creationDate: await put(cx, req, addMember) }),
  updateAdministrator: async (req, cx) => ({ changeDate: await put(cx, req, changeMember) }),
  deleteAdministrator: (req, cx) => remove(cx, req),
})

/** Organisations and projects begin with administrators, so they are made here. */
export const orgV2 = share<Cx>()(OrganizationService, {
  addOrganization: (req, cx) => addOrg(cx, req),
})

export const projectV2 = share<Cx>()(ProjectService, {
  createProject: (req, cx) => addProject(cx, req),
})

type MemberRequest = Pick<
  CreateAdministratorRequest,
  "userId" | "resource" | "roles" | "confirmedCredentials"
>

async function put(
  cx: Cx,
  { userId, resource, roles, confirmedCredentials: confirmed }: MemberRequest,
  act: typeof addMember,
) {
  const target = targetOf(cx, resource)
  const step = await cx.store.transact(cx, (tx: Transaction) => {
    act(tx, { target, userId, roles, confirmed })
    return tx.now
  })
  return at(memberChanged(cx, target, userId) ?? step.value)
}

async function remove(cx: Cx, { userId, resource }: DeleteAdministratorRequest) {
  const target = findTarget(cx, resource)
  const input = target && { target, userId, over: isOver(cx, userId) }
  const step = await cx.store.transact(cx, (tx) => input && removeMember(tx, input) && tx.now)
  if (step.value) return { deletionDate: at(step.value) }
  // Who isn't let in to a thing but for the user's sake learns nothing of others.
  if (cx.fallback) throw cx.fallback
  return {}
}

/** The thing that a request names; faults where it names none. */
export function targetOf(cx: Cx, resource: ResourceType | undefined): Target {
  const target = findTarget(cx, resource)
  if (target) return target
  throw new Fault(
    "invalid_argument",
    "member.resource_missing",
    "say what the user administers: the instance, an organisation, a project or a grant of one",
  )
}

export function findTarget(cx: Cx, resource: ResourceType | undefined): Target | undefined {
  const named = resource?.resource
  if (named?.case === "instance" && named.value) return { level: "instance" }
  if (named?.case === "organizationId") return { level: "org", id: named.value }
  if (named?.case === "projectId") return { level: "project", id: named.value }
  return named?.case === "projectGrant" ? grantTarget(cx, named.value) : undefined
}

async function addOrg(cx: Cx, req: AddOrganizationRequest) {
  const id = givenId(cx.ids, "organization_id", req.organizationId ?? req.orgId)
  if (req.admins.length > adminsMax) {
    const message = `name at most ${adminsMax} administrators`
    throw new Fault("invalid_argument", "org.admins_too_many", message)
  }
  const admins = await Promise.all(req.admins.map((admin) => adminOf(cx, admin)))
  const oidc = req.oidcSettings && orgOidcOf(req.oidcSettings)
  const receipt = await createOrganizationWithAdmins(cx, id, { name: req.name, oidc, admins })
  return {
    details: details(receipt),
    organizationId: id,
    createdAdmins: admins.flatMap(({ userId, human }) =>
      human ? [{ userId, ...codesOf(human) }] : [],
    ),
  }
}

const adminsMax = 20

async function adminOf(cx: Cx, req: AddOrganizationRequest_Admin): Promise<Administrator> {
  const { roles, userType } = req
  if (userType.case === "userId") return { userId: userType.value, roles }
  if (userType.case === undefined) {
    const message = "say who each administrator is with user_id or human"
    throw new Fault("invalid_argument", "org.admin_missing", message)
  }
  const { value } = userType
  if (value.organization) {
    const message = "a new administrator belongs to the new organisation; leave organization out"
    throw new Fault("invalid_argument", "org.admin_elsewhere", message)
  }
  const userId = givenId(cx.ids, "user_id", value.userId)
  const { username: userName } = value
  return {
    userId,
    roles,
    human: { userName, ...(await newHuman(cx, userId, value, { orgId: "", userName })) },
  }
}

async function addProject(cx: Cx, req: CreateProjectRequest) {
  const id = givenId(cx.ids, "project_id", req.projectId)
  const { created } = await createProjectWithAdmins(cx, id, {
    orgId: req.organizationId,
    name: req.name,
    projectRoleAssertion: req.projectRoleAssertion,
    projectRoleCheck: req.authorizationRequired,
    hasProjectCheck: req.projectAccessRequired,
    privateLabelingSetting: meaning(labelings, req.privateLabelingSetting),
    groupsClaim: meaning(groupsClaims, req.groupsClaim),
    admins: [],
  })
  return { projectId: id, creationDate: at(created) }
}
