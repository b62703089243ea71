import { PrivateLabelingSetting } from "../../../gen/core/project/v1/project_pb.ts"
import { GroupsClaim } from "../../../gen/core/project/v2/project_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { parseResourceId } from "../../../kernel/text/identifier.ts"
import { valueOfEnum } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import {
  addAuthorization,
  authorization,
  deactivateAuthorization,
} from "../../authorization/index.ts"
import { requireInstance } from "../../instance/index.ts"
import { addMember } from "../../member/index.ts"
import { addProject, addRoles, deactivateProject, project } from "../../project/index.ts"
import {
  addGrant,
  currentGrantedKeys,
  deactivateGrant,
  projectGrant,
} from "../../project-grant/index.ts"
import { idsIn, membersIn, rolesIn } from "../list.ts"
import { itemKind, permissionsFor } from "./v1-item-kind.ts"

/** The project of the console, which every instance has itself, is not transferred. */
export const isConsoleProject = (cx: Cx, projectId: string): boolean =>
  requireInstance(cx).projectId === projectId

export async function* projectsIn(cx: Cx, orgId: string): AsyncGenerator<string> {
  for await (const id of idsIn(cx, "projects", orgId)) if (!isConsoleProject(cx, id)) yield id
}

const labelings = {
  unspecified: PrivateLabelingSetting.UNSPECIFIED,
  project_owner: PrivateLabelingSetting.ENFORCE_PROJECT_RESOURCE_OWNER_POLICY,
  login_user: PrivateLabelingSetting.ALLOW_LOGIN_USER_RESOURCE_OWNER_POLICY,
} as const
const labelingNames = ["unspecified", "project_owner", "login_user"] as const

const groupsClaims = {
  off: GroupsClaim.OFF,
  groups: GroupsClaim.GROUPS,
  roles: GroupsClaim.ROLES,
} as const
const groupsClaimNames = ["unspecified", "off", "groups", "roles"] as const

export const projectRow = itemKind({
  field: "projects",
  needs: { read: "project.read", write: ["project.create"] },
  from: ({ projects }) => projects,
  async *read(cx, orgId) {
    for await (const projectId of projectsIn(cx, orgId)) {
      const state = cx.store.state(cx, project, projectId)
      const { name, projectRoleAssertion, projectRoleCheck, hasProjectCheck } = state
      const privateLabelingSetting = labelings[state.privateLabelingSetting]
      const flags = { projectRoleAssertion, projectRoleCheck, hasProjectCheck }
      const groupsClaim = groupsClaims[state.groupsClaim]
      const inactive = state.status === "inactive"
      const message = { name, ...flags, privateLabelingSetting }
      yield { projects: [{ projectId, project: message, groupsClaim, inactive }] }
    }
  },
  write: async (cx, orgId, { projectId, project: resource, groupsClaim, inactive }) => {
    if (!resource) throw emptyMessageError("project")
    const { privateLabelingSetting: labeling, admins, $typeName: _, ...fields } = resource
    if (admins.length > 0) throw projectAdminsError()
    const id = parseResourceId(cx.ids, "project_id", projectId)
    const privateLabelingSetting = valueOfEnum(labelingNames, labeling)
    const projectFields = {
      privateLabelingSetting,
      groupsClaim: valueOfEnum(groupsClaimNames, groupsClaim),
    }
    await cx.store.transact(cx, (tx) => {
      addProject(tx, id, { ...fields, ...projectFields, orgId })
      if (inactive) deactivateProject.within(tx, id)
    })
  },
  idOf: ({ projectId }) => projectId,
  successOf: ({ projectId }) => ({ projectIds: [projectId] }),
})

export const roleRow = itemKind({
  field: "projectRoles",
  needs: permissionsFor("project.role"),
  from: ({ projectRoles }) => projectRoles,
  async *read(cx, orgId) {
    for await (const projectId of projectsIn(cx, orgId)) {
      for (const { role_key: roleKey, display_name: displayName, role_group: group } of rolesIn(
        cx,
        projectId,
      )) {
        yield { projectRoles: [{ projectId, roleKey, displayName, group }] }
      }
    }
  },
  write: async (cx, orgId, { projectId, roleKey: key, displayName, group }) => {
    requireOwnProject(cx, orgId, projectId)
    await addRoles(cx, projectId, [{ key, displayName, group }])
  },
  lane: ({ projectId }) => projectId,
  idOf: ({ projectId, roleKey }) => `${projectId}/${roleKey}`,
  successOf: ({ projectId, roleKey }) => ({ projectRoles: [`${projectId}/${roleKey}`] }),
})

export const grantRow = itemKind({
  field: "projectGrants",
  needs: permissionsFor("project.grant"),
  from: ({ projectGrants }) => projectGrants,
  async *read(cx, orgId) {
    for await (const grantId of idsIn(cx, "projectGrants", orgId)) {
      const state = cx.store.state(cx, projectGrant, grantId)
      const { projectId, grantedOrgId } = state
      if (isConsoleProject(cx, projectId)) continue
      const roleKeys = [...currentGrantedKeys(cx.store.state(cx, project, projectId), state)].sort()
      const inactive = state.status === "inactive"
      const resource = { projectId, grantedOrgId, roleKeys }
      yield { projectGrants: [{ grantId, projectGrant: resource, inactive }] }
    }
  },
  write: async (cx, orgId, { grantId, projectGrant: resource, inactive }) => {
    if (!resource) throw emptyMessageError("project grant")
    requireOwnProject(cx, orgId, resource.projectId)
    const id = parseResourceId(cx.ids, "grant_id", grantId)
    await cx.store.transact(cx, (tx) => {
      requireNew(tx.state(projectGrant, id))
      addGrant(tx, id, resource)
      if (inactive) deactivateGrant.within(tx, id)
    })
  },
  idOf: ({ grantId }) => grantId,
  successOf: ({ grantId, projectGrant: resource }, orgId) => ({
    projectGrants: [{ grantId, projectId: resource?.projectId ?? "", orgId }],
  }),
})

