// What an instance, or an organization for itself, has decided: the same rows for each policy.
import { pageLanguages } from "../../../src/kernel/text/language.ts"
import { callsOf, type PolicyRow, policyRows as policies } from "../../support/policies.ts"
import type { Row } from "../row.ts"

const admin = "admin.v1.AdminService"
const management = "management.v1.ManagementService"
const settings = "settings.v2.SettingsService"

/**
 * The policy of the caller's organization, in a separate instance, because its policy applies to
 * everyone.
 */
const rowsOf = (row: PolicyRow): Row[] => {
  const { name, kind, instance, own, settings: call, isMine, isNamed } = row
  const service = isNamed ? admin : management
  const { standard, ...calls } = callsOf(row)
  const of = (operation: string) => `${service}/${capital(operation)}`
  const as = isNamed ? { as: "owner" as const } : {}
  const org = isNamed ? { orgId: "$home" } : {}
  const once = { as: "owner", once: true, given: [[of(calls.add), { ...org, ...own }]] } as const
  return [
    { call: `${admin}/Get${name}Policy`, as: "owner", expect: { policy: { isDefault: true } } },
    {
      call: `${admin}/Update${name}Policy`,
      as: "owner",
      once: true,
      body: instance,
      events: [`instance.policy.${kind}.added`],
    },
    { call: `${management}/Get${name}Policy`, expect: { policy: { isDefault: true } } },
    { call: of(calls.get), ...as, body: org, expect: { policy: { isDefault: true } } },
    ...(standard ? [{ call: of(standard), expect: { policy: { isDefault: true } } }] : []),
    {
      call: of(calls.add),
      ...as,
      body: { ...own, ...(isNamed && { orgId: "$org" }) },
      events: [`org.policy.${kind}.added`],
    },
    {
      call: of(calls.update),
      ...once,
      body: { ...org, ...instance },
      events: [`org.policy.${kind}.changed`],
    },
    { call: of(calls.reset), ...once, body: org, events: [`org.policy.${kind}.removed`] },
    ...(isMine ? [{ call: `auth.v1.AuthService/GetMy${name}Policy`, as: "nobody" as const }] : []),
    ...(call ? [settingsRow(capital(call))] : []),
  ]
}

const capital = (name: string) => name.charAt(0).toUpperCase() + name.slice(1)

const settingsRow = (call: string): Row => ({
  call: `${settings}/${call}`,
  body: { ctx: { orgId: "$org" } },
  expect: { settings: { resourceOwnerType: "RESOURCE_OWNER_TYPE_INSTANCE" } },
})

/** The factors of the login policy, at either level. */
const factorRows: readonly Row[] = [admin, management].flatMap((service): readonly Row[] => {
  const at = service === admin ? "instance" : "org"
  const own = [`${management}/AddCustomLoginPolicy`, { allowUsernamePassword: true }] as const
  const more = [`${management}/AddSecondFactorToLoginPolicy`, { type: 1 }] as const
  const isOrg = service === management
  const given = isOrg ? [own, more] : []
  const once = { as: "owner", once: true, given } as const
  const changed = [`${at}.policy.login.${isOrg ? "changed" : "added"}`]
  return [
    { call: `${service}/ListLoginPolicySecondFactors`, as: "owner" },
    { call: `${service}/ListLoginPolicyMultiFactors`, as: "owner" },
    {
      call: `${service}/AddSecondFactorToLoginPolicy`,
      ...once,
      body: { type: "SECOND_FACTOR_TYPE_OTP_EMAIL" },
      events: changed,
    },
    {
      call: `${service}/RemoveSecondFactorFromLoginPolicy`,
      ...once,
      body: { type: "SECOND_FACTOR_TYPE_OTP" },
      events: changed,
    },
    {
      call: `${service}/AddMultiFactorToLoginPolicy`,
      ...once,
      given: isOrg ? given : [[`${admin}/RemoveMultiFactorFromLoginPolicy`, { type: 1 }]],
      body: { type: 1 },
      events: [`${at}.policy.login.changed`],
    },
    {
      call: `${service}/RemoveMultiFactorFromLoginPolicy`,
      ...once,
      given: isOrg ? [own, [`${management}/AddMultiFactorToLoginPolicy`, { type: 1 }]] : given,
      body: { type: 1 },
      events: changed,
    },
  ]
})

const labelRows: readonly Row[] = [
  { call: `${admin}/GetPreviewLabelPolicy`, as: "owner" },
  { call: `${management}/GetPreviewLabelPolicy` },
  {
    call: `${admin}/ActivateLabelPolicy`,
    as: "owner",
    once: true,
    given: [[`${admin}/UpdateLabelPolicy`, { primaryColor: "#112233" }]],
    events: ["instance.policy.label.added"],
  },
  {
    call: `${management}/ActivateCustomLabelPolicy`,
    as: "owner",
    once: true,
    given: [[`${management}/AddCustomLabelPolicy`, { primaryColor: "#112233" }]],
    events: ["org.policy.label.added"],
  },
  { ...settingsRow("GetBrandingSettings") },
]

const otherRows: readonly Row[] = [
  {
    call: `${admin}/AddNotificationPolicy`,
    as: "owner",
    once: true,
    body: { passwordChange: true },
    events: ["instance.policy.notification.added"],
  },
  { call: `${settings}/GetGeneralSettings`, as: "owner", expect: { defaultOrgId: "$home" } },
  { call: `${settings}/GetActiveIdentityProviders`, body: { ctx: { orgId: "$org" } } },
  { call: `${admin}/GetSupportedLanguages`, expect: { languages: pageLanguages } },
  { call: `${admin}/GetAllowedLanguages`, expect: { languages: pageLanguages } },
  { call: `${admin}/GetDefaultLanguage`, as: "owner", expect: { language: "en" } },
  {
    call: `${admin}/SetDefaultLanguage`,
    as: "owner",
    once: true,
    body: { language: "de" },
    events: ["instance.default.language.set"],
  },
  {
    call: `${admin}/ListSecretGenerators`,
    as: "owner",
    body: { queries: [{ typeQuery: { generatorType: "SECRET_GENERATOR_TYPE_APP_SECRET" } }] },
    expect: { result: [{ length: 64 }], details: { totalResult: "1" } },
  },
  {
    call: `${admin}/GetSecretGenerator`,
    as: "owner",
    body: { generatorType: "SECRET_GENERATOR_TYPE_INIT_CODE" },
    expect: { secretGenerator: { length: 6, expiry: "259200s" } },
  },
  {
    call: `${admin}/UpdateSecretGenerator`,
    as: "owner",
    once: true,
    body: {
      generatorType: "SECRET_GENERATOR_TYPE_INIT_CODE",
      length: 10,
      expiry: "3600s",
      includeDigits: true,
    },
    events: ["instance.secret.generator.added"],
  },
]

export const policyRows: readonly Row[] = [
  ...policies.flatMap(rowsOf),
  ...factorRows,
  ...labelRows,
  ...otherRows,
]
