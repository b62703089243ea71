// What people see and change of themselves.
import type { Row } from "../row.ts"

export const selfRows: readonly Row[] = [
  { call: "auth.v1.AuthService/Healthz", as: "anonymous" },
  { call: "auth.v1.AuthService/GetMyUser", as: "user", expect: { user: { id: "$user" } } },
  {
    call: "auth.v1.AuthService/GetMyUser",
    name: "of nobody",
    as: "anonymous",
    code: "unauthenticated",
    id: "access.token_missing",
  },
  {
    call: "auth.v1.AuthService/GetMyEmail",
    as: "user",
    expect: { email: { isEmailVerified: true } },
  },
  {
    call: "auth.v1.AuthService/GetMyPhone",
    as: "user",
    expect: { phone: { phone: "+41791234567" } },
  },
  {
    call: "auth.v1.AuthService/GetMyProfile",
    as: "user",
    expect: { profile: { firstName: "Ada" } },
  },
  { call: "auth.v1.AuthService/ListMyAuthFactors", as: "user" },
  { call: "auth.v1.AuthService/ListMyCorePermissions", as: "manager" },
  {
    call: "auth.v1.AuthService/ListMyMemberships",
    as: "manager",
    expect: { result: [{ roles: ["ORG_OWNER"], orgId: "$org" }] },
  },
  {
    call: "auth.v1.AuthService/ListMyMetadata",
    as: "user",
    given: [
      [
        "user.v2.UserService/SetUserMetadata",
        { userId: "$user", metadata: [{ key: "shoe", value: "NDI=" }] },
      ],
    ],
    expect: { result: [{ key: "shoe" }] },
  },
  {
    call: "auth.v1.AuthService/GetMyMetadata",
    as: "user",
    given: [
      [
        "user.v2.UserService/SetUserMetadata",
        { userId: "$user", metadata: [{ key: "shoe", value: "NDI=" }] },
      ],
    ],
    body: { key: "shoe" },
    expect: { metadata: { key: "shoe", value: "NDI=" } },
  },
  { call: "auth.v1.AuthService/ListMyProjectOrgs", as: "manager" },
  { call: "auth.v1.AuthService/ListMyRefreshTokens", as: "user" },
  { call: "activity.v2.ActivityService/ListConnectedApplications", as: "user" },
  {
    call: "activity.v2.ActivityService/DisconnectApplication",
    as: "user",
    body: { applicationId: "$app" },
    code: "not_found",
    id: "grant.missing",
  },
  { call: "activity.v2.ActivityService/ListLinkableProviders", as: "user" },
  {
    call: "activity.v2.ActivityService/StartProviderLink",
    name: "one that their organisation doesn't offer",
    as: "user",
    body: { idpId: "$instanceGenericOAuth" },
    code: "not_found",
    id: "idp.missing",
  },
  { call: "auth.v1.AuthService/ListMyUserSessions", as: "user" },
  { call: "auth.v1.AuthService/ListMyUserChanges", as: "user", expect: { result: [{}] } },
  { call: "auth.v1.AuthService/RemoveMyPhone", as: "user", events: ["user.human.phone.removed"] },
  {
    call: "auth.v1.AuthService/RemoveMyUser",
    as: "user",
    code: "permission_denied",
    id: "access.denied",
  },
  {
    call: "auth.v1.AuthService/ResendMyEmailVerification",
    as: "user",
    given: [["user.v2.UserService/SetEmail", { userId: "$user", email: "next@example.com" }]],
    events: ["user.human.email.code.added", "user.human.email.code.requested"],
  },
  {
    call: "auth.v1.AuthService/ResendMyPhoneVerification",
    as: "user",
    given: [["user.v2.UserService/SetPhone", { userId: "$user", phone: "+41791112233" }]],
    events: ["user.human.phone.code.added", "user.human.phone.code.requested"],
  },
  { call: "auth.v1.AuthService/RevokeAllMyRefreshTokens", as: "user" },
  {
    call: "auth.v1.AuthService/RevokeMyRefreshToken",
    as: "user",
    body: { id: "404" },
    code: "not_found",
    id: "grant.missing",
  },
  {
    call: "auth.v1.AuthService/SetMyEmail",
    as: "user",
    body: { email: "mine@example.com" },
    events: [
      "user.human.email.changed",
      "user.human.email.code.added",
      "user.human.email.code.requested",
    ],
  },
  {
    call: "auth.v1.AuthService/SetMyPhone",
    as: "user",
    body: { phone: "+41791112233" },
    events: [
      "user.human.phone.changed",
      "user.human.phone.code.added",
      "user.human.phone.code.requested",
    ],
  },
  {
    call: "auth.v1.AuthService/UpdateMyProfile",
    as: "user",
    body: { firstName: "Augusta", lastName: "King" },
    events: ["user.human.profile.changed"],
  },
  {
    call: "auth.v1.AuthService/UpdateMyUserName",
    as: "user",
    given: [
      ["admin.v1.AdminService/AddCustomDomainPolicy", { orgId: "$org", usersCanRename: true }],
    ],
    body: { userName: "$fresh" },
    events: ["user.username.changed"],
  },
  {
    call: "auth.v1.AuthService/UpdateMyUserName",
    name: "while the domain policy does not allow it",
    as: "user",
    body: { userName: "$fresh" },
    code: "failed_precondition",
    id: "user.rename_off",
  },
  {
    call: "auth.v1.AuthService/VerifyMyEmail",
    as: "user",
    body: { code: "$emailCode" },
    events: ["user.human.email.verified"],
  },
  {
    call: "auth.v1.AuthService/VerifyMyPhone",
    as: "user",
    body: { code: "$phoneCode" },
    events: ["user.human.phone.verified"],
  },
]
