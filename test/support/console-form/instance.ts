import { type Beside, type FormCase, picking, pressing, reading, updating } from "./case.ts"

const admin = "core.admin.v1.AdminService"
const management = "core.management.v1.ManagementService"
const path = "/ui/console/settings"

const login = {
  read: [`${admin}/GetLoginPolicy`, "policy"],
  update: `${admin}/UpdateLoginPolicy`,
} as const

const lockout = {
  read: [`${admin}/GetLockoutPolicy`, "policy"],
  update: `${admin}/UpdateLockoutPolicy`,
} as const

const ownAge = {
  read: [`${management}/GetPasswordAgePolicy`, "policy"],
  update: `${management}/UpdateCustomPasswordAgePolicy`,
} as const

const privacy = {
  read: [`${admin}/GetPrivacyPolicy`, "policy"],
  update: `${admin}/UpdatePrivacyPolicy`,
} as const

const policyForms: readonly FormCase[] = [
  {
    form: "policy/policy-section.tsx 1",
    of: "the sign-in",
    path,
    open: pressing("Edit: Login policy"),
    theirs: updating(login, { forceMfa: true }),
    mine: { hidePasswordReset: false, secondFactors: picking("Code by SMS") },
    read: reading(login),
    both: { forceMfa: true, hidePasswordReset: true },
    // It holds for whoever runs the cases as well.
    takeBack: updating(login, { forceMfa: false }),
    same: {
      theirs: updating(login, { passwordCheckLifetime: "7200s" }),
      mine: { passwordCheckLifetime: "5" },
      before: { passwordCheckLifetime: "7200s" },
      after: { hidePasswordReset: true, passwordCheckLifetime: "432000s" },
    },
  },
  {
    form: "policy/policy-section.tsx 1",
    of: "locking",
    path,
    open: pressing("Edit: Account lockout"),
    theirs: updating(lockout, { maxPasswordAttempts: 7 }),
    mine: { maxOtpAttempts: "8" },
    read: reading(lockout),
    both: { maxPasswordAttempts: "7", maxOtpAttempts: "8" },
    same: {
      theirs: updating(lockout, { maxPasswordAttempts: 9 }),
      mine: { maxPasswordAttempts: "11" },
      before: { maxPasswordAttempts: "9" },
      after: { maxPasswordAttempts: "11" },
    },
  },
  {
    form: "policy/policy-section.tsx 1",
    of: "links",
    path,
    open: pressing("Edit: Footer links"),
    theirs: updating(privacy, { tosLink: "https://example.com/terms" }),
    mine: { privacyLink: "https://example.com/privacy" },
    read: reading(privacy),
    both: { tosLink: "https://example.com/terms", privacyLink: "https://example.com/privacy" },
  },
  {
    form: "policy/policy-section.tsx 1",
    of: "an organisation's passwords",
    path: "/ui/console/organizations/$organizationId/policies",
    open: pressing("Edit: Password expiration"),
    theirs: updating(ownAge, { maxAgeDays: 90 }),
    mine: { expireWarnDays: "10" },
    read: reading(ownAge),
    both: { maxAgeDays: "90", expireWarnDays: "10" },
    same: {
      theirs: updating(ownAge, { maxAgeDays: 60 }),
      mine: { maxAgeDays: "30" },
      before: { maxAgeDays: "60" },
      after: { maxAgeDays: "30" },
    },
  },
]

const oidc = {
  read: [`${admin}/GetOIDCSettings`, "settings"],
  update: `${admin}/UpdateOIDCSettings`,
} as const

const rotation = (period: string, publishAhead: string) => ({
  keyRotation: { enabled: true, period, publishAhead },
})

const security = {
  read: ["GetSecuritySettings", "settings"],
  update: "SetSecuritySettings",
} as const

const framed = (allowedOrigins: readonly string[]) => ({
  embeddedIframe: { enabled: true, allowedOrigins },
  enableImpersonation: true,
})

const invitations = { generatorType: "SECRET_GENERATOR_TYPE_INIT_CODE" }
const generator = {
  read: [`${admin}/GetSecretGenerator`, "secretGenerator"],
  update: `${admin}/UpdateSecretGenerator`,
  of: invitations,
} as const

