// Applications, their secrets and keys.
import type { Row } from "../row.ts"

export const applicationRows: readonly Row[] = [
  {
    call: "application.v2.ApplicationService/CreateApplication",
    body: {
      projectId: "$project",
      name: "$fresh",
      oidcConfiguration: { redirectUris: ["https://app.example.com/callback"] },
    },
    events: [
      "project.application.added",
      "project.application.config.oidc.added",
      "project.application.config.oidc.secret.changed",
    ],
  },
  {
    call: "application.v2.ApplicationService/CreateApplication",
    name: "for an API",
    body: { projectId: "$project", name: "$fresh", apiConfiguration: {} },
    events: [
      "project.application.added",
      "project.application.config.api.added",
      "project.application.config.api.secret.changed",
    ],
  },
  {
    call: "application.v2.ApplicationService/GetApplication",
    body: { applicationId: "$app" },
    expect: { application: { applicationId: "$app" } },
  },
  {
    call: "application.v2.ApplicationService/ListApplications",
    given: [
      [
        "application.v2.ApplicationService/CreateApplication",
        { projectId: "$project", name: "$fresh", apiConfiguration: {} },
      ],
    ],
    body: { filters: [{ projectIdFilter: { projectId: "$project" } }] },
    expect: { applications: [{ name: "$fresh" }] },
  },
  {
    call: "application.v2.ApplicationService/UpdateApplication",
    body: { applicationId: "$app", projectId: "$project", name: "$fresh" },
    events: ["project.application.changed"],
  },
  {
    call: "application.v2.ApplicationService/DeactivateApplication",
    body: { applicationId: "$app", projectId: "$project" },
    events: ["project.application.deactivated"],
  },
  {
    call: "application.v2.ApplicationService/ReactivateApplication",
    given: [
      [
        "application.v2.ApplicationService/DeactivateApplication",
        { applicationId: "$app", projectId: "$project" },
      ],
    ],
    body: { applicationId: "$app", projectId: "$project" },
    events: ["project.application.reactivated"],
  },
  {
    call: "application.v2.ApplicationService/DeleteApplication",
    body: { applicationId: "$app", projectId: "$project" },
    events: ["project.application.removed"],
  },
  {
    call: "application.v2.ApplicationService/GenerateClientSecret",
    body: { applicationId: "$api", projectId: "$project" },
    events: ["project.application.config.api.secret.changed"],
  },
  {
    call: "application.v2.ApplicationService/ListClientSecrets",
    body: { applicationId: "$api", projectId: "$project" },
    expect: { secrets: [{}] },
  },
  {
    call: "application.v2.ApplicationService/RemoveClientSecret",
    body: { applicationId: "$api", projectId: "$project", secretId: "$secret" },
    events: ["project.application.config.api.secret.removed"],
  },
  {
    call: "application.v2.ApplicationService/CreateApplicationKey",
    body: { applicationId: "$api", projectId: "$project", expirationDate: "$tomorrow" },
    events: ["project.application.api.key.added"],
  },
  {
    call: "application.v2.ApplicationService/DeleteApplicationKey",
    body: { applicationId: "$api", projectId: "$project", keyId: "$appKey" },
    events: ["project.application.api.key.removed"],
  },
  { call: "application.v2.ApplicationService/GetApplicationKey", body: { keyId: "$appKey" } },
  { call: "application.v2.ApplicationService/ListApplicationKeys" },
  {
    call: "management.v1.ManagementService/AddAppKey",
    body: {
      appId: "$api",
      projectId: "$project",
      type: "KEY_TYPE_JSON",
      expirationDate: "$tomorrow",
    },
    events: ["project.application.api.key.added"],
  },
  {
    call: "management.v1.ManagementService/GetAppKey",
    body: { appId: "$api", projectId: "$project", keyId: "$appKey" },
  },
  {
    call: "management.v1.ManagementService/ListAppKeys",
    body: { appId: "$api", projectId: "$project" },
  },
  {
    call: "management.v1.ManagementService/RemoveAppKey",
    body: { appId: "$api", projectId: "$project", keyId: "$appKey" },
    events: ["project.application.api.key.removed"],
  },
  {
    call: "management.v1.ManagementService/RegenerateAPIClientSecret",
    body: { appId: "$api", projectId: "$project" },
    events: ["project.application.config.api.secret.changed"],
  },
  {
    call: "management.v1.ManagementService/RegenerateOIDCClientSecret",
    body: { appId: "$app", projectId: "$project" },
    events: ["project.application.config.oidc.secret.changed"],
  },
  {
    call: "management.v1.ManagementService/ListAppChanges",
    body: { projectId: "$project", appId: "$app" },
    expect: {
      result: [
        { eventType: { key: "EventTypes.project.application.config.oidc.secret.changed" } },
        { eventType: { key: "EventTypes.project.application.config.oidc.added" } },
        { eventType: { key: "EventTypes.project.application.added" } },
      ],
    },
  },
]
