// Organizations, their domains, and metadata.
import type { Row } from "../row.ts"

export const organizationRows: readonly Row[] = [
  {
    call: "org.v2.OrganizationService/AddOrganization",
    as: "owner",
    body: { name: "$fresh" },
    events: ["org.added", "org.domain.added", "org.domain.verified", "org.domain.primary.set"],
  },
  {
    call: "org.v2.OrganizationService/AddOrganization",
    name: "by one who manages another",
    as: "manager",
    body: { name: "$fresh" },
    code: "permission_denied",
    id: "access.denied",
  },
  {
    call: "org.v2.OrganizationService/UpdateOrganization",
    body: { organizationId: "$org", name: "$fresh" },
    events: ["org.changed"],
  },
  {
    call: "org.v2.OrganizationService/DeactivateOrganization",
    body: { organizationId: "$org" },
    events: ["org.deactivated"],
  },
  {
    call: "org.v2.OrganizationService/ActivateOrganization",
    as: "owner",
    given: [["org.v2.OrganizationService/DeactivateOrganization", { organizationId: "$org" }]],
    body: { organizationId: "$org" },
    events: ["org.reactivated"],
  },
  {
    call: "org.v2.OrganizationService/DeleteOrganization",
    body: { organizationId: "$org" },
    events: ["org.removed", "user.removed"],
  },
  {
    call: "org.v2.OrganizationService/DeleteOrganization",
    name: "the default one",
    as: "owner",
    body: { organizationId: "$home" },
    code: "failed_precondition",
    id: "org.is_default",
  },
  {
    call: "org.v2.OrganizationService/ListOrganizations",
    body: { queries: [{ idQuery: { id: "$org" } }] },
    expect: { details: { totalResult: "1" }, result: [{ id: "$org" }] },
  },
  {
    call: "org.v2.OrganizationService/SetOrganizationMetadata",
    body: { organizationId: "$org", metadata: [{ key: "tier", value: "Z29sZA==" }] },
    events: ["org.metadata.set"],
  },
  {
    call: "org.v2.OrganizationService/ListOrganizationMetadata",
    given: [
      [
        "org.v2.OrganizationService/SetOrganizationMetadata",
        { organizationId: "$org", metadata: [{ key: "tier", value: "Z29sZA==" }] },
      ],
    ],
    body: { organizationId: "$org" },
    expect: { metadata: [{ key: "tier" }] },
  },
  {
    call: "org.v2.OrganizationService/DeleteOrganizationMetadata",
    given: [
      [
        "org.v2.OrganizationService/SetOrganizationMetadata",
        { organizationId: "$org", metadata: [{ key: "tier", value: "Z29sZA==" }] },
      ],
    ],
    body: { organizationId: "$org", keys: ["tier"] },
    events: ["org.metadata.removed"],
  },
  {
    call: "org.v2.OrganizationService/AddOrganizationDomain",
    body: { organizationId: "$org", domain: "$newDomain" },
    events: ["org.domain.added", "org.domain.trusted"],
  },
  {
    call: "org.v2.OrganizationService/ListOrganizationDomains",
    body: { organizationId: "$org" },
    expect: { domains: [{}] },
  },
  {
    call: "org.v2.OrganizationService/DeleteOrganizationDomain",
    body: { organizationId: "$org", domain: "$domain" },
    events: ["org.domain.removed"],
  },
  {
    call: "org.v2.OrganizationService/GenerateOrganizationDomainValidation",
    body: { organizationId: "$org", domain: "$contested", type: "DOMAIN_VALIDATION_TYPE_DNS" },
    events: ["org.domain.verification.added"],
  },
  {
    call: "org.v2.OrganizationService/GenerateOrganizationDomainValidation",
    name: "of what is proven",
    body: { organizationId: "$org", domain: "$ownDomain", type: "DOMAIN_VALIDATION_TYPE_DNS" },
    code: "failed_precondition",
    id: "org.domain_verified",
  },
  {
    call: "org.v2.OrganizationService/VerifyOrganizationDomain",
    body: { organizationId: "$org", domain: "$ownDomain" },
  },
  {
    call: "org.v2.OrganizationService/VerifyOrganizationDomain",
    name: "without a proof",
    body: { organizationId: "$org", domain: "$contested" },
    code: "failed_precondition",
    id: "org.domain_unproven",
  },
  { call: "management.v1.ManagementService/GetMyOrg", expect: { org: { id: "$org" } } },
  {
    call: "management.v1.ManagementService/GetOrgByDomainGlobal",
    body: { domain: "$ownDomain" },
    expect: { org: { id: "$org" } },
  },
  {
    call: "management.v1.ManagementService/GetOrgByDomainGlobal",
    name: "by a domain that nobody has proven",
    body: { domain: "$domain" },
    code: "not_found",
    id: "org.missing",
  },
  {
    call: "management.v1.ManagementService/SetPrimaryOrgDomain",
    name: "to one that was taken on trust",
    body: { domain: "$domain" },
    events: ["org.domain.primary.set"],
  },
  { call: "management.v1.ManagementService/ListOrgMemberRoles" },
  {
    call: "management.v1.ManagementService/ListOrgChanges",
    expect: {
      result: [
        { eventType: { key: "EventTypes.org.domain.primary.set" } },
        { eventType: { key: "EventTypes.org.domain.verified" } },
        { eventType: { key: "EventTypes.org.domain.added" } },
        { eventType: { key: "EventTypes.org.added" } },
      ],
    },
  },
]
