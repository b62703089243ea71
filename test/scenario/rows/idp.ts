// What people sign in with that is not ours: set up for the instance, and for an organization.
import { idpForms, vendorBody } from "../../support/idps.ts"
import type { Row } from "../row.ts"

type Level = {
  readonly service: string
  readonly as: "owner" | "manager"
  readonly level: "instance" | "org"
}
const levels: readonly Level[] = [
  { service: "admin.v1.AdminService", as: "owner", level: "instance" },
  { service: "management.v1.ManagementService", as: "manager", level: "org" },
]
const secret = "idp.secret.changed"
const metadata = "idp.metadata.changed"
const link = "policy.login.idpprovider"
const missing = { code: "not_found", id: "idp.missing" } as const

/** Rows name the provider of a level with "$instanceGitHub" etc. */
const kindRows = ({ service, as, level }: Level) =>
  idpForms.flatMap(({ name, event, body }): readonly Row[] => {
    const own = name === "JWT" ? [] : [secret]
    const isSaml = name === "SAML"
    return [
      {
        call: `${service}/Add${name}Provider`,
        as,
        body,
        events: [`${level}.idp.${event}.added`, ...own, ...(isSaml ? [metadata] : [])],
      },
      {
        call: `${service}/Update${name}Provider`,
        as,
        body: { ...body, id: `$${level}${name}`, name: "Renamed" },
        // A key pair is created once.
        events: [`${level}.idp.${event}.changed`, ...(isSaml ? [] : own)],
      },
      {
        call: `${service}/Update${name}Provider`,
        name: "nobody's",
        as,
        body: { ...body, id: "absent" },
        ...missing,
      },
    ]
  })

const levelRows = ({ service, as, level }: Level): readonly Row[] => {
  const idp = `$${level}GenericOIDC`
  const call = (name: string) => `${service}/${name}`
  return [
    {
      call: call("GetProviderByID"),
      as,
      body: { id: idp },
      expect: { idp: { id: idp, config: { oidc: { issuer: "https://idp.example.com" } } } },
    },
    {
      call: call("ListProviders"),
      as,
      body: { queries: [{ idpIdQuery: { id: idp } }] },
      expect: { result: [{ id: idp, name: "OpenID" }] },
    },
    {
      call: call("ListProviders"),
      name: "a filter that says nothing",
      as,
      body: { queries: [{}] },
      code: "invalid_argument",
      id: "search.filter_empty",
    },
    {
      call: call("MigrateGenericOIDCProvider"),
      name: "a provider of neither kind",
      as,
      body: { id: idp },
      code: "invalid_argument",
      id: "idp.template_missing",
    },
    {
      call: call("MigrateGenericOIDCProvider"),
      as,
      body: { id: idp, google: vendorBody },
      events: [`${level}.idp.oidc.migrated.google`, secret],
    },
    {
      call: call("RegenerateSAMLProviderCertificate"),
      as,
      body: { id: `$${level}SAML` },
      events: [`${level}.idp.saml.changed`, secret],
    },
    {
      call: call("RegenerateSAMLProviderCertificate"),
      name: "one that does not speak SAML",
      as,
      body: { id: idp },
      code: "failed_precondition",
      id: "idp.wrong_kind",
    },
    {
      call: call("DeleteProvider"),
      as,
      body: { id: idp },
      events: [`${level}.idp.removed`, "idp.secret.removed"],
    },
  ]
}

const users = "user.v2.UserService"
const acme = { idpId: "$instanceGenericOAuth", userId: "ada-1", userName: "ada" }
const urls = {
  successUrl: "https://login.example.com/ok",
  failureUrl: "https://login.example.com/no",
}
const added = "user.human.externalidp.added"

