// Projects, their roles and their grants.
import type { Row } from "../row.ts"

export const projectRows: readonly Row[] = [
  {
    call: "project.v2.ProjectService/CreateProject",
    body: { organizationId: "$org", name: "$fresh" },
    events: ["project.added"],
  },
  {
    call: "project.v2.ProjectService/CreateProject",
    name: "in another organisation",
    as: "stranger",
    body: { organizationId: "$org", name: "$fresh" },
    code: "not_found",
    id: "org.missing",
  },
  {
    call: "project.v2.ProjectService/GetProject",
    body: { projectId: "$project" },
    expect: { project: { projectId: "$project" } },
  },
  {
    call: "project.v2.ProjectService/GetProject",
    name: "that is not there",
    body: { projectId: "404" },
    code: "not_found",
    id: "project.missing",
  },
  {
    call: "project.v2.ProjectService/ListProjects",
    body: { filters: [{ inProjectIdsFilter: { ids: ["$project"] } }] },
    expect: { pagination: { totalResult: "1" }, projects: [{ projectId: "$project" }] },
  },
  {
    call: "project.v2.ProjectService/UpdateProject",
    body: { projectId: "$project", name: "$fresh" },
    events: ["project.changed"],
  },
  {
    call: "project.v2.ProjectService/DeactivateProject",
    body: { projectId: "$project" },
    events: ["project.deactivated"],
  },
  {
    call: "project.v2.ProjectService/DeactivateProject",
    name: "twice",
    given: [["project.v2.ProjectService/DeactivateProject", { projectId: "$project" }]],
    body: { projectId: "$project" },
  },
  {
    call: "project.v2.ProjectService/ActivateProject",
    given: [["project.v2.ProjectService/DeactivateProject", { projectId: "$project" }]],
    body: { projectId: "$project" },
    events: ["project.reactivated"],
  },
  {
    call: "project.v2.ProjectService/DeleteProject",
    body: { projectId: "$project" },
    events: ["project.removed"],
  },
  {
    call: "project.v2.ProjectService/AddProjectRole",
    body: { projectId: "$project", roleKey: "reader", displayName: "Reader" },
    events: ["project.role.added"],
  },
  {
    call: "project.v2.ProjectService/UpdateProjectRole",
    body: { projectId: "$project", roleKey: "$role", displayName: "Author" },
    events: ["project.role.changed"],
  },
  {
    call: "project.v2.ProjectService/RemoveProjectRole",
    body: { projectId: "$project", roleKey: "$role" },
    events: ["project.role.removed"],
  },
  {
    call: "project.v2.ProjectService/ListProjectRoles",
    given: [
      [
        "project.v2.ProjectService/AddProjectRole",
        { projectId: "$project", roleKey: "reader", displayName: "Reader" },
      ],
    ],
    body: { projectId: "$project" },
    expect: { projectRoles: [{ key: "reader" }] },
  },
  {
    call: "project.v2.ProjectService/CreateProjectGrant",
    body: { projectId: "$project", grantedOrganizationId: "$guest" },
    events: ["project.grant.added"],
  },
  {
    call: "project.v2.ProjectService/UpdateProjectGrant",
    body: { projectId: "$project", grantedOrganizationId: "$granted", roleKeys: ["$role"] },
    events: ["project.grant.changed"],
  },
  {
    call: "project.v2.ProjectService/DeactivateProjectGrant",
    body: { projectId: "$project", grantedOrganizationId: "$granted" },
    events: ["project.grant.deactivated"],
  },
  {
    call: "project.v2.ProjectService/ActivateProjectGrant",
    given: [
      [
        "project.v2.ProjectService/DeactivateProjectGrant",
        { projectId: "$project", grantedOrganizationId: "$granted" },
      ],
    ],
    body: { projectId: "$project", grantedOrganizationId: "$granted" },
    events: ["project.grant.reactivated"],
  },
  {
    call: "project.v2.ProjectService/DeleteProjectGrant",
    body: { projectId: "$project", grantedOrganizationId: "$granted" },
    events: ["project.grant.removed"],
  },
  {
    call: "project.v2.ProjectService/ListProjectGrants",
    given: [
      [
        "project.v2.ProjectService/CreateProjectGrant",
        { projectId: "$project", grantedOrganizationId: "$guest" },
      ],
    ],
    body: { filters: [{ inProjectIdsFilter: { ids: ["$project"] } }] },
    expect: { projectGrants: [{ grantedOrganizationId: "$guest" }] },
  },
  {
    call: "management.v1.ManagementService/AddProject",
    body: { name: "$fresh" },
    events: ["project.added"],
  },
  {
    call: "management.v1.ManagementService/GetProjectByID",
    body: { id: "$project" },
    expect: { project: { id: "$project" } },
  },
  {
    call: "management.v1.ManagementService/ListProjects",
    given: [
      ["project.v2.ProjectService/CreateProject", { organizationId: "$org", name: "$fresh" }],
    ],
    expect: { result: [{ name: "$fresh" }] },
  },
  {
    call: "management.v1.ManagementService/UpdateProject",
    body: { id: "$project", name: "$fresh" },
    events: ["project.changed"],
  },
  {
    call: "management.v1.ManagementService/DeactivateProject",
    body: { id: "$project" },
    events: ["project.deactivated"],
  },
  {
    call: "management.v1.ManagementService/DeactivateProject",
    name: "twice",
    given: [["project.v2.ProjectService/DeactivateProject", { projectId: "$project" }]],
    body: { id: "$project" },
    code: "failed_precondition",
    id: "project.unchanged",
  },
  {
    call: "management.v1.ManagementService/ReactivateProject",
    given: [["project.v2.ProjectService/DeactivateProject", { projectId: "$project" }]],
    body: { id: "$project" },
    events: ["project.reactivated"],
  },
  {
    call: "management.v1.ManagementService/RemoveProject",
    body: { id: "$project" },
    events: ["project.removed"],
  },
  {
    call: "management.v1.ManagementService/ListProjectRoles",
    given: [
      [
        "project.v2.ProjectService/AddProjectRole",
        { projectId: "$project", roleKey: "reader", displayName: "Reader" },
      ],
    ],
    body: { projectId: "$project" },
    expect: { result: [{ key: "reader" }] },
  },
  {
    call: "management.v1.ManagementService/AddProjectRole",
    body: { projectId: "$project", roleKey: "reader", displayName: "Reader" },
    events: ["project.role.added"],
  },
  {
    call: "management.v1.ManagementService/BulkAddProjectRoles",
    body: {
      projectId: "$project",
      roles: [
        { key: "reader", displayName: "Reader" },
        { key: "writer", displayName: "Writer" },
      ],
    },
    events: ["project.role.added", "project.role.added"],
  },
  {
    call: "management.v1.ManagementService/UpdateProjectRole",
    body: { projectId: "$project", roleKey: "$role", displayName: "Author" },
    events: ["project.role.changed"],
  },
  {
    call: "management.v1.ManagementService/RemoveProjectRole",
    body: { projectId: "$project", roleKey: "$role" },
    events: ["project.role.removed"],
  },
  {
    call: "management.v1.ManagementService/ListGrantedProjects",
    as: "stranger",
    given: [
      [
        "project.v2.ProjectService/CreateProjectGrant",
        { projectId: "$project", grantedOrganizationId: "$guest" },
      ],
    ],
    expect: { result: [{ projectId: "$project" }] },
  },
  {
    call: "management.v1.ManagementService/GetGrantedProjectByID",
    as: "stranger",
    body: { projectId: "$project", grantId: "$grant" },
    expect: { grantedProject: { grantId: "$grant" } },
  },
  {
    call: "management.v1.ManagementService/ListGrantedProjectRoles",
    as: "stranger",
    body: { projectId: "$project", grantId: "$grant" },
  },
  { call: "management.v1.ManagementService/ListProjectMemberRoles" },
  { call: "management.v1.ManagementService/ListProjectGrantMemberRoles" },
  {
    call: "management.v1.ManagementService/ListProjectChanges",
    body: { projectId: "$project" },
    expect: { result: [{}] },
  },
  {
    call: "management.v1.ManagementService/ListProjectGrantChanges",
    body: { projectId: "$project", grantId: "$grant" },
    expect: { result: [{}] },
  },
]
