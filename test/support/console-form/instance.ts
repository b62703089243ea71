import { pageLanguages } from "../../../src/kernel/text/language.ts"
import {
  type FormCase,
  type FormContext,
  pick,
  pressButton,
  readResource,
  updateResource,
} from "./case.ts"

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
    variant: "the sign-in",
    path,
    open: pressButton("Edit: Login policy"),
    otherChange: updateResource(login, { forceMfa: true }),
    ownChange: { hidePasswordReset: false, secondFactors: pick("Code by SMS") },
    read: readResource(login),
    both: { forceMfa: true, hidePasswordReset: true },
    // It also applies to the administrator who runs the cases.
    revert: updateResource(login, { forceMfa: false }),
    same: {
      otherChange: updateResource(login, { passwordCheckLifetime: "7200s" }),
      ownChange: { passwordCheckLifetime: "5" },
      before: { passwordCheckLifetime: "7200s" },
      after: { hidePasswordReset: true, passwordCheckLifetime: "432000s" },
    },
  },
  {
    form: "policy/policy-section.tsx 1",
    variant: "locking",
    path,
    open: pressButton("Edit: Account lockout"),
    otherChange: updateResource(lockout, { maxPasswordAttempts: 7 }),
    ownChange: { maxOtpAttempts: "8" },
    read: readResource(lockout),
    both: { maxPasswordAttempts: "7", maxOtpAttempts: "8" },
    same: {
      otherChange: updateResource(lockout, { maxPasswordAttempts: 9 }),
      ownChange: { maxPasswordAttempts: "11" },
      before: { maxPasswordAttempts: "9" },
      after: { maxPasswordAttempts: "11" },
    },
  },
  {
    form: "policy/policy-section.tsx 1",
    variant: "links",
    path,
    open: pressButton("Edit: Footer links"),
    otherChange: updateResource(privacy, { tosLink: "https://example.com/terms" }),
    ownChange: { privacyLink: "https://example.com/privacy" },
    read: readResource(privacy),
    both: { tosLink: "https://example.com/terms", privacyLink: "https://example.com/privacy" },
  },
  {
    form: "policy/policy-section.tsx 1",
    variant: "an organization's passwords",
    path: "/ui/console/organizations/$organizationId/policies",
    open: pressButton("Edit: Password expiration"),
    otherChange: updateResource(ownAge, { maxAgeDays: 90 }),
    ownChange: { expireWarnDays: "10" },
    read: readResource(ownAge),
    both: { maxAgeDays: "90", expireWarnDays: "10" },
    same: {
      otherChange: updateResource(ownAge, { maxAgeDays: 60 }),
      ownChange: { maxAgeDays: "30" },
      before: { maxAgeDays: "60" },
      after: { maxAgeDays: "30" },
    },
  },
]

const oidc = {
  read: [`${admin}/GetOIDCSettings`, "settings"],
  update: `${admin}/UpdateOIDCSettings`,
} as const

const rotationSettings = (period: string, publishAhead: string) => ({
  keyRotation: { enabled: true, period, publishAhead },
})

const security = {
  read: ["GetSecuritySettings", "settings"],
  update: "SetSecuritySettings",
} as const

const allowFraming = (allowedOrigins: readonly string[]) => ({
  embeddedIframe: { enabled: true, allowedOrigins },
  enableImpersonation: true,
})

const invitations = { generatorType: "SECRET_GENERATOR_TYPE_INIT_CODE" }
const generator = {
  read: [`${admin}/GetSecretGenerator`, "secretGenerator"],
  update: `${admin}/UpdateSecretGenerator`,
  of: invitations,
} as const

const organizationSettings = async ({ get, resources: { organizationId } }: FormContext) => {
  const queries = [{ idQuery: { id: organizationId } }]
  return (await get("ListOrganizations", { queries })).result[0].oidcSettings
}

