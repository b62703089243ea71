// Links with which people create their own accounts, and sign-ups that wait for approval.
import type { Row } from "../row.ts"

const service = "signup.v2.SignUpService"
const expirationDate = new Date(Date.now() + 86_400_000).toISOString()
const terms = { organizationId: "$org", useLimit: 3, expirationDate }

export const signUpRows: readonly Row[] = [
  {
    call: `${service}/CreateSignUpLink`,
    body: { ...terms, allowedDomains: ["Example.com"] },
    events: ["sign_up_link.added"],
  },
  {
    call: `${service}/CreateSignUpLink`,
    name: "a domain is a domain",
    body: { ...terms, allowedDomains: ["@example.com"] },
    code: "invalid_argument",
    id: "request.field_invalid",
  },
  {
    call: `${service}/CreateSignUpLink`,
    name: "not in another organization",
    as: "stranger",
    body: terms,
    code: "not_found",
    id: "org.missing",
  },
  {
    call: `${service}/ListSignUpLinks`,
    given: [[`${service}/ListSignUpLinks`, { organizationId: "$signUpLink" }]],
    body: { organizationId: "$org" },
    expect: { links: [{ id: "$signUpLink", state: "SIGN_UP_LINK_STATE_ACTIVE", useLimit: 3 }] },
  },
  {
    call: `${service}/RevokeSignUpLink`,
    body: { id: "$signUpLink" },
    events: ["sign_up_link.revoked"],
  },
  {
    call: `${service}/RevokeSignUpLink`,
    name: "of another organization there is none",
    as: "stranger",
    body: { id: "$signUpLink" },
    code: "not_found",
    id: "sign_up_link.missing",
  },
  {
    call: `${service}/ListSignUpRequests`,
    given: [[`${service}/ListSignUpRequests`, { organizationId: "$signUpRequest" }]],
    body: { organizationId: "$org" },
    expect: { requests: [{ id: "$signUpRequest", givenName: "Ada", organizationId: "$org" }] },
  },
  {
    call: `${service}/ListSignUpRequests`,
    name: "another organization sees none",
    as: "stranger",
    given: [[`${service}/ListSignUpRequests`, { organizationId: "$signUpRequest" }]],
    body: {},
    expect: { pagination: { appliedLimit: "100" } },
  },
  {
    call: `${service}/ApproveSignUpRequest`,
    body: { id: "$signUpRequest" },
    expect: { userId: "$signUpRequest" },
    events: ["sign_up_request.approved", "user.human.added", "user.human.invite.code.added"],
  },
  {
    call: `${service}/ApproveSignUpRequest`,
    name: "of another organization there is none",
    as: "stranger",
    body: { id: "$signUpRequest" },
    code: "not_found",
    id: "sign_up_request.missing",
  },
  {
    call: `${service}/RefuseSignUpRequest`,
    body: { id: "$signUpRequest" },
    events: ["sign_up_request.refused"],
  },
  {
    call: `${service}/RefuseSignUpRequest`,
    name: "without user.write there is no permission",
    as: "nobody",
    body: { id: "$signUpRequest" },
    code: "permission_denied",
    id: "access.denied",
  },
]
