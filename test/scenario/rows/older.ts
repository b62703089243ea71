// Operations of the management v1 service without a newer equivalent.
import type { Row } from "../row.ts"

export const managementV1Rows: readonly Row[] = [
  { call: "management.v1.ManagementService/Healthz", as: "anonymous" },
  {
    call: "management.v1.ManagementService/GetOIDCInformation",
    as: "anonymous",
    expect: { issuer: "https://id.example.com" },
  },
  { call: "management.v1.ManagementService/GetIAM", expect: { defaultOrgId: "$home" } },
  {
    call: "management.v1.ManagementService/GetUserByID",
    body: { id: "$user" },
    expect: { user: { id: "$user" } },
  },
  {
    call: "management.v1.ManagementService/GetUserByLoginNameGlobal",
    as: "owner",
    given: [["user.v2.UserService/GetUserByID", { userId: "$user" }]],
    body: { loginName: "$loginName" },
  },
  {
    call: "management.v1.ManagementService/ListUserChanges",
    body: { userId: "$user" },
    expect: { result: [{}] },
  },
  {
    call: "admin.v1.AdminService/ListEvents",
    as: "owner",
    body: { limit: 1, aggregateId: "$user", aggregateTypes: ["user"], asc: true },
    expect: {
      events: [
        {
          aggregate: { id: "$user", type: { type: "user" }, resourceOwner: "$org" },
          type: { type: "user.human.added", localized: { localizedMessage: "User created" } },
        },
      ],
    },
  },
  {
    call: "admin.v1.AdminService/ListEvents",
    body: { limit: 1 },
    code: "permission_denied",
    id: "access.denied",
  },
  { call: "admin.v1.AdminService/ListEventTypes", as: "owner" },
  { call: "admin.v1.AdminService/ListAggregateTypes", as: "owner" },
  { call: "admin.v1.AdminService/ListFailedEvents", as: "owner", expect: {} },
  {
    call: "admin.v1.AdminService/RemoveFailedEvent",
    as: "owner",
    body: { database: "latchkey", viewName: "messages", failedSequence: "1" },
    code: "not_found",
    id: "event.failed_missing",
  },
  { call: "system.v1.SystemService/ListFailedEvents", as: "system", expect: {} },
  {
    call: "admin.v1.AdminService/ListMilestones",
    as: "owner",
    body: { queries: [{ isReachedQuery: { reached: false } }] },
    expect: { details: { totalResult: "5" } },
  },
  { call: "admin.v1.AdminService/ListViews", as: "owner", expect: {} },
  { call: "system.v1.SystemService/ListViews", as: "system", expect: {} },
  {
    call: "system.v1.SystemService/ClearView",
    as: "system",
    body: { database: "latchkey", viewName: "target" },
    expect: {},
  },
  {
    call: "system.v1.SystemService/ClearView",
    name: "that there is none",
    as: "system",
    body: { database: "latchkey", viewName: "nothing" },
    code: "not_found",
    id: "view.missing",
  },
  {
    call: "system.v1.SystemService/RemoveFailedEvent",
    as: "system",
    body: { database: "latchkey", viewName: "messages", failedSequence: "1" },
    code: "not_found",
    id: "event.failed_missing",
  },
  {
    call: "management.v1.ManagementService/GenerateMachineSecret",
    body: { userId: "$robot" },
    events: ["user.machine.secret.set"],
  },
  {
    call: "management.v1.ManagementService/RemoveMachineSecret",
    given: [["user.v2.UserService/AddSecret", { userId: "$robot" }]],
    body: { userId: "$robot" },
    events: ["user.machine.secret.removed"],
  },
  {
    call: "management.v1.ManagementService/AddMachineKey",
    body: {
      userId: "$robot",
      type: "KEY_TYPE_JSON",
      expirationDate: "$tomorrow",
      publicKey: "$publicKey",
    },
    events: ["user.machine.key.added"],
  },
  {
    call: "management.v1.ManagementService/GetMachineKeyByIDs",
    body: { userId: "$robot", keyId: "$key" },
  },
  { call: "management.v1.ManagementService/ListMachineKeys", body: { userId: "$robot" } },
  {
    call: "management.v1.ManagementService/RemoveMachineKey",
    body: { userId: "$robot", keyId: "$key" },
    events: ["user.machine.key.removed"],
  },
  {
    call: "management.v1.ManagementService/AddPersonalAccessToken",
    body: { userId: "$robot", expirationDate: "$tomorrow" },
    events: ["user.pat.added"],
  },
  {
    call: "management.v1.ManagementService/GetPersonalAccessTokenByIDs",
    body: { userId: "$robot", tokenId: "$token" },
  },
  { call: "management.v1.ManagementService/ListPersonalAccessTokens", body: { userId: "$robot" } },
  {
    call: "management.v1.ManagementService/RemovePersonalAccessToken",
    body: { userId: "$robot", tokenId: "$token" },
    events: ["user.pat.removed"],
  },
]