const organizationSettings = async ({ get, things: { organizationId } }: Beside) => {
  const queries = [{ idQuery: { id: organizationId } }]
  return (await get("ListOrganizations", { queries })).result[0].oidcSettings
}

const settingForms: readonly FormCase[] = [
  {
    form: "organization/application-defaults.tsx 1",
    path: "/ui/console/organizations/$organizationId",
    open: pressing("Edit: Application defaults"),
    theirs: ({ get, things: { organizationId } }) =>
      get("UpdateOrganization", { organizationId, oidcSettings: { refreshTokenGrace: "7s" } }),
    mine: { refreshTokenExpiration: "40" },
    read: organizationSettings,
    both: { refreshTokenGrace: "7s", refreshTokenExpiration: "3456000s" },
    // Others sign in to applications of the organization.
    takeBack: ({ get, things: { organizationId } }) =>
      get("UpdateOrganization", { organizationId, oidcSettings: {} }),
    same: {
      theirs: ({ get, things: { organizationId } }) =>
        get("UpdateOrganization", { organizationId, oidcSettings: { refreshTokenGrace: "8s" } }),
      mine: { refreshTokenGrace: "9" },
      before: { refreshTokenGrace: "8s" },
      after: { refreshTokenGrace: "9s" },
    },
  },
  {
    form: "instance/lifetimes.tsx 1",
    path,
    open: pressing("Edit: Tokens"),
    theirs: updating(oidc, { accessTokenLifetime: "7200s" }),
    mine: { idTokenLifetime: "5" },
    read: reading(oidc),
    both: { accessTokenLifetime: "7200s", idTokenLifetime: "18000s" },
    same: {
      theirs: updating(oidc, { accessTokenLifetime: "10800s" }),
      mine: { accessTokenLifetime: "4" },
      before: { accessTokenLifetime: "10800s" },
      after: { accessTokenLifetime: "14400s" },
    },
  },
  {
    form: "instance/client-registration.tsx 1",
    path,
    open: pressing("Edit: Dynamic client registration"),
    theirs: async (beside) => {
      const { projectId } = beside.things
      const clientRegistration = { projectId, metadataDocuments: true, applicationsMax: 50 }
      await updating(oidc, { clientRegistration })(beside)
    },
    mine: {
      mode: "open",
      projectId: (form) => form.locator('[name="projectId"]').selectOption({ label: "Intranet" }),
    },
    read: reading(oidc),
    both: {
      clientRegistration: {
        mode: "CLIENT_REGISTRATION_MODE_OPEN",
        metadataDocuments: true,
        applicationsMax: 50,
      },
    },
    same: {
      theirs: updating(oidc, { clientRegistration: { applicationsMax: 60 } }),
      mine: { most: "70" },
      before: { clientRegistration: { applicationsMax: 60 } },
      after: { clientRegistration: { applicationsMax: 70 } },
    },
  },
  {
    form: "instance/key-rotation.tsx 1",
    path: "/ui/console/signing-keys",
    open: pressing("Edit: Rotation"),
    theirs: async (beside) => {
      const { keyRotation } = Object(await reading(oidc)(beside))
      await updating(oidc, { keyRotation: { ...keyRotation, period: "3456000s" } })(beside)
    },
    mine: { ahead: "4" },
    read: reading(oidc),
    both: rotation("3456000s", "345600s"),
    same: {
      theirs: updating(oidc, rotation("4320000s", "345600s")),
      mine: { period: "60" },
      before: rotation("4320000s", "345600s"),
      after: rotation("5184000s", "345600s"),
    },
  },
  {
    form: "instance/embedding.tsx 1",
    path,
    open: pressing("Edit: Iframe embedding"),
    theirs: updating(security, framed(["https://theirs.example.com"])),
    mine: { enabled: true, origins: "https://mine.example.com" },
    read: reading(security),
    both: framed(["https://theirs.example.com", "https://mine.example.com"]),
  },
  {
    form: "instance/secret-generators.tsx 1",
    path,
    open: pressing("Edit: Invitations"),
    theirs: updating(generator, { expiry: "7200s" }),
    mine: { length: "12" },
    read: reading(generator),
    both: { length: 12, expiry: "7200s" },
    same: {
      theirs: updating(generator, { length: 14 }),
      mine: { length: "16" },
      before: { length: 14 },
      after: { length: 16 },
    },
  },
  {
    form: "instance/restrictions.tsx 1",
    path,
    open: pressing("Edit: Sign-in pages"),
    theirs: ({ get }) => get(`${admin}/SetRestrictions`, { disallowPublicOrgRegistration: false }),
    mine: { languages: picking("Polish", false) },
    read: async ({ get }) => ({
      disallowPublicOrgRegistration: false,
      ...(await get(`${admin}/GetRestrictions`)),
    }),
    both: {
      disallowPublicOrgRegistration: false,
      allowedLanguages: ["en", "de", "fr", "es", "it", "pt", "nl", "ja", "zh"],
    },
  },
]

