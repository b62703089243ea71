// Responses of custom login pages to applications and devices.
import type { Row } from "../row.ts"

export const oidcRows: readonly Row[] = [
  {
    call: "oidc.v2.OIDCService/GetAuthRequest",
    as: "page",
    body: { authRequestId: "$authRequest" },
    expect: { authRequest: { id: "$authRequest", clientId: "$clientId", scope: ["openid"] } },
  },
  {
    call: "oidc.v2.OIDCService/GetAuthRequest",
    name: "by who is no login page",
    as: "owner",
    body: { authRequestId: "$authRequest" },
    code: "permission_denied",
    id: "access.denied",
  },
  {
    call: "oidc.v2.OIDCService/CreateCallback",
    name: "with an error",
    as: "page",
    body: { authRequestId: "$authRequest", error: { error: "ERROR_REASON_ACCESS_DENIED" } },
    expect: { details: { sequence: "2" } },
    events: ["auth_request.failed"],
  },
  {
    call: "oidc.v2.OIDCService/CreateCallback",
    name: "with a session of nobody",
    as: "page",
    body: {
      authRequestId: "$authRequest",
      session: { sessionId: "$pageSession", sessionToken: "$pageToken" },
    },
    code: "failed_precondition",
    id: "session.unproven",
  },
  {
    call: "oidc.v2.OIDCService/CreateCallback",
    name: "without an answer",
    as: "page",
    body: { authRequestId: "$authRequest" },
    code: "invalid_argument",
    id: "request.undecided",
  },
  {
    call: "oidc.v2.OIDCService/GetDeviceAuthorizationRequest",
    as: "page",
    body: { userCode: "$userCode" },
    expect: { deviceAuthorizationRequest: { clientId: "$clientId", scope: ["openid"] } },
  },
  {
    call: "oidc.v2.OIDCService/AuthorizeOrDenyDeviceAuthorization",
    as: "page",
    body: { deviceAuthorizationId: "$device", deny: {} },
    events: ["device.authorization.canceled"],
  },
]
