// Two states of each kind of permanent stream, which differ in every field. An event of these tests
// changes the first into the second.
import { login } from "../../../src/domain/policy/index.ts"
import { type Sample, sample } from "./sample.ts"

const policyState = (values: object) => ({
  values,
  version: 2,
  created: 1,
  changed: 2,
  authors: ["u1"],
})

const policies: Readonly<Record<string, readonly [before: object, after: object]>> = {
  domain: [{ userLoginMustBeDomain: false }, { userLoginMustBeDomain: true, usersCanRename: true }],
  label: [{ primaryColor: "#111111" }, { primaryColor: "#222222" }],
  "label.preview": [
    { primaryColor: "#111111", themeMode: "dark", hideLoginNameSuffix: true },
    { primaryColor: "#222222", themeMode: "light", disableWatermark: true, logo: "l" },
  ],
  lockout: [{ maxPasswordAttempts: 3 }, { maxPasswordAttempts: 5, maxOtpAttempts: 7 }],
  login: [
    { ...login.standard, allowPasswordless: true, passwordCheckLifetime: 60 },
    { ...login.standard, forceMfa: true, passwordCheckLifetime: 120 },
  ],
  notification: [{ passwordChange: true }, { passwordChange: false, newDevice: true }],
  "password.age": [{ maxAgeDays: 30 }, { maxAgeDays: 60, expireWarnDays: 3 }],
  "password.complexity": [
    { minLength: 9, hasSymbol: true },
    { minLength: 12, hasSymbol: false },
  ],
  privacy: [{ tosLink: "https://a.example" }, { tosLink: "https://b.example", helpLink: "h" }],
}

const valuesAt = (at: 0 | 1): object =>
  Object.fromEntries(Object.entries(policies).map(([kind, each]) => [kind, policyState(each[at])]))

const profile = {
  givenName: "Ada",
  familyName: "Byron",
  nickName: "A",
  displayName: "Ada Byron",
  preferredLanguage: "en",
  gender: "female",
}

const identity = {
  status: "active",
  changed: 1,
  userName: "ada",
  loginNames: ["ada"],
  reservedNames: ["byron"],
  stoppedIn: 3,
  stoppers: ["u9"],
  origins: [{ kind: "password_code", to: "email" }],
}

const human = {
  ...identity,
  kind: "human",
  profile,
  email: { address: "ada@example.com", verified: true, proven: true },
  emailCode: { sealed: "sealed", expires: 5 },
  phone: { number: "+441234", verified: false },
  phoneCode: { sealed: "sealed", expires: 5 },
  password: { changeRequired: false, changed: 4, version: 4 },
  passwordCode: { sealed: "sealed", expires: 5, channel: "email", returned: false },
  invite: { sealed: "s", expires: 9, urlTemplate: "", isOfInstance: true, verifier: "u1" },
  factors: { otp: { verified: true } },
  links: [{ idpId: "idp1", externalId: "x" }],
  avatar: "file",
  returnedCodes: ["invite"],
}

const machine = {
  ...identity,
  kind: "machine",
  name: "Backup",
  description: "every night",
  accessTokenType: "jwt",
  jwtType: "JWT",
  jwtAlgorithm: "RS256",
  keys: { k1: 7 },
  secret: { id: "s1" },
  personalTokens: { t1: { expires: 7, scopes: ["openid"], created: 1 } },
}

export const humans = sample(human, {
  status: "locked",
  userName: "lovelace",
  profile: Object.fromEntries(
    Object.entries(profile).map(([name, value]) => [
      name,
      name === "gender" ? "male" : `${value} B`,
    ]),
  ),
})

export const machines = sample(machine, {
  status: "locked",
  userName: "backup2",
  name: "Backup 2",
  description: "every day",
  accessTokenType: "bearer",
  jwtType: "at+jwt",
  jwtAlgorithm: "ES256",
})

const oidcSettings = {
  accessTokenLifetime: 100,
  idTokenLifetime: 101,
  refreshTokenIdleExpiration: 102,
  refreshTokenExpiration: 103,
  refreshTokenGrace: 104,
  idTokenAlgorithm: "RS256",
  accessTokenAlgorithm: "ES256",
  keyRotation: { enabled: true, periodSeconds: 105, aheadSeconds: 106 },
  serverMetadata: true,
  tokenAudit: { people: true, machines: false },
  registration: {
    mode: "open",
    projectId: "p1",
    lifetimeSeconds: 107,
    applicationsMax: 108,
    metadataDocuments: true,
    consentLifetimeSeconds: 109,
  },
}