export const userGrantRow = itemKind({
  field: "userGrants",
  needs: permissionsFor("user.grant"),
  from: ({ userGrants }) => userGrants,
  async *read(cx, orgId) {
    for await (const id of idsIn(cx, "authorizations", orgId)) {
      const state = cx.store.state(cx, authorization, id)
      const { userId, projectId, grantId: projectGrantId } = state
      const inactive = state.status === "inactive"
      const roleKeys = [...state.roleKeys].sort()
      yield { userGrants: [{ id, userId, projectId, projectGrantId, roleKeys, inactive }] }
    }
  },
  write: async (cx, orgId, { id: resource, userId, projectId, roleKeys, inactive }) => {
    const id = parseResourceId(cx.ids, "id", resource)
    await cx.store.transact(cx, (tx) => {
      requireNew(tx.state(authorization, id))
      addAuthorization(tx, id, { userId, projectId, orgId, roleKeys })
      if (inactive) deactivateAuthorization.within(tx, id)
    })
  },
  lane: ({ userId }) => userId,
  idOf: ({ id, userId, projectId }) => id || `${userId}/${projectId}`,
  successOf: ({ userId, projectId }) => ({ userGrants: [{ userId, projectId }] }),
})

const splitRoles = (roles: string): string[] => roles.split("|").filter(Boolean)

export const orgMemberRow = itemKind({
  field: "orgMembers",
  needs: permissionsFor("org.member"),
  from: ({ orgMembers }) => orgMembers,
  *read(cx, orgId) {
    for (const { user_id: userId, roles } of membersIn(cx, "org", orgId)) {
      yield { orgMembers: [{ userId, roles: splitRoles(roles) }] }
    }
  },
  write: async (cx, orgId, { userId, roles }) => {
    const target = { level: "org", id: orgId } as const
    await cx.store.transact(cx, (tx) => addMember(tx, { target, userId, roles }))
  },
  idOf: ({ userId }) => userId,
  successOf: ({ userId }) => ({ orgMembers: [userId] }),
})

export const projectMemberRow = itemKind({
  field: "projectMembers",
  needs: permissionsFor("project.member"),
  from: ({ projectMembers }) => projectMembers,
  *read(cx, orgId) {
    for (const { target: projectId, user_id: userId, roles } of membersIn(cx, "project", orgId)) {
      if (isConsoleProject(cx, projectId)) continue
      yield { projectMembers: [{ projectId, userId, roles: splitRoles(roles) }] }
    }
  },
  write: async (cx, orgId, { projectId, userId, roles }) => {
    requireOwnProject(cx, orgId, projectId)
    const target = { level: "project", id: projectId } as const
    await cx.store.transact(cx, (tx) => addMember(tx, { target, userId, roles }))
  },
  idOf: ({ projectId, userId }) => `${projectId}/${userId}`,
  successOf: ({ projectId, userId }) => ({ projectMembers: [{ projectId, userId }] }),
})

/** They belong to the organization that received the grant. */
export const grantMemberRow = itemKind({
  field: "projectGrantMembers",
  needs: permissionsFor("project.grant.member"),
  from: ({ projectGrantMembers }) => projectGrantMembers,
  *read(cx, orgId) {
    for (const { target: grantId, user_id: userId, roles } of membersIn(cx, "grant", orgId)) {
      const { projectId } = cx.store.state(cx, projectGrant, grantId)
      yield { projectGrantMembers: [{ projectId, grantId, userId, roles: splitRoles(roles) }] }
    }
  },
  write: async (cx, _, { grantId, userId, roles }) => {
    const target = { level: "grant", id: grantId } as const
    await cx.store.transact(cx, (tx) => addMember(tx, { target, userId, roles }))
  },
  idOf: ({ grantId, userId }) => `${grantId}/${userId}`,
  successOf: ({ projectId, grantId, userId }) => ({
    projectGrantMembers: [{ projectId, grantId, userId }],
  }),
})

/** The data of an organization can refer only to its own projects. */
export function requireOwnProject(cx: Cx, orgId: string, projectId: string): void {
  if (cx.store.state(cx, project, projectId).orgId === orgId && !isConsoleProject(cx, projectId))
    return
  throw new Fault("not_found", "project.missing", "project not found in this organization")
}

/** IDs are never reused. */
export function requireNew({ status }: { readonly status: string }): void {
  if (status === "absent") return
  throw new Fault("already_exists", "transfer.exists", "this ID is or was already in use")
}

export const emptyMessageError = (messageName: string) =>
  new Fault("invalid_argument", "transfer.empty", `the ${messageName} message is empty`)

const projectAdminsError = () =>
  new Fault(
    "invalid_argument",
    "transfer.admins",
    "name the administrators of the project in project_members: users are imported after " +
      "projects",
  )