const roleOf = async ({ get }: Beside) => {
  const { roles } = await get("ListRoles", { pagination: { limit: 1000 } })
  return roles.find((each: { readonly key: string }) => each.key === "HELPER")
}

const helper =
  (displayName: string, permissions: readonly string[]) =>
  ({ get }: Beside) =>
    get("UpdateRole", { key: "HELPER", displayName, permissions })

const administrators = async ({ get, things: { organizationId, userId } }: Beside) => {
  const filters = [{ resource: { organizationId } }]
  const answer = await get("ListAdministrators", { filters })
  type Row = { readonly user: { readonly id: string }; readonly roles: readonly string[] }
  return answer.administrators.find(({ user }: Row) => user.id === userId)?.roles.toSorted()
}

const administrationForms: readonly FormCase[] = [
  {
    form: "administrator/custom-roles.tsx 1",
    path: "/ui/console/administrators",
    open: pressing("Edit: HELPER"),
    theirs: helper("Helper", ["project.read", "user.read"]),
    mine: {
      permissions: async (form) => {
        const project = form.locator("summary").filter({ hasText: /^project / })
        await project.evaluate((summary) => summary.closest("details")?.setAttribute("open", ""))
        await picking("project.write")(form)
      },
    },
    read: roleOf,
    both: { displayName: "Helper" },
    same: {
      theirs: helper("Theirs", ["project.read", "project.write", "user.read"]),
      mine: { displayName: "Mine" },
      before: { displayName: "Theirs" },
      after: { displayName: "Mine", permissions: ["project.read", "project.write", "user.read"] },
    },
  },
  {
    form: "administrator/administrators.tsx 1",
    path: "/ui/console/organizations/$organizationId",
    open: pressing("Edit: grace Person"),
    theirs: ({ get, things: { organizationId, userId } }) =>
      get("UpdateAdministrator", {
        userId,
        resource: { organizationId },
        roles: ["ORG_OWNER_VIEWER", "ORG_USER_MANAGER"],
      }),
    mine: { roles: picking("ORG_SETTINGS_MANAGER") },
    read: administrators,
    both: ["ORG_OWNER_VIEWER", "ORG_SETTINGS_MANAGER", "ORG_USER_MANAGER"],
  },
]

const provider = async ({ get }: Beside) => {
  const { result } = await get(`${admin}/ListProviders`)
  type Idp = { readonly name: string; readonly id: string; readonly config: any }
  const { id, name, config } = result.find(({ config: each }: Idp) => each.github) as Idp
  const { options: providerOptions, github: own } = config
  return { id, name, providerOptions, ...own }
}

const changeProvider = (change: object) => async (beside: Beside) => {
  await beside.get(`${admin}/UpdateGitHubProvider`, { ...(await provider(beside)), ...change })
}

const smtp = async ({ get, things: { smtpId: id } }: Beside) => {
  const { config } = await get(`${admin}/GetEmailProviderById`, { id })
  return { id, description: config.description, ...config.smtp }
}

const sms = async ({ get, things: { smsId: id } }: Beside) => {
  const { config } = await get(`${admin}/GetSMSProvider`, { id })
  return { id, description: config.description, ...config.twilio }
}

