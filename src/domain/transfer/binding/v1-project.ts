import { PrivateLabelingSetting } from "../../../gen/core/project/v1/project_pb.ts"
import { GroupsClaim } from "../../../gen/core/project/v2/project_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { givenId } from "../../../kernel/text/given.ts"
import { meaning } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import {
  addAuthorization,
  authorization,
  deactivateAuthorization,
} from "../../authorization/index.ts"
import { requireInstance } from "../../instance/index.ts"
import { addMember } from "../../member/index.ts"
import { addProject, addRoles, deactivateProject, project } from "../../project/index.ts"
import { addGrant, deactivateGrant, keysGranted, projectGrant } from "../../project-grant/index.ts"
import { idsIn, membersIn, rolesIn } from "../list.ts"
import { needs, row } from "./v1-row.ts"

/** The instance's own project, with the console in it, is each instance's own. */
export const isOwn = (cx: Cx, projectId: string): boolean =>
  requireInstance(cx).projectId === projectId

export async function* projectsIn(cx: Cx, orgId: string): AsyncGenerator<string> {
  for await (const id of idsIn(cx, "projects", orgId)) if (!isOwn(cx, id)) yield id
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

export const projectRow = row({
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
  write: async (cx, orgId, { projectId, project: given, groupsClaim, inactive }) => {
    if (!given) throw emptyError("project")
    const { privateLabelingSetting: labeling, admins, $typeName: _, ...fields } = given
    if (admins.length > 0) throw adminsError()
    const id = givenId(cx.ids, "project_id", projectId)
    const privateLabelingSetting = meaning(labelingNames, labeling)
    const said = { privateLabelingSetting, groupsClaim: meaning(groupsClaimNames, groupsClaim) }
    await cx.store.transact(cx, (tx) => {
      addProject(tx, id, { ...fields, ...said, orgId })
      if (inactive) deactivateProject.within(tx, id)
    })
  },
  idOf: ({ projectId }) => projectId,
  taken: ({ projectId }) => ({ projectIds: [projectId] }),
})

export const roleRow = row({
  field: "projectRoles",
  needs: needs("project.role"),
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
    mustOwn(cx, orgId, projectId)
    await addRoles(cx, projectId, [{ key, displayName, group }])
  },
  lane: ({ projectId }) => projectId,
  idOf: ({ projectId, roleKey }) => `${projectId}/${roleKey}`,
  taken: ({ projectId, roleKey }) => ({ projectRoles: [`${projectId}/${roleKey}`] }),
})

export const grantRow = row({
  field: "projectGrants",
  needs: needs("project.grant"),
  from: ({ projectGrants }) => projectGrants,
  async *read(cx, orgId) {
    for await (const grantId of idsIn(cx, "projectGrants", orgId)) {
      const state = cx.store.state(cx, projectGrant, grantId)
      const { projectId, grantedOrgId } = state
      if (isOwn(cx, projectId)) continue
      const roleKeys = [...keysGranted(cx.store.state(cx, project, projectId), state)].sort()
      const inactive = state.status === "inactive"
      const given = { projectId, grantedOrgId, roleKeys }
      yield { projectGrants: [{ grantId, projectGrant: given, inactive }] }
    }
  },
  write: async (cx, orgId, { grantId, projectGrant: given, inactive }) => {
    if (!given) throw emptyError("project grant")
    mustOwn(cx, orgId, given.projectId)
    const id = givenId(cx.ids, "grant_id", grantId)
    await cx.store.transact(cx, (tx) => {
      mustBeNew(tx.state(projectGrant, id))
      addGrant(tx, id, given)
      if (inactive) deactivateGrant.within(tx, id)
    })
  },
  idOf: ({ grantId }) => grantId,
  taken: ({ grantId, projectGrant: given }, orgId) => ({
    projectGrants: [{ grantId, projectId: given?.projectId ?? "", orgId }],
  }),
})