const settingForms: readonly FormCase[] = [
  {
    form: "organization/application-defaults.tsx 1",
    path: "/ui/console/organizations/$organizationId",
    open: pressButton("Edit: Application defaults"),
    otherChange: ({ get, resources: { organizationId } }) =>
      get("UpdateOrganization", { organizationId, oidcSettings: { refreshTokenGrace: "7s" } }),
    ownChange: { refreshTokenExpiration: "40" },
    read: organizationSettings,
    both: { refreshTokenGrace: "7s", refreshTokenExpiration: "3456000s" },
    // Other users sign in to applications of the organization.
    revert: ({ get, resources: { organizationId } }) =>
      get("UpdateOrganization", { organizationId, oidcSettings: {} }),
    same: {
      otherChange: ({ get, resources: { organizationId } }) =>
        get("UpdateOrganization", { organizationId, oidcSettings: { refreshTokenGrace: "8s" } }),
      ownChange: { refreshTokenGrace: "9" },
      before: { refreshTokenGrace: "8s" },
      after: { refreshTokenGrace: "9s" },
    },
  },
  {
    form: "instance/lifetimes.tsx 1",
    path,
    open: pressButton("Edit: Tokens"),
    otherChange: updateResource(oidc, { accessTokenLifetime: "7200s" }),
    ownChange: { idTokenLifetime: "5" },
    read: readResource(oidc),
    both: { accessTokenLifetime: "7200s", idTokenLifetime: "18000s" },
    same: {
      otherChange: updateResource(oidc, { accessTokenLifetime: "10800s" }),
      ownChange: { accessTokenLifetime: "4" },
      before: { accessTokenLifetime: "10800s" },
      after: { accessTokenLifetime: "14400s" },
    },
  },
  {
    form: "instance/client-registration.tsx 1",
    path,
    open: pressButton("Edit: Dynamic client registration"),
    otherChange: async (context) => {
      const { projectId } = context.resources
      const clientRegistration = { projectId, metadataDocuments: true, applicationsMax: 50 }
      await updateResource(oidc, { clientRegistration })(context)
    },
    ownChange: {
      mode: "open",
      projectId: (form) => form.locator('[name="projectId"]').selectOption({ label: "Intranet" }),
    },
    read: readResource(oidc),
    both: {
      clientRegistration: {
        mode: "CLIENT_REGISTRATION_MODE_OPEN",
        metadataDocuments: true,
        applicationsMax: 50,
      },
    },
    same: {
      otherChange: updateResource(oidc, { clientRegistration: { applicationsMax: 60 } }),
      ownChange: { most: "70" },
      before: { clientRegistration: { applicationsMax: 60 } },
      after: { clientRegistration: { applicationsMax: 70 } },
    },
  },
  {
    form: "instance/key-rotation.tsx 1",
    path: "/ui/console/signing-keys",
    open: pressButton("Edit: Rotation"),
    otherChange: async (context) => {
      const { keyRotation } = Object(await readResource(oidc)(context))
      await updateResource(oidc, { keyRotation: { ...keyRotation, period: "3456000s" } })(context)
    },
    ownChange: { ahead: "4" },
    read: readResource(oidc),
    both: rotationSettings("3456000s", "345600s"),
    same: {
      otherChange: updateResource(oidc, rotationSettings("4320000s", "345600s")),
      ownChange: { period: "60" },
      before: rotationSettings("4320000s", "345600s"),
      after: rotationSettings("5184000s", "345600s"),
    },
  },
  {
    form: "instance/embedding.tsx 1",
    path,
    open: pressButton("Edit: Iframe embedding"),
    otherChange: updateResource(security, allowFraming(["https://theirs.example.com"])),
    ownChange: { enabled: true, origins: "https://mine.example.com" },
    read: readResource(security),
    both: allowFraming(["https://theirs.example.com", "https://mine.example.com"]),
  },
  {
    form: "instance/secret-generators.tsx 1",
    path,
    open: pressButton("Edit: Invitations"),
    otherChange: updateResource(generator, { expiry: "7200s" }),
    ownChange: { length: "12" },
    read: readResource(generator),
    both: { length: 12, expiry: "7200s" },
    same: {
      otherChange: updateResource(generator, { length: 14 }),
      ownChange: { length: "16" },
      before: { length: 14 },
      after: { length: 16 },
    },
  },
  {
    form: "instance/restrictions.tsx 1",
    path,
    open: pressButton("Edit: Sign-in pages"),
    otherChange: ({ get }) =>
      get(`${admin}/SetRestrictions`, { disallowPublicOrgRegistration: false }),
    ownChange: { languages: pick("Polish", false) },
    read: async ({ get }) => ({
      disallowPublicOrgRegistration: false,
      ...(await get(`${admin}/GetRestrictions`)),
    }),
    both: {
      disallowPublicOrgRegistration: false,
      allowedLanguages: pageLanguages.filter((language) => language !== "pl"),
    },
  },
]