const providerForms: readonly FormCase[] = [
  {
    form: "idp/idp-form.tsx 1",
    path: "/ui/console/identity-providers",
    open: pressing("Edit: Wiki"),
    theirs: changeProvider({ scopes: ["read:user", "user:email"] }),
    mine: { clientId: "mine" },
    read: provider,
    both: { clientId: "mine", scopes: ["read:user", "user:email"] },
    same: {
      theirs: changeProvider({ clientId: "theirs" }),
      mine: { clientId: "mine again" },
      before: { clientId: "theirs" },
      after: { clientId: "mine again", scopes: ["read:user", "user:email"] },
    },
  },
  {
    form: "provider/email-form.tsx 1",
    path: "/ui/console/providers",
    open: pressing("Edit: Relay"),
    theirs: async (beside) =>
      beside.get(`${admin}/UpdateEmailProviderSMTP`, {
        ...(await smtp(beside)),
        replyToAddress: "help@example.com",
      }),
    mine: { senderName: "Mine" },
    read: smtp,
    both: { senderName: "Mine", replyToAddress: "help@example.com" },
    same: {
      theirs: async (beside) =>
        beside.get(`${admin}/UpdateEmailProviderSMTP`, {
          ...(await smtp(beside)),
          senderName: "Theirs",
        }),
      mine: { senderName: "Mine again" },
      before: { senderName: "Theirs" },
      after: { senderName: "Mine again", replyToAddress: "help@example.com" },
    },
  },
  {
    form: "provider/sms-providers.tsx 1",
    path: "/ui/console/providers",
    open: pressing("Edit: Texts"),
    theirs: async (beside) =>
      beside.get(`${admin}/UpdateSMSProviderTwilio`, {
        ...(await sms(beside)),
        verifyServiceSid: "VA1",
      }),
    mine: { senderNumber: "+41790000002" },
    read: sms,
    both: { senderNumber: "+41790000002", verifyServiceSid: "VA1" },
    same: {
      theirs: async (beside) =>
        beside.get(`${admin}/UpdateSMSProviderTwilio`, {
          ...(await sms(beside)),
          senderNumber: "+41790000003",
        }),
      mine: { senderNumber: "+41790000004" },
      before: { senderNumber: "+41790000003" },
      after: { senderNumber: "+41790000004", verifyServiceSid: "VA1" },
    },
  },
]

const message = {
  read: [`${admin}/GetCustomInviteUserMessageText`, "customText"],
  update: `${admin}/SetDefaultInviteUserMessageText`,
  of: { language: "en" },
} as const

const texts = ({ get }: Beside) =>
  get("GetHostedLoginTranslation", { instance: true, locale: "en", ignoreInheritance: true })
const say =
  (translations: object) =>
  ({ get }: Beside) =>
    get("SetHostedLoginTranslation", { instance: true, locale: "en", translations })

const textForms: readonly FormCase[] = [
  {
    form: "text/message-texts.tsx 1",
    path: "/ui/console/texts",
    open: pressing("Edit: Invitation"),
    theirs: updating(message, { subject: "Theirs" }),
    mine: { greeting: "Mine" },
    read: reading(message),
    both: { subject: "Theirs", greeting: "Mine" },
    same: {
      theirs: updating(message, { subject: "Theirs again" }),
      mine: { subject: "Mine" },
      before: { subject: "Theirs again" },
      after: { subject: "Mine", greeting: "Mine" },
    },
  },
  {
    form: "text/login-texts.tsx 1",
    path: "/ui/console/texts?text=screen.password",
    open: pressing("Edit: Sign-in: password"),
    theirs: say({ "password.label": "Theirs", "consent.title": "Also theirs" }),
    mine: { "password.title": "Mine" },
    read: texts,
    both: {
      translations: {
        password: { label: "Theirs", title: "Mine" },
        consent: { title: "Also theirs" },
      },
    },
  },
]

export const instanceForms: readonly FormCase[] = [
  ...policyForms,
  ...settingForms,
  ...administrationForms,
  ...providerForms,
  ...textForms,
]