export const userGrantRow = row({
  field: "userGrants",
  needs: needs("user.grant"),
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
  write: async (cx, orgId, { id: given, userId, projectId, roleKeys, inactive }) => {
    const id = givenId(cx.ids, "id", given)
    await cx.store.transact(cx, (tx) => {
      mustBeNew(tx.state(authorization, id))
      addAuthorization(tx, id, { userId, projectId, orgId, roleKeys })
      if (inactive) deactivateAuthorization.within(tx, id)
    })
  },
  lane: ({ userId }) => userId,
  idOf: ({ id, userId, projectId }) => id || `${userId}/${projectId}`,
  taken: ({ userId, projectId }) => ({ userGrants: [{ userId, projectId }] }),
})

const rolesOf = (roles: string): string[] => roles.split("|").filter(Boolean)

export const orgMemberRow = row({
  field: "orgMembers",
  needs: needs("org.member"),
  from: ({ orgMembers }) => orgMembers,
  *read(cx, orgId) {
    for (const { user_id: userId, roles } of membersIn(cx, "org", orgId)) {
      yield { orgMembers: [{ userId, roles: rolesOf(roles) }] }
    }
  },
  write: async (cx, orgId, { userId, roles }) => {
    const target = { level: "org", id: orgId } as const
    await cx.store.transact(cx, (tx) => addMember(tx, { target, userId, roles }))
  },
  idOf: ({ userId }) => userId,
  taken: ({ userId }) => ({ orgMembers: [userId] }),
})

export const projectMemberRow = row({
  field: "projectMembers",
  needs: needs("project.member"),
  from: ({ projectMembers }) => projectMembers,
  *read(cx, orgId) {
    for (const { target: projectId, user_id: userId, roles } of membersIn(cx, "project", orgId)) {
      if (isOwn(cx, projectId)) continue
      yield { projectMembers: [{ projectId, userId, roles: rolesOf(roles) }] }
    }
  },
  write: async (cx, orgId, { projectId, userId, roles }) => {
    mustOwn(cx, orgId, projectId)
    const target = { level: "project", id: projectId } as const
    await cx.store.transact(cx, (tx) => addMember(tx, { target, userId, roles }))
  },
  idOf: ({ projectId, userId }) => `${projectId}/${userId}`,
  taken: ({ projectId, userId }) => ({ projectMembers: [{ projectId, userId }] }),
})

/** They belong to the organisation that has the grant. */
export const grantMemberRow = row({
  field: "projectGrantMembers",
  needs: needs("project.grant.member"),
  from: ({ projectGrantMembers }) => projectGrantMembers,
  *read(cx, orgId) {
    for (const { target: grantId, user_id: userId, roles } of membersIn(cx, "grant", orgId)) {
      const { projectId } = cx.store.state(cx, projectGrant, grantId)
      yield { projectGrantMembers: [{ projectId, grantId, userId, roles: rolesOf(roles) }] }
    }
  },
  write: async (cx, _, { grantId, userId, roles }) => {
    const target = { level: "grant", id: grantId } as const
    await cx.store.transact(cx, (tx) => addMember(tx, { target, userId, roles }))
  },
  idOf: ({ grantId, userId }) => `${grantId}/${userId}`,
  taken: ({ projectId, grantId, userId }) => ({
    projectGrantMembers: [{ projectId, grantId, userId }],
  }),
})

/** What stands in an organisation's data is said of what it has, and of nobody else's. */
export function mustOwn(cx: Cx, orgId: string, projectId: string): void {
  if (cx.store.state(cx, project, projectId).orgId === orgId && !isOwn(cx, projectId)) return
  throw new Fault("not_found", "project.missing", "the organisation has no such project")
}

/** An id is used once. */
export function mustBeNew({ status }: { readonly status: string }): void {
  if (status === "absent") return
  throw new Fault("already_exists", "transfer.exists", "there is or was something with this id")
}

export const emptyError = (what: string) =>
  new Fault("invalid_argument", "transfer.empty", `the message of the ${what} itself is missing`)

const adminsError = () =>
  new Fault(
    "invalid_argument",
    "transfer.admins",
    "name the project's administrators in project_members: people are taken over after projects",
  )
