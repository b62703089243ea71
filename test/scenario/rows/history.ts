// Histories of resources.
import type { Row } from "../row.ts"

const service = "history.v2.HistoryService"

const deactivated = [
  "project.v2.ProjectService/DeactivateProject",
  { projectId: "$project" },
] as const

export const historyRows: readonly Row[] = [
  {
    call: `${service}/ListChanges`,
    given: [["project.v2.ProjectService/UpdateProject", { projectId: "$project", name: "New" }]],
    body: { resource: { projectId: "$project" }, limit: 1 },
    expect: {
      changes: [
        { type: "project.changed", sequence: "2", differences: [{ path: ["name"], after: "New" }] },
      ],
    },
  },
  {
    call: `${service}/ListChanges`,
    name: "of anything",
    as: "owner",
    body: { resource: { stream: { instance: true, kind: "target", id: "$target" } } },
    expect: { changes: [{ type: "target.added" }] },
  },
  {
    call: `${service}/ListChanges`,
    name: "of what an instance has one of",
    as: "owner",
    once: true,
    given: [["admin.v1.AdminService/SetDefaultLanguage", { language: "de" }]],
    body: { resource: { stream: { instance: true, kind: "instance" } }, limit: 1 },
    expect: { changes: [{ type: "instance.default.language.set" }] },
  },
  {
    call: `${service}/ListChanges`,
    name: "of anything, by a manager",
    body: { resource: { stream: { instance: true, kind: "project", id: "$project" } } },
    code: "permission_denied",
    id: "access.denied",
  },
  {
    call: `${service}/ListChanges`,
    name: "of nothing",
    body: {},
    code: "invalid_argument",
    id: "request.resource_missing",
  },
  {
    call: `${service}/GetDifferences`,
    body: { resource: { userId: "$user" } },
    expect: { sequence: "1" },
  },
  {
    call: `${service}/GetDifferences`,
    name: "of another organisation's",
    as: "stranger",
    body: { resource: { userId: "$user" } },
    code: "not_found",
    id: "user.missing",
  },
  {
    call: `${service}/GetUndo`,
    given: [deactivated],
    body: { resource: { projectId: "$project" }, sequence: "2" },
    expect: {
      possible: true,
      operation: "core.project.v2.ProjectService/ActivateProject",
      types: ["project.reactivated"],
      lastSequence: "2",
    },
  },
  {
    call: `${service}/GetUndo`,
    name: "of a creation",
    body: { resource: { projectId: "$project" }, sequence: "1" },
    expect: { refusal: "history.undo_creation" },
  },
  {
    call: `${service}/UndoChange`,
    given: [deactivated],
    body: { resource: { projectId: "$project" }, sequence: "2", lastSequence: "2" },
    expect: { sequence: "3" },
    events: ["project.reactivated"],
  },
  {
    call: `${service}/UndoChange`,
    name: "of another organisation's",
    as: "stranger",
    given: [deactivated],
    body: { resource: { projectId: "$project" }, sequence: "2" },
    code: "not_found",
    id: "project.missing",
  },
  {
    call: `${service}/RetryFailedEvents`,
    as: "owner",
    expect: {},
  },
  {
    call: `${service}/RetryFailedEvents`,
    name: "by a manager",
    code: "permission_denied",
    id: "access.denied",
  },
  {
    call: `${service}/RetryFailedEvents`,
    name: "that is not on the list",
    as: "owner",
    body: { viewName: "messages", failedSequence: "999999" },
    code: "not_found",
    id: "event.failed_missing",
  },
  { call: `${service}/RetrySystemFailedEvents`, as: "system" },
  { call: `${service}/ListNodes`, as: "owner", expect: {} },
  {
    call: `${service}/ListNodes`,
    name: "by a manager",
    code: "permission_denied",
    id: "access.denied",
  },
  {
    call: `${service}/RetrySystemFailedEvents`,
    name: "by the owner of an instance",
    as: "owner",
    code: "permission_denied",
    id: "access.denied",
  },
  {
    call: `${service}/GetPermissionReason`,
    body: { userId: "$manager", permission: "project.write", resource: "project", id: "$project" },
    expect: { allowed: true, reason: "REASON_ROLE", organizationId: "$org" },
  },
  {
    call: `${service}/GetPermissionReason`,
    name: "of an operation, for nobody",
    body: {
      userId: "$nobody",
      operation: "core.project.v2.ProjectService/UpdateProject",
      id: "$project",
    },
    expect: { reason: "REASON_NO_PERMISSION", refusal: "access.denied" },
  },
  {
    call: `${service}/GetPermissionReason`,
    name: "by a stranger",
    as: "stranger",
    body: { userId: "$manager", permission: "project.write", resource: "project", id: "$project" },
    code: "not_found",
    id: "user.missing",
  },
  {
    call: `${service}/GetEntryReason`,
    body: { userId: "$user", applicationId: "$app" },
    expect: { allowed: true },
  },
  {
    call: `${service}/GetEntryReason`,
    name: "by a stranger",
    as: "stranger",
    body: { userId: "$user", applicationId: "$app" },
    code: "not_found",
    id: "app.missing",
  },
]
