// Responses of custom login pages to SAML applications.
import type { Row } from "../row.ts"

export const samlRows: readonly Row[] = [
  {
    call: "saml.v2.SAMLService/GetSAMLRequest",
    as: "page",
    body: { samlRequestId: "$samlRequest" },
    expect: {
      samlRequest: {
        id: "$samlRequest",
        assertionConsumerService: "https://sp.example.com/acs",
        relayState: "s1",
        binding: "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST",
      },
    },
  },
  {
    call: "saml.v2.SAMLService/GetSAMLRequest",
    name: "of another protocol",
    as: "page",
    body: { samlRequestId: "$authRequest" },
    code: "not_found",
    id: "auth_request.missing",
  },
  {
    call: "oidc.v2.OIDCService/GetAuthRequest",
    name: "of another protocol",
    as: "page",
    body: { authRequestId: "$samlRequest" },
    code: "not_found",
    id: "auth_request.missing",
  },
  {
    call: "saml.v2.SAMLService/GetSAMLRequest",
    name: "by who is no login page",
    as: "owner",
    body: { samlRequestId: "$samlRequest" },
    code: "permission_denied",
    id: "access.denied",
  },
  {
    call: "saml.v2.SAMLService/CreateResponse",
    name: "with an error",
    as: "page",
    body: { samlRequestId: "$samlRequest", error: { error: "ERROR_REASON_AUTH_N_FAILED" } },
    expect: { url: "https://sp.example.com/acs", post: { relayState: "s1" } },
    events: ["auth_request.failed"],
  },
  {
    call: "saml.v2.SAMLService/CreateResponse",
    name: "with a session of nobody",
    as: "page",
    body: {
      samlRequestId: "$samlRequest",
      session: { sessionId: "$pageSession", sessionToken: "$pageToken" },
    },
    code: "failed_precondition",
    id: "session.unproven",
  },
  {
    call: "saml.v2.SAMLService/CreateResponse",
    name: "without an answer",
    as: "page",
    body: { samlRequestId: "$samlRequest" },
    code: "invalid_argument",
    id: "request.undecided",
  },
]
