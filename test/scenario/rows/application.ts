// Applications, their secrets and keys.
import type { Row } from "../row.ts"

/** The metadata of a SAML service provider, in base64. */
const metadataXml = Buffer.from(
  `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="urn:example:sp">
  <SPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
  <AssertionConsumerService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" index="0"
  Location="https://sp.example.com/acs"/></SPSSODescriptor></EntityDescriptor>`,
).toString("base64")

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
    call: "application.v2.ApplicationService/CreateApplication",
    name: "for an API with scopes of its own",
    body: {
      projectId: "$project",
      name: "$fresh",
      apiConfiguration: {
        scopes: { scopes: [{ scope: "read:orders", name: "Read orders" }, { scope: "write" }] },
      },
    },
    events: [
      "project.application.added",
      "project.application.config.api.added",
      "project.application.config.api.secret.changed",
    ],
  },
  {
    call: "application.v2.ApplicationService/CreateApplication",
    name: "for a SAML service provider",
    once: true,
    body: { projectId: "$project", name: "$fresh", samlConfiguration: { metadataXml } },
    events: ["project.application.added", "project.application.config.saml.added"],
  },
  {
    call: "application.v2.ApplicationService/CreateApplication",
    name: "for metadata that is none",
    body: { projectId: "$project", name: "$fresh", saml: { metadataXml: "PGEvPg==" } },
    code: "invalid_argument",
    id: "app.metadata_invalid",
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
    call: "application.v2.ApplicationService/ListApplications",
    name: "of an organization, none of another's",
    given: [
      [
        "application.v2.ApplicationService/CreateApplication",
        { projectId: "$project", name: "$fresh", apiConfiguration: {} },
      ],
    ],
    body: { filters: [{ organizationIdFilter: { id: "$org" } }] },
    expect: { applications: [{ name: "$fresh" }] },
  },
  {
    call: "application.v2.ApplicationService/UpdateApplication",
    body: { applicationId: "$app", projectId: "$project", name: "$fresh" },
    events: ["project.application.changed"],
  },
  {
    call: "application.v2.ApplicationService/UpdateApplication",
    name: "to limit it to the users and groups that are assigned to it",
    given: [
      [
        "application.v2.ApplicationService/CreateApplication",
        { projectId: "$project", applicationId: "$fresh", name: "$fresh", apiConfiguration: {} },
      ],
    ],
    body: {
      applicationId: "$fresh",
      projectId: "$project",
      access: { rule: "APPLICATION_ACCESS_RULE_ASSIGNED" },
    },
    events: ["project.application.access.changed"],
  },
  {
    call: "application.v2.ApplicationService/CreateApplication",
    name: "for users with a role of the project",
    body: {
      projectId: "$project",
      name: "$fresh",
      apiConfiguration: {},
      access: { rule: "APPLICATION_ACCESS_RULE_PROJECT_ROLE" },
    },
    events: [
      "project.application.added",
      "project.application.config.api.added",
      "project.application.config.api.secret.changed",
      "project.application.access.changed",
    ],
  },
  {
    call: "application.v2.ApplicationService/AddApplicationAssignments",
    body: {
      applicationId: "$app",
      projectId: "$project",
      userIds: ["$user"],
      groupIds: ["$group"],
    },
    events: ["project.application.assignment.added", "project.application.assignment.added"],
  },
  {
    call: "application.v2.ApplicationService/AddApplicationAssignments",
    name: "of a user of another organization",
    body: { applicationId: "$app", projectId: "$project", userIds: ["$user", "$stranger"] },
    code: "not_found",
    id: "user.missing",
  },
  {
    call: "application.v2.ApplicationService/RemoveApplicationAssignments",
    given: [
      [
        "application.v2.ApplicationService/AddApplicationAssignments",
        { applicationId: "$app", projectId: "$project", groupIds: ["$group"] },
      ],
    ],
    body: {
      applicationId: "$app",
      projectId: "$project",
      userIds: ["$user"],
      groupIds: ["$group"],
    },
    events: ["project.application.assignment.removed"],
  },
  {
    call: "application.v2.ApplicationService/ListApplicationAssignments",
    given: [
      [
        "application.v2.ApplicationService/AddApplicationAssignments",
        { applicationId: "$app", projectId: "$project", userIds: ["$user"] },
      ],
    ],
    body: { filters: [{ applicationId: { id: "$app" } }] },
    expect: { assignments: [{ applicationId: "$app", userId: "$user", name: "Ada Lovelace" }] },
  },
  {
    call: "application.v2.ApplicationService/ListApplicationUsers",
    given: [
      [
        "application.v2.ApplicationService/CreateApplication",
        {
          projectId: "$project",
          applicationId: "$fresh",
          name: "$fresh",
          apiConfiguration: {},
          access: { rule: "APPLICATION_ACCESS_RULE_ASSIGNED" },
        },
      ],
      [
        "application.v2.ApplicationService/AddApplicationAssignments",
        { applicationId: "$fresh", projectId: "$project", userIds: ["$user"] },
      ],
    ],
    body: { applicationId: "$fresh" },
    expect: { users: [{ userId: "$user", assigned: true }], count: { users: 1 } },
  },
  {
    call: "application.v2.ApplicationService/CreateApplication",
    name: "that a proxy stands before, with rules of who is let through",
    body: {
      projectId: "$project",
      name: "$fresh",
      oidcConfiguration: {
        redirectUris: ["https://wiki.example.com/.latchkey/callback"],
        authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE",
        forwardAuth: {
          rules: [
            { pathPrefix: "/admin", roleKeys: ["admin"], accessTokens: true },
            { pathPrefix: "/public/", everybody: true },
          ],
          remoteUser: "OIDC_REMOTE_USER_EMAIL",
          tokenForwarded: true,
        },
      },
    },
    events: ["project.application.added", "project.application.config.oidc.added"],
  },
  {
    call: "application.v2.ApplicationService/CreateApplication",
    name: "that a proxy stands before, with a rule that could be read in two ways",
    body: {
      projectId: "$project",
      name: "$fresh",
      oidcConfiguration: {
        redirectUris: ["https://wiki.example.com/.latchkey/callback"],
        forwardAuth: { rules: [{ pathPrefix: "/a/../admin", roleKeys: ["admin"] }] },
      },
    },
    code: "invalid_argument",
    id: "app.forward_auth_invalid",
  },
  {
    call: "application.v2.ApplicationService/CreateApplication",
    name: "for an API with a scope that has a meaning already",
    body: {
      projectId: "$project",
      name: "$fresh",
      apiConfiguration: { scopes: { scopes: [{ scope: "openid", name: "Sign in" }] } },
    },
    code: "invalid_argument",
    id: "app.scopes_invalid",
  },
  {
    call: "application.v2.ApplicationService/CreateApplication",
    name: "to which plain http leads in a private network",
    body: {
      projectId: "$project",
      name: "$fresh",
      oidcConfiguration: {
        redirectUris: ["http://grafana.lan:3000/login/generic_oauth"],
        privateNetworkHttp: true,
      },
    },
    events: [
      "project.application.added",
      "project.application.config.oidc.added",
      "project.application.config.oidc.secret.changed",
    ],
    expect: {
      oidcConfiguration: {
        complianceProblems: [
          {
            key: "redirect_uris.http_private_allowed",
            localizedMessage:
              "Anyone in the same private network can read redirects over plain HTTP.",
          },
        ],
      },
    },
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
    call: "application.v2.ApplicationService/GetBackChannelLogoutStatus",
    body: { applicationId: "$app", projectId: "$project" },
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