const instances = sample(
  {
    status: "active",
    name: "Home",
    publicUrl: "https://id.example",
    defaultOrgId: "org1",
    defaultLanguage: "en",
    projectId: "own",
    consoleAppId: "console",
    consoleClientId: "c",
    members: { u1: { roles: ["IAM_OWNER"], orgId: "org1" } },
    oidc: oidcSettings,
    oidcSaid: true,
    security: { enableIframeEmbedding: true, allowedOrigins: ["https://a.example"] },
    domains: { "a.example": { generated: false, created: 1 } },
    trustedDomains: { "t.example": 1 },
  },
  {
    name: "Elsewhere",
    defaultOrgId: "org2",
    defaultLanguage: "de",
    members: { u1: { roles: ["IAM_OWNER_VIEWER"], orgId: "org1" } },
    oidc: {
      ...oidcSettings,
      idTokenLifetime: 201,
      serverMetadata: false,
      keyRotation: { enabled: false, periodSeconds: 1, aheadSeconds: 2 },
      registration: { mode: "off", projectId: "", lifetimeSeconds: 1, applicationsMax: 2 },
    },
    security: { enableIframeEmbedding: false, allowedOrigins: [], enableImpersonation: true },
  },
)

const orgDomain = { verified: true, held: true, challenge: null }
const provider = { version: 1, created: 1, changed: 2, description: "mails" }
const role = {
  level: "org",
  displayName: "One",
  permissions: ["user.read"],
  created: 1,
  changed: 2,
}
const targetKey = { pem: "PEM", fingerprint: "SHA256:x", expires: 0, active: false, created: 1 }

