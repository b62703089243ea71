// Users of an organisation, as its manager sees them.
import type { Row } from "../row.ts"

export const userRows: readonly Row[] = [
  {
    call: "session.v2.SessionService/ListSessions",
    body: { queries: [{ idsQuery: { ids: ["$session"] } }] },
    expect: {
      details: { totalResult: "1" },
      sessions: [{ id: "$session", factors: { user: { id: "$user" } } }],
    },
  },
  {
    call: "session.v2.SessionService/ListSessions",
    name: "of another organisation",
    as: "stranger",
    body: { queries: [{ idsQuery: { ids: ["$session"] } }] },
    expect: { details: {} },
  },
  {
    call: "session.v2.SessionService/DeleteSession",
    body: { sessionId: "$session" },
    events: ["session.terminated"],
  },
  {
    call: "session.v2.SessionService/DeleteSession",
    name: "one's own",
    as: "user",
    body: { sessionId: "$session" },
    events: ["session.terminated"],
  },
  {
    call: "session.v2.SessionService/DeleteSession",
    name: "of another organisation",
    as: "stranger",
    body: { sessionId: "$session" },
    code: "not_found",
    id: "session.missing",
  },
  {
    call: "activity.v2.ActivityService/ListFailedSignIns",
    body: { userId: "$user" },
    expect: { pagination: {} },
  },
  {
    call: "activity.v2.ActivityService/ListFailedSignIns",
    name: "of another organisation",
    as: "stranger",
    body: { userId: "$user" },
    code: "not_found",
    id: "user.missing",
  },
  {
    call: "activity.v2.ActivityService/ListApplicationUses",
    body: { userId: "$user" },
    expect: { pagination: {} },
  },
  {
    call: "user.v2.UserService/CreateUser",
    body: {
      organizationId: "$org",
      username: "$fresh",
      human: {
        profile: { givenName: "Grace", familyName: "Hopper" },
        email: { email: "grace@example.com", isVerified: true },
      },
    },
    events: ["user.human.added"],
  },
  {
    call: "user.v2.UserService/CreateUser",
    name: "a service user",
    body: { organizationId: "$org", username: "$fresh", machine: { name: "Robot" } },
    events: ["user.machine.added"],
  },
  {
    call: "user.v2.UserService/CreateUser",
    name: "of another organisation",
    as: "stranger",
    body: { organizationId: "$org", username: "$fresh", machine: { name: "Robot" } },
    code: "not_found",
    id: "org.missing",
  },
  {
    call: "user.v2.UserService/AddHumanUser",
    body: {
      organization: { orgId: "$org" },
      username: "$fresh",
      profile: { givenName: "Grace", familyName: "Hopper" },
      email: { email: "grace@example.com", isVerified: true },
    },
    events: ["user.human.added"],
  },
  {
    call: "user.v2.UserService/GetUserByID",
    body: { userId: "$user" },
    expect: { user: { userId: "$user", username: "$loginName", state: "USER_STATE_ACTIVE" } },
  },
  {
    call: "user.v2.UserService/GetUserByID",
    name: "of another organisation",
    as: "stranger",
    body: { userId: "$user" },
    code: "not_found",
    id: "user.missing",
  },
  {
    call: "user.v2.UserService/ListUsers",
    body: { queries: [{ inUserIdsQuery: { userIds: ["$user"] } }] },
    expect: { details: { totalResult: "1" }, result: [{ userId: "$user" }] },
  },
  {
    call: "user.v2.UserService/ListUsers",
    name: "shows a stranger nobody",
    as: "stranger",
    body: { queries: [{ inUserIdsQuery: { userIds: ["$user"] } }] },
    expect: { details: {} },
  },
  {
    call: "user.v2.UserService/UpdateUser",
    body: { userId: "$user", human: { profile: { givenName: "Augusta" } } },
    events: ["user.human.profile.changed"],
  },
  {
    call: "user.v2.UserService/UpdateHumanUser",
    body: { userId: "$user", profile: { givenName: "Augusta", familyName: "King" } },
    events: ["user.human.profile.changed"],
  },
  {
    call: "user.v2.UserService/DeactivateUser",
    body: { userId: "$user" },
    events: ["user.deactivated"],
  },
  {
    call: "user.v2.UserService/ReactivateUser",
    given: [["user.v2.UserService/DeactivateUser", { userId: "$user" }]],
    body: { userId: "$user" },
    events: ["user.reactivated"],
  },
  { call: "user.v2.UserService/LockUser", body: { userId: "$user" }, events: ["user.locked"] },
  {
    call: "user.v2.UserService/UnlockUser",
    given: [["user.v2.UserService/LockUser", { userId: "$user" }]],
    body: { userId: "$user" },
    events: ["user.unlocked"],
  },
  { call: "user.v2.UserService/DeleteUser", body: { userId: "$user" }, events: ["user.removed"] },
  {
    call: "user.v2.UserService/DeleteUser",
    name: "who is not there",
    as: "owner",
    body: { userId: "404" },
    code: "not_found",
    id: "user.missing",
  },
  {
    call: "user.v2.UserService/SetPassword",
    body: { userId: "$user", newPassword: { password: "Correct-horse-8" } },
    events: ["user.human.password.changed"],
  },
  {
    call: "user.v2.UserService/SetEmail",
    body: { userId: "$user", email: "next@example.com", isVerified: true },
    events: ["user.human.email.changed", "user.human.email.verified"],
  },
  {
    call: "user.v2.UserService/SendEmailCode",
    given: [["user.v2.UserService/SetEmail", { userId: "$user", email: "next@example.com" }]],
    body: { userId: "$user", returnCode: {} },
    events: ["user.human.email.code.added", "user.human.email.code.requested"],
  },
  {
    call: "user.v2.UserService/ResendEmailCode",
    given: [["user.v2.UserService/SetEmail", { userId: "$user", email: "next@example.com" }]],
    body: { userId: "$user", returnCode: {} },
    events: ["user.human.email.code.added", "user.human.email.code.requested"],
  },
  {
    call: "user.v2.UserService/VerifyEmail",
    body: { userId: "$user", verificationCode: "$emailCode" },
    events: ["user.human.email.verified"],
  },
  {
    call: "user.v2.UserService/SetPhone",
    body: { userId: "$user", phone: "+41791112233", isVerified: true },
    events: ["user.human.phone.changed", "user.human.phone.verified"],
  },
  {
    call: "user.v2.UserService/ResendPhoneCode",
    given: [["user.v2.UserService/SetPhone", { userId: "$user", phone: "+41791112233" }]],
    body: { userId: "$user", returnCode: {} },
    events: ["user.human.phone.code.added", "user.human.phone.code.requested"],
  },
  {
    call: "user.v2.UserService/VerifyPhone",
    body: { userId: "$user", verificationCode: "$phoneCode" },
    events: ["user.human.phone.verified"],
  },
  {
    call: "user.v2.UserService/RemovePhone",
    body: { userId: "$user" },
    events: ["user.human.phone.removed"],
  },
  {
    call: "user.v2.UserService/CreateInviteCode",
    body: { userId: "$user", sendCode: { applicationName: "Wiki" } },
    events: ["user.human.invite.code.added", "user.human.invite.code.requested"],
  },
  {
    call: "user.v2.UserService/CreateInviteCode",
    name: "of who can sign in already",
    given: [
      [
        "user.v2.UserService/SetPassword",
        { userId: "$user", newPassword: { password: "Correct-horse-8" } },
      ],
    ],
    body: { userId: "$user", returnCode: {} },
    code: "failed_precondition",
    id: "user.can_sign_in",
  },
  {
    call: "user.v2.UserService/ResendInviteCode",
    given: [["user.v2.UserService/CreateInviteCode", { userId: "$user" }]],
    body: { userId: "$user" },
    events: ["user.human.invite.code.added", "user.human.invite.code.requested"],
  },
  {
    call: "user.v2.UserService/VerifyInviteCode",
    body: { userId: "$user", verificationCode: "$inviteCode" },
    events: ["user.human.invite.check.succeeded"],
  },
  {
    call: "user.v2.UserService/VerifyInviteCode",
    name: "with a wrong code, which is counted",
    body: { userId: "$user", verificationCode: "AAAAAA" },
    code: "invalid_argument",
    id: "user.code_wrong",
    events: ["user.human.invite.check.failed"],
  },
  {
    call: "user.v2.UserService/PasswordReset",
    body: { userId: "$user", sendLink: { urlTemplate: "https://app.example.com/{{.Code}}" } },
    events: ["user.human.password.code.added", "user.human.password.code.requested"],
  },
  {
    call: "user.v2.UserService/PasswordReset",
    name: "by SMS",
    body: { userId: "$user", sendLink: { notificationType: "NOTIFICATION_TYPE_SMS" } },
    events: ["user.human.password.code.added", "user.human.password.code.requested"],
  },
  {
    call: "user.v2.UserService/PasswordReset",
    name: "of a service user",
    body: { userId: "$robot", returnCode: {} },
    code: "failed_precondition",
    id: "user.not_human",
  },
  {
    call: "user.v2.UserService/SetPassword",
    name: "with a wrong code, which is counted",
    body: {
      userId: "$user",
      newPassword: { password: "Correct-horse-8" },
      verificationCode: "AAAAAA",
    },
    code: "invalid_argument",
    id: "user.code_wrong",
    events: ["user.human.password.code.check.failed"],
  },
  {
    call: "user.v2.UserService/SetPassword",
    name: "with the code that was returned for it",
    body: {
      userId: "$user",
      newPassword: { password: "Correct-horse-8" },
      verificationCode: "$passwordCode",
    },
    events: ["user.human.password.changed"],
  },
  {
    call: "user.v2.UserService/AddKey",
    body: { userId: "$robot", expirationDate: "$tomorrow", publicKey: "$publicKey" },
    events: ["user.machine.key.added"],
  },
  {
    call: "user.v2.UserService/RemoveKey",
    body: { userId: "$robot", keyId: "$key" },
    events: ["user.machine.key.removed"],
  },
  {
    call: "user.v2.UserService/ListKeys",
    body: { filters: [{ keyIdFilter: { id: "$key" } }] },
    expect: { result: [{ id: "$key", userId: "$robot" }] },
  },
  {
    call: "user.v2.UserService/AddSecret",
    body: { userId: "$robot" },
    events: ["user.machine.secret.set"],
  },
  {
    call: "user.v2.UserService/RemoveSecret",
    given: [["user.v2.UserService/AddSecret", { userId: "$robot" }]],
    body: { userId: "$robot" },
    events: ["user.machine.secret.removed"],
  },
  {
    call: "user.v2.UserService/AddPersonalAccessToken",
    body: { userId: "$robot", expirationDate: "$tomorrow" },
    events: ["user.pat.added"],
  },
  {
    call: "user.v2.UserService/RemovePersonalAccessToken",
    body: { userId: "$robot", tokenId: "$token" },
    events: ["user.pat.removed"],
  },
  {
    call: "user.v2.UserService/ListPersonalAccessTokens",
    body: { filters: [{ tokenIdFilter: { id: "$token" } }] },
    expect: { result: [{ id: "$token" }] },
  },
  {
    call: "user.v2.UserService/SetUserMetadata",
    body: { userId: "$user", metadata: [{ key: "shoe", value: "NDI=" }] },
    events: ["user.metadata.set"],
  },
  {
    call: "user.v2.UserService/ListUserMetadata",
    given: [
      [
        "user.v2.UserService/SetUserMetadata",
        { userId: "$user", metadata: [{ key: "shoe", value: "NDI=" }] },
      ],
    ],
    body: { userId: "$user" },
    expect: { metadata: [{ key: "shoe", value: "NDI=" }] },
  },
  {
    call: "user.v2.UserService/DeleteUserMetadata",
    given: [
      [
        "user.v2.UserService/SetUserMetadata",
        { userId: "$user", metadata: [{ key: "shoe", value: "NDI=" }] },
      ],
    ],
    body: { userId: "$user", keys: ["shoe"] },
    events: ["user.metadata.removed"],
  },
]
