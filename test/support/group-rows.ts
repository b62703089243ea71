// Groups with members and roles, and all operations on them, for tests of two instances.

type Row = readonly [name: string, request: object]
type CallOperation = (name: string, request: object) => Promise<unknown>

const a1 = { applicationId: "a1", projectId: "p1" }
const g3 = { organizationId: "org1", id: "g3" }
const onOrg = { resource: { case: "organizationId", value: "org1" } }
const groupRole = { groupId: "g3", resource: onOrg }
const onProject = { projectId: "p1", organizationId: "org1" }

/** Creates groups that have a member and roles; all names contain `name`. */
export async function createGroups(call: CallOperation, name: string): Promise<void> {
  for (const id of ["g3", "g4", "g5"]) {
    await call("createGroup", { ...g3, id, name: `Group ${id} of ${name}` })
  }
  await call("addGroupsToGroup", { id: "g3", groupIds: ["g5"] })
  await call("createGroupAdministrator", { ...groupRole, roles: ["ORG_OWNER_VIEWER"] })
}

export const groupChanges: readonly Row[] = [
  ["createGroup", { organizationId: "org1", name: "New" }],
  ["updateGroup", { id: "g3", name: "Other" }],
  ["addUsersToGroup", { id: "g3", userIds: ["nobody"] }],
  ["removeUsersFromGroup", { id: "g3", userIds: ["nobody"] }],
  ["addGroupsToGroup", { id: "g3", groupIds: ["g4"] }],
  ["removeGroupsFromGroup", { id: "g3", groupIds: ["g5"] }],
  ["createGroupAdministrator", { ...groupRole, groupId: "g4", roles: ["ORG_OWNER_VIEWER"] }],
  ["updateGroupAdministrator", { ...groupRole, roles: ["ORG_USER_MANAGER"] }],
  ["deleteGroupAdministrator", groupRole],
  ["createGroupAuthorization", { ...onProject, groupId: "g4" }],
  ["updateGroupAuthorization", { id: "a3", roleKeys: ["r3"] }],
  ["deleteGroupAuthorization", { id: "a3" }],
  ["addApplicationAssignments", { ...a1, userIds: ["nobody"], groupIds: ["g3"] }],
  ["removeApplicationAssignments", { ...a1, userIds: ["anna"] }],
  ["deleteGroup", { id: "g3" }],
]

export const groupReads: readonly Row[] = [
  ["getGroup", { id: "g3" }],
  ["listGroups", {}],
  ["listGroupUsers", {}],
  ["listMemberGroups", {}],
  ["listApplicationAssignments", {}],
  ["listApplicationUsers", { applicationId: "a1" }],
  ["listGroupAdministrators", {}],
  ["listGroupAuthorizations", {}],
  ["listEffectiveRoles", { userId: "nobody" }],
  ["listEffectiveAdministrators", { userId: "manager" }],
]