const roleOf = async ({ get }: FormContext) => {
  const { roles } = await get("ListRoles", { pagination: { limit: 1000 } })
  return roles.find((each: { readonly key: string }) => each.key === "HELPER")
}

const helper =
  (displayName: string, permissions: readonly string[]) =>
  ({ get }: FormContext) =>
    get("UpdateRole", { key: "HELPER", displayName, permissions })

const administrators = async ({ get, resources: { organizationId, userId } }: FormContext) => {
  const filters = [{ resource: { organizationId } }]
  const response = await get("ListAdministrators", { filters })
  type Row = { readonly user: { readonly id: string }; readonly roles: readonly string[] }
  return response.administrators.find(({ user }: Row) => user.id === userId)?.roles.toSorted()
}

const administrationForms: readonly FormCase[] = [
  {
    form: "administrator/custom-roles.tsx 1",
    path: "/ui/console/administrators",
    open: pressButton("Edit: HELPER"),
    otherChange: helper("Helper", ["project.read", "user.read"]),
    ownChange: {
      permissions: async (form) => {
        const project = form.locator("summary").filter({ hasText: /^project / })
        await project.evaluate((summary) => summary.closest("details")?.setAttribute("open", ""))
        await pick("project.write")(form)
      },
    },
    read: roleOf,
    both: { displayName: "Helper" },
    same: {
      otherChange: helper("Theirs", ["project.read", "project.write", "user.read"]),
      ownChange: { displayName: "Mine" },
      before: { displayName: "Theirs" },
      after: { displayName: "Mine", permissions: ["project.read", "project.write", "user.read"] },
    },
  },
  {
    form: "administrator/administrators.tsx 1",
    path: "/ui/console/organizations/$organizationId",
    open: pressButton("Edit: grace Person"),
    otherChange: ({ get, resources: { organizationId, userId } }) =>
      get("UpdateAdministrator", {
        userId,
        resource: { organizationId },
        roles: ["ORG_OWNER_VIEWER", "ORG_USER_MANAGER"],
      }),
    ownChange: { roles: pick("ORG_SETTINGS_MANAGER") },
    read: administrators,
    both: ["ORG_OWNER_VIEWER", "ORG_SETTINGS_MANAGER", "ORG_USER_MANAGER"],
  },
]

const provider = async ({ get }: FormContext) => {
  const { result } = await get(`${admin}/ListProviders`)
  type Idp = { readonly name: string; readonly id: string; readonly config: any }
  const { id, name, config } = result.find(({ config: each }: Idp) => each.github) as Idp
  const { options: providerOptions, github: own } = config
  return { id, name, providerOptions, ...own }
}

const changeProvider = (change: object) => async (context: FormContext) => {
  await context.get(`${admin}/UpdateGitHubProvider`, { ...(await provider(context)), ...change })
}

