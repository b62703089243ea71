// The older family of management, where it has no newer twin beside it.
import type { Row } from "../row.ts"

export const olderRows: readonly Row[] = [
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