/** Sign-ins of custom login pages, and links of users. */
const linkRows: readonly Row[] = [
  {
    call: `${users}/StartIdentityProviderIntent`,
    as: "page",
    body: { idpId: "$instanceGenericOAuth", urls },
    events: ["idpintent.started"],
  },
  {
    call: `${users}/StartIdentityProviderIntent`,
    name: "for who is no login page",
    body: { idpId: "$instanceGenericOAuth", urls },
    code: "permission_denied",
    id: "access.denied",
  },
  {
    call: `${users}/RetrieveIdentityProviderIntent`,
    as: "page",
    body: { idpIntentId: "1", idpIntentToken: "token" },
    code: "failed_precondition",
    id: "idp.intent_over",
  },
  {
    call: `${users}/AddIDPLink`,
    as: "owner",
    body: { userId: "$user", idpLink: { ...acme, userId: "$fresh" } },
    events: [added],
  },
  {
    call: `${users}/AddIDPLink`,
    name: "a provider of the instance, without a permission there",
    body: { userId: "$user", idpLink: { ...acme, userId: "$fresh" } },
    code: "permission_denied",
    id: "user.idp_link_unproven",
  },
  {
    call: `${users}/AddIDPLink`,
    name: "a provider of another organisation",
    as: "owner",
    body: { userId: "$ownerId", idpLink: { ...acme, idpId: "$orgGoogle" } },
    ...missing,
  },
  {
    call: `${users}/ListIDPLinks`,
    given: [[`${users}/AddIDPLink`, { userId: "$user", idpLink: { ...acme, userId: "$fresh" } }]],
    body: { userId: "$user" },
    expect: { result: [{ userName: "ada" }] },
  },
  {
    call: `${users}/RemoveIDPLink`,
    given: [[`${users}/AddIDPLink`, { userId: "$user", idpLink: { ...acme, userId: "$fresh" } }]],
    body: { userId: "$user", idpId: "$instanceGenericOAuth", linkedUserId: "$fresh" },
    events: ["user.human.externalidp.removed"],
  },
  {
    call: "auth.v1.AuthService/ListMyLinkedIDPs",
    as: "user",
    given: [[`${users}/AddIDPLink`, { userId: "$user", idpLink: { ...acme, userId: "$fresh" } }]],
    body: {},
    expect: { result: [{ idpName: "OAuth", providedUserName: "ada" }] },
  },
  {
    call: "auth.v1.AuthService/RemoveMyLinkedIDP",
    name: "the only way in",
    as: "user",
    given: [[`${users}/AddIDPLink`, { userId: "$user", idpLink: { ...acme, userId: "$fresh" } }]],
    body: { idpId: "$instanceGenericOAuth", linkedUserId: "$fresh" },
    code: "failed_precondition",
    id: "user.last_way",
  },
]

export const idpRows: readonly Row[] = [
  ...levels.flatMap(kindRows),
  ...levels.flatMap(levelRows),
  ...linkRows,
  {
    call: "diagnosis.v2.DiagnosisService/StartProviderTest",
    body: { idpId: "$orgGenericOAuth" },
    events: ["idpintent.started"],
  },
  {
    call: "diagnosis.v2.DiagnosisService/StartProviderTest",
    name: "one of the instance, which its manager alone tries out",
    body: { idpId: "$instanceGenericOAuth" },
    ...missing,
  },
  {
    call: "diagnosis.v2.DiagnosisService/GetProviderTest",
    body: { testId: "1", testToken: "token" },
    code: "failed_precondition",
    id: "idp.intent_over",
  },
  {
    call: "admin.v1.AdminService/ListIDPs",
    as: "owner",
    body: { queries: [{ idpIdQuery: { id: "$instanceGenericOIDC" } }] },
    expect: { result: [{ oidcConfig: { clientId: "client" } }] },
  },
  {
    call: "admin.v1.AdminService/AddIDPToLoginPolicy",
    as: "owner",
    once: true,
    body: { idpId: "$instanceGenericOIDC" },
    events: [`instance.${link}.added`],
  },
  {
    call: "admin.v1.AdminService/AddIDPToLoginPolicy",
    name: "nobody's",
    as: "owner",
    body: { idpId: "absent" },
    ...missing,
  },
  {
    call: "admin.v1.AdminService/ListLoginPolicyIDPs",
    as: "owner",
    once: true,
    body: {},
    expect: { details: {} },
  },
  {
    call: "admin.v1.AdminService/RemoveIDPFromLoginPolicy",
    as: "owner",
    body: { idpId: "absent" },
    code: "not_found",
    id: "idp.not_linked",
  },
  {
    call: "management.v1.ManagementService/AddIDPToLoginPolicy",
    name: "an organization whose policy is that of the instance",
    body: { idpId: "$instanceGenericOIDC" },
    code: "failed_precondition",
    id: "idp.policy_default",
  },
  {
    call: "management.v1.ManagementService/ListLoginPolicyIDPs",
    body: {},
    expect: { details: {} },
  },
  {
    call: "management.v1.ManagementService/RemoveIDPFromLoginPolicy",
    body: { idpId: "absent" },
    code: "not_found",
    id: "idp.not_linked",
  },
  {
    call: "idp.v2.IdentityProviderService/GetIDPByID",
    body: { id: "$orgGenericOIDC" },
    expect: { idp: { name: "OpenID", type: "IDP_TYPE_OIDC" } },
  },
  {
    call: "idp.v2.IdentityProviderService/GetIDPByID",
    name: "one of the instance, which its manager alone sees",
    body: { id: "$instanceGenericOIDC" },
    ...missing,
  },
]
