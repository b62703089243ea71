// Authorizations, groups, administrators and roles.
import type { Row } from "../row.ts"

const nested = { id: "$group", groupIds: ["$otherGroup"] }

const groupRoles = {
  groupId: "$group",
  resource: { organizationId: "$org" },
  roles: ["ORG_USER_MANAGER"],
}
const createGroupRoles = [
  "internal_permission.v2.InternalPermissionService/CreateGroupAdministrator",
  groupRoles,
] as const
const onProject = { groupId: "$group", projectId: "$project", organizationId: "$org" }

export const accessRows: readonly Row[] = [
  {
    call: "authorization.v2.AuthorizationService/CreateAuthorization",
    body: { userId: "$user", projectId: "$project", organizationId: "$org", roleKeys: ["$role"] },
    events: ["user.grant.added"],
  },
  {
    call: "authorization.v2.AuthorizationService/UpdateAuthorization",
    body: { id: "$authorization", roleKeys: ["$role"] },
    events: ["user.grant.changed"],
  },
  {
    call: "authorization.v2.AuthorizationService/DeactivateAuthorization",
    body: { id: "$authorization" },
    events: ["user.grant.deactivated"],
  },
  {
    call: "authorization.v2.AuthorizationService/ActivateAuthorization",
    given: [
      ["authorization.v2.AuthorizationService/DeactivateAuthorization", { id: "$authorization" }],
    ],
    body: { id: "$authorization" },
    events: ["user.grant.reactivated"],
  },
  {
    call: "authorization.v2.AuthorizationService/DeleteAuthorization",
    body: { id: "$authorization" },
    events: ["user.grant.removed"],
  },
  {
    call: "authorization.v2.AuthorizationService/ListAuthorizations",
    body: { filters: [{ authorizationIds: { ids: ["$authorization"] } }] },
    expect: { authorizations: [{ id: "$authorization" }] },
  },
  {
    call: "group.v2.GroupService/CreateGroup",
    body: { organizationId: "$org", name: "$fresh" },
    events: ["group.added"],
  },
  {
    call: "group.v2.GroupService/GetGroup",
    body: { id: "$group" },
    expect: { group: { id: "$group" } },
  },
  {
    call: "group.v2.GroupService/ListGroups",
    body: { filters: [{ groupIds: { ids: ["$group"] } }] },
    expect: { groups: [{ id: "$group" }] },
  },
  {
    call: "group.v2.GroupService/UpdateGroup",
    body: { id: "$group", name: "$fresh" },
    events: ["group.changed"],
  },
  {
    call: "group.v2.GroupService/AddUsersToGroup",
    body: { id: "$group", userIds: ["$user", "$robot"] },
    events: ["group.user.added", "group.user.added"],
  },
  {
    call: "group.v2.GroupService/AddUsersToGroup",
    name: "of another organisation",
    body: { id: "$group", userIds: ["$user", "$stranger"] },
    code: "not_found",
    id: "user.missing",
  },
  {
    call: "group.v2.GroupService/ListGroupUsers",
    given: [["group.v2.GroupService/AddUsersToGroup", { id: "$group", userIds: ["$user"] }]],
    body: { filters: [{ groupIds: { ids: ["$group"] } }] },
    expect: { groupUsers: [{ groupId: "$group", userId: "$user", displayName: "Ada Lovelace" }] },
  },
  {
    call: "group.v2.GroupService/ListGroups",
    name: "of a user",
    given: [["group.v2.GroupService/AddUsersToGroup", { id: "$group", userIds: ["$user"] }]],
    body: { filters: [{ userId: { id: "$user" } }] },
    expect: { groups: [{ id: "$group" }] },
  },
  {
    call: "group.v2.GroupService/RemoveUsersFromGroup",
    given: [["group.v2.GroupService/AddUsersToGroup", { id: "$group", userIds: ["$user"] }]],
    body: { id: "$group", userIds: ["$user", "$nobody"] },
    events: ["group.user.removed"],
  },
  {
    call: "group.v2.GroupService/AddGroupsToGroup",
    body: nested,
    events: ["group.group.added"],
  },
  {
    call: "group.v2.GroupService/AddGroupsToGroup",
    name: "to itself",
    body: { id: "$group", groupIds: ["$group"] },
    code: "failed_precondition",
    id: "group.cycle",
  },
  {
    call: "group.v2.GroupService/ListMemberGroups",
    given: [["group.v2.GroupService/AddGroupsToGroup", nested]],
    body: { filters: [{ groupIds: { ids: ["$group"] } }] },
    expect: { memberGroups: [{ groupId: "$group", memberGroupId: "$otherGroup" }] },
  },
  {
    call: "group.v2.GroupService/ListGroups",
    name: "that a group is a member of",
    given: [["group.v2.GroupService/AddGroupsToGroup", nested]],
    body: { filters: [{ memberGroupId: { id: "$otherGroup" } }] },
    expect: { groups: [{ id: "$group" }] },
  },
  {
    call: "group.v2.GroupService/RemoveGroupsFromGroup",
    given: [["group.v2.GroupService/AddGroupsToGroup", nested]],
    body: nested,
    events: ["group.group.removed"],
  },
  {
    call: "authorization.v2.AuthorizationService/CreateGroupAuthorization",
    body: { ...onProject, roleKeys: ["$role"] },
    events: ["group.grant.added"],
  },
  {
    call: "authorization.v2.AuthorizationService/UpdateGroupAuthorization",
    body: { id: "$groupAuthorization", roleKeys: ["$role"] },
    events: ["group.grant.changed"],
  },
  {
    call: "authorization.v2.AuthorizationService/DeleteGroupAuthorization",
    body: { id: "$groupAuthorization" },
    events: ["group.grant.removed"],
  },
  {
    call: "authorization.v2.AuthorizationService/ListGroupAuthorizations",
    body: { filters: [{ authorizationIds: { ids: ["$groupAuthorization"] } }] },
    expect: { groupAuthorizations: [{ id: "$groupAuthorization", group: { id: "$group" } }] },
  },
  {
    call: "authorization.v2.AuthorizationService/ListEffectiveRoles",
    given: [
      [
        "authorization.v2.AuthorizationService/CreateGroupAuthorization",
        { ...onProject, roleKeys: ["$role"] },
      ],
      ["group.v2.GroupService/AddUsersToGroup", { id: "$group", userIds: ["$user"] }],
    ],
    body: { userId: "$user", projectId: "$project" },
    expect: { effectiveRoles: [{ roles: [{ key: "$role" }], group: { id: "$group" } }] },
  },
  {
    call: "internal_permission.v2.InternalPermissionService/CreateGroupAdministrator",
    body: groupRoles,
    events: ["group.administrator.added"],
  },
  {
    call: "internal_permission.v2.InternalPermissionService/UpdateGroupAdministrator",
    given: [createGroupRoles],
    body: { ...groupRoles, roles: ["ORG_OWNER_VIEWER"] },
    events: ["group.administrator.changed"],
  },
  {
    call: "internal_permission.v2.InternalPermissionService/DeleteGroupAdministrator",
    given: [createGroupRoles],
    body: { groupId: "$group", resource: { organizationId: "$org" } },
    events: ["group.administrator.removed"],
  },
  {
    call: "internal_permission.v2.InternalPermissionService/ListGroupAdministrators",
    given: [createGroupRoles],
    body: { filters: [{ inGroupIdsFilter: { ids: ["$group"] } }] },
    expect: { groupAdministrators: [{ group: { id: "$group" }, roles: ["ORG_USER_MANAGER"] }] },
  },
  {
    call: "internal_permission.v2.InternalPermissionService/ListEffectiveAdministrators",
    given: [
      createGroupRoles,
      ["group.v2.GroupService/AddUsersToGroup", { id: "$group", userIds: ["$user"] }],
    ],
    body: { userId: "$user" },
    expect: { effectiveAdministrators: [{ group: { id: "$group" }, roles: ["ORG_USER_MANAGER"] }] },
  },
  { call: "group.v2.GroupService/DeleteGroup", body: { id: "$group" }, events: ["group.removed"] },
  {
    call: "internal_permission.v2.InternalPermissionService/CreateAdministrator",
    body: { userId: "$nobody", resource: { organizationId: "$org" }, roles: ["ORG_USER_MANAGER"] },
    events: ["org.member.added"],
  },
  {
    call: "internal_permission.v2.InternalPermissionService/CreateAdministrator",
    name: "by nobody of note",
    as: "nobody",
    body: { userId: "$nobody", resource: { organizationId: "$org" }, roles: ["ORG_USER_MANAGER"] },
    code: "permission_denied",
    id: "access.denied",
  },
  {
    call: "internal_permission.v2.InternalPermissionService/UpdateAdministrator",
    given: [
      [
        "internal_permission.v2.InternalPermissionService/CreateAdministrator",
        { userId: "$nobody", resource: { organizationId: "$org" }, roles: ["ORG_USER_MANAGER"] },
      ],
    ],
    body: { userId: "$nobody", resource: { organizationId: "$org" }, roles: ["ORG_OWNER_VIEWER"] },
    events: ["org.member.changed"],
  },
  {
    call: "internal_permission.v2.InternalPermissionService/DeleteAdministrator",
    given: [
      [
        "internal_permission.v2.InternalPermissionService/CreateAdministrator",
        { userId: "$nobody", resource: { organizationId: "$org" }, roles: ["ORG_USER_MANAGER"] },
      ],
    ],
    body: { userId: "$nobody", resource: { organizationId: "$org" } },
    events: ["org.member.removed"],
  },
  {
    call: "internal_permission.v2.InternalPermissionService/ListAdministrators",
    body: { filters: [{ resource: { organizationId: "$org" } }] },
    expect: { administrators: [{ roles: ["ORG_OWNER"] }] },
  },
  {
    call: "internal_permission.v2.InternalPermissionService/CreateRole",
    as: "owner",
    body: {
      key: "$fresh",
      displayName: "Helpers",
      level: "ROLE_LEVEL_ORGANIZATION",
      permissions: ["org.read"],
    },
    events: ["role.added"],
  },
  {
    call: "internal_permission.v2.InternalPermissionService/UpdateRole",
    as: "owner",
    body: { key: "$customRole", permissions: ["org.read"] },
    events: ["role.changed"],
  },
  {
    call: "internal_permission.v2.InternalPermissionService/DeleteRole",
    as: "owner",
    body: { key: "$customRole" },
    events: ["role.removed"],
  },
  { call: "internal_permission.v2.InternalPermissionService/ListRoles", as: "owner" },
]