const smtp = async ({ get, resources: { smtpId: id } }: FormContext) => {
  const { config } = await get(`${admin}/GetEmailProviderById`, { id })
  return { id, description: config.description, ...config.smtp }
}

const sms = async ({ get, resources: { smsId: id } }: FormContext) => {
  const { config } = await get(`${admin}/GetSMSProvider`, { id })
  return { id, description: config.description, ...config.twilio }
}

const providerForms: readonly FormCase[] = [
  {
    form: "idp/idp-form.tsx 1",
    path: "/ui/console/identity-providers",
    open: pressButton("Edit: Wiki"),
    otherChange: changeProvider({ scopes: ["read:user", "user:email"] }),
    ownChange: { clientId: "mine" },
    read: provider,
    both: { clientId: "mine", scopes: ["read:user", "user:email"] },
    same: {
      otherChange: changeProvider({ clientId: "theirs" }),
      ownChange: { clientId: "mine again" },
      before: { clientId: "theirs" },
      after: { clientId: "mine again", scopes: ["read:user", "user:email"] },
    },
  },
  {
    form: "provider/email-form.tsx 1",
    path: "/ui/console/providers",
    open: pressButton("Edit: Relay"),
    otherChange: async (context) =>
      context.get(`${admin}/UpdateEmailProviderSMTP`, {
        ...(await smtp(context)),
        replyToAddress: "help@example.com",
      }),
    ownChange: { senderName: "Mine" },
    read: smtp,
    both: { senderName: "Mine", replyToAddress: "help@example.com" },
    same: {
      otherChange: async (context) =>
        context.get(`${admin}/UpdateEmailProviderSMTP`, {
          ...(await smtp(context)),
          senderName: "Theirs",
        }),
      ownChange: { senderName: "Mine again" },
      before: { senderName: "Theirs" },
      after: { senderName: "Mine again", replyToAddress: "help@example.com" },
    },
  },
  {
    form: "provider/sms-providers.tsx 1",
    path: "/ui/console/providers",
    open: pressButton("Edit: Texts"),
    otherChange: async (context) =>
      context.get(`${admin}/UpdateSMSProviderTwilio`, {
        ...(await sms(context)),
        verifyServiceSid: "VA1",
      }),
    ownChange: { senderNumber: "+41790000002" },
    read: sms,
    both: { senderNumber: "+41790000002", verifyServiceSid: "VA1" },
    same: {
      otherChange: async (context) =>
        context.get(`${admin}/UpdateSMSProviderTwilio`, {
          ...(await sms(context)),
          senderNumber: "+41790000003",
        }),
      ownChange: { senderNumber: "+41790000004" },
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

const texts = ({ get }: FormContext) =>
  get("GetHostedLoginTranslation", { instance: true, locale: "en", ignoreInheritance: true })
const setTranslations =
  (translations: object) =>
  ({ get }: FormContext) =>
    get("SetHostedLoginTranslation", { instance: true, locale: "en", translations })

const textForms: readonly FormCase[] = [
  {
    form: "text/message-texts.tsx 1",
    path: "/ui/console/texts",
    open: pressButton("Edit: Invitation"),
    otherChange: updateResource(message, { subject: "Theirs" }),
    ownChange: { greeting: "Mine" },
    read: readResource(message),
    both: { subject: "Theirs", greeting: "Mine" },
    same: {
      otherChange: updateResource(message, { subject: "Theirs again" }),
      ownChange: { subject: "Mine" },
      before: { subject: "Theirs again" },
      after: { subject: "Mine", greeting: "Mine" },
    },
  },
  {
    form: "text/login-texts.tsx 1",
    path: "/ui/console/texts?text=screen.password",
    open: pressButton("Edit: Sign-in: password"),
    otherChange: setTranslations({ "password.label": "Theirs", "consent.title": "Also theirs" }),
    ownChange: { "password.title": "Mine" },
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