/** By stream; users and applications have several kinds, see above. */
export const samples: Readonly<Record<string, Sample>> = {
  instance: instances,
  feature: sample(
    { login_v2: { required: true, baseUri: "https://l.example" }, ...features(true) },
    { login_v2: { required: false }, ...features(false) },
  ),
  quota: sample({}, { quota: { from: 1, intervalMs: 2, amount: 3, limit: true } }),
  limits: sample({ block: true }, { auditLogRetention: 60 }),
  restrictions: sample(
    { disallowPublicOrgRegistration: true, allowedLanguages: ["en"] },
    { disallowPublicOrgRegistration: false, allowedLanguages: [] },
  ),
  web_key: sample({ status: "initial", algorithm: "ES256" }, { status: "active" }),
  key_pair: sample({ status: "active" }, { certificate: "PEM" }),
  policy: sample(valuesAt(0), valuesAt(1)),
  secret_generator: sample(
    { generator: { length: 8, expiry: 60, includeDigits: true } },
    { generator: { length: 9, expiry: 90, includeDigits: true, includeSymbols: true } },
  ),
  customtext: sample({}, { texts: { title: "Hello" }, authors: ["u1"] }),
  message_providers: sample(
    { providers: { m1: { ...provider, kind: "http", endpoint: "https://m.example" } } },
    { active: "m1" },
  ),
  message_provider_secret: sample({ sealed: "" }, { sealed: "s" }),
  idps: sample(
    { all: {}, links: [] },
    {
      all: { idp1: { ...provider, authors: ["u1"], name: "IdP", settings: { kind: "google" } } },
      links: ["idp1"],
      linksAuthor: "u1",
    },
  ),
  idp_secret: sample({ sealed: "" }, { sealed: "s" }),
  idp_metadata: sample({ metadata: "", read: 0 }, { metadata: "<md/>", read: 2 }),
  org: sample(
    {
      status: "active",
      name: "Acme",
      stoppedBy: "",
      stops: 1,
      primaryDomain: "acme.example",
      domains: { "acme.example": orgDomain },
      oidc: { refreshTokenExpiration: 10, refreshTokenGrace: 5, pkceRequired: true },
    },
    {
      status: "inactive",
      name: "Acme 2",
      stoppedBy: "u1",
      stops: 2,
      primaryDomain: "b.example",
      oidc: { refreshTokenIdleExpiration: 3 },
    },
  ),
  project: sample(
    {
      status: "active",
      orgId: "org1",
      name: "Shop",
      projectRoleAssertion: true,
      projectRoleCheck: true,
      hasProjectCheck: true,
      privateLabelingSetting: "project_owner",
      groupsClaim: "roles",
      roles: { admin: 2 },
      rolesVersion: 2,
    },
    {
      status: "inactive",
      name: "Shop 2",
      projectRoleAssertion: false,
      projectRoleCheck: false,
      hasProjectCheck: false,
      privateLabelingSetting: "login_user",
      groupsClaim: "off",
    },
  ),
  projectgrant: sample(
    {
      status: "active",
      orgId: "org1",
      projectId: "p1",
      grantedOrgId: "org2",
      roles: { admin: 1, guest: 1 },
      changedIn: 1,
      rolesVersion: 2,
    },
    { status: "inactive", roles: { admin: 1 }, changedIn: 2 },
  ),
  member: sample({ roles: ["ORG_OWNER"] }, { roles: ["ORG_OWNER_VIEWER"] }),
  role: sample(
    { roles: { k1: role } },
    { roles: { k1: { ...role, displayName: "Two", permissions: [] } } },
  ),
  sign_up_link: sample(
    { status: "active", orgId: "org1", useLimit: 2, expires: 9, domains: [], uses: 0, hashed: "h" },
    { status: "revoked", uses: 1, hashed: "", requiresApproval: true },
  ),
  group: sample(
    { status: "active", orgId: "org1", name: "Staff", description: "all" },
    { name: "Staff 2", description: "some" },
  ),
  group_user: sample({ isIn: true }, { isIn: false }),
  group_nesting: sample({ memberGroups: { g1: ["g2"] } }, { memberGroups: {} }),
  app_assignment: sample({ isAssigned: true }, { isAssigned: false }),
  usergrant: sample(
    {
      status: "active",
      orgId: "org1",
      userId: "u1",
      projectId: "p1",
      grantId: "g1",
      roleKeys: ["admin"],
      rolesVersion: 1,
      grantVersion: 1,
    },
    { status: "inactive", roleKeys: ["guest"] },
  ),
  group_grant: sample(
    {
      status: "active",
      orgId: "org1",
      groupId: "g1",
      projectId: "p1",
      grantId: "",
      roleKeys: ["admin"],
      rolesVersion: 1,
    },
    { roleKeys: ["guest"] },
  ),
  group_administrator: sample(
    {
      groupId: "g1",
      groupOrgId: "org1",
      level: "instance",
      targetId: "",
      roles: ["IAM_OWNER"],
    },
    { roles: ["IAM_OWNER_VIEWER"] },
  ),
  target: sample(
    {
      status: "active",
      version: 1,
      name: "Hook",
      targetType: "call",
      endpoint: "https://h.example",
      timeoutMs: 1500,
      interruptOnError: true,
      payloadType: "jwe",
      sealed: "s",
      before: { sealed: "s", until: 4 },
      keys: { key1: { ...targetKey, changed: 1 } },
      authors: ["u1"],
    },
    {
      name: "Hook 2",
      targetType: "webhook",
      endpoint: "https://i.example",
      timeoutMs: 2000,
      interruptOnError: false,
      payloadType: "json",
      keys: { key1: { ...targetKey, active: true, changed: 2 } },
    },
  ),
  execution: sample(
    { targets: [{ type: "target", target: "t1" }], author: "u1" },
    { targets: [{ type: "target", target: "t2" }] },
  ),
  action: sample(
    {
      status: "active",
      orgId: "org1",
      authors: ["u1"],
      name: "run",
      script: "function run() {}",
      timeoutMs: 500,
      allowedToFail: true,
    },
    {
      status: "inactive",
      name: "go",
      script: "function go() {}",
      timeoutMs: 0,
      allowedToFail: false,
    },
  ),
  flow: sample({ actions: { "4": ["a1"] }, authors: { "4": "u1" } }, { actions: { "4": ["a2"] } }),
  milestone: sample({ reached: {} }, { reached: { instance_created: 1 } }),
}

function features(value: boolean): object {
  return {
    login_default_org: value,
    user_schema: value,
    token_exchange: value,
    improved_performance: value ? [1] : [2, 3],
    debug_oidc_parent_error: value,
    oidc_single_v1_session_termination: value,
    enable_back_channel_logout: value,
    permission_check_v2: value,
    console_use_v2_user_api: value,
  }
}

/** The payload of every event of these tests; each kind reads its own fields. */
export const payload = {
  key: "k1",
  userId: "u1",
  domain: "t.example",
  keyId: "key1",
  idpId: "idp1",
  id: "m1",
  flowType: 2,
  triggerType: 4,
  generatorType: "otp_sms",
  groupId: "g1",
  memberGroupId: "g2",
  displayName: "Former",
  group: "staff",
  appId: "a1",
}
export const metadataPayload = { value: Buffer.from("former").toString("base64") }
