import { generateKeyPairSync } from "node:crypto"
import type { MessageInitShape } from "@bufbuild/protobuf"
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt"
import type { DataOrgSchema } from "../../../src/gen/core/admin/v1/data_pb.ts"

const { publicKey: pem } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
})
const publicKey = new TextEncoder().encode(pem)
const expirationDate = timestampFromMs(Date.UTC(2040, 0, 1))

/** The Argon2id hash of "correct horse battery". */
export const hash = await Bun.password.hash("correct horse battery", {
  algorithm: "argon2id",
  memoryCost: 19_456,
  timeCost: 2,
})
export const totp = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"

const messageTexts = {
  language: "de",
  title: "Titel",
  preHeader: "Vorab",
  subject: "Betreff",
  greeting: "Hallo",
  text: "Text",
  buttonText: "Weiter",
  footerText: "Ende",
}
const smsTexts = { language: "de", text: "Text {{.OTP}}" }

/** Two organizations with one of everything. */
export const everything: MessageInitShape<typeof DataOrgSchema>[] = [
  {
    orgId: "corp",
    org: { name: "Corp" },
    domainPolicy: { orgId: "corp", userLoginMustBeDomain: true, validateOrgDomains: true },
    labelPolicy: { primaryColor: "#112233", hideLoginNameSuffix: true, themeMode: 2 },
    lockoutPolicy: { maxPasswordAttempts: 7, maxOtpAttempts: 4 },
    loginPolicy: {
      allowUsernamePassword: true,
      allowExternalIdp: true,
      forceMfa: true,
      passwordlessType: 1,
      passwordCheckLifetime: durationFromMs(3_600_000),
      secondFactors: [1, 3],
      multiFactors: [1],
      idps: [{ idpId: "upstream" }],
      allowMagicLink: false,
      forceMfaManagers: true,
      requireSignUpApproval: true,
    },
    passwordComplexityPolicy: { minLength: 12n, hasNumber: true, reuseCount: 3 },
    privacyPolicy: { tosLink: "https://corp.example/tos", supportEmail: "help@corp.example" },
    projects: [
      {
        projectId: "shop",
        project: { name: "Shop", projectRoleAssertion: true, privateLabelingSetting: 1 },
        groupsClaim: 2,
      },
      { projectId: "old", project: { name: "Old" }, inactive: true },
    ],
    projectRoles: [
      { projectId: "shop", roleKey: "buyer", displayName: "Buyer", group: "people" },
      { projectId: "shop", roleKey: "seller", displayName: "Seller" },
    ],
    apiApps: [
      {
        appId: "api",
        app: { projectId: "shop", name: "API", authMethodType: 1 },
        clientId: "api-client",
        resources: ["https://api.corp.example"],
        scopes: [{ scope: "read:orders", name: "Read orders", description: "All of them" }],
        access: { rule: 3 },
      },
    ],
    oidcApps: [
      {
        appId: "web",
        app: {
          projectId: "shop",
          name: "Web",
          redirectUris: ["https://corp.example/cb"],
          postLogoutRedirectUris: ["https://corp.example/"],
          responseTypes: [0],
          grantTypes: [0, 2],
          authMethodType: 3,
          accessTokenType: 1,
          clockSkew: durationFromMs(2000),
          idTokenRoleAssertion: true,
          additionalOrigins: ["https://other.corp.example"],
          backChannelLogoutUri: "https://corp.example/back",
        },
        clientId: "web-client",
        inactive: true,
        tokenSettings: { accessTokenLifetime: durationFromMs(600_000), accessTokenJwtType: "JWT" },
        pkce: 1,
        frontChannelLogout: { uri: "https://corp.example/front", sessionRequired: true },
        requestRules: { pushedRequired: true },
        idTokenProjectAudience: true,
        idTokenClientId: true,
        genericRolesClaim: false,
        groupsClaim: 3,
        backEndLogoutAccepted: true,
        plainOauth: true,
        access: {
          rule: 2,
          secondFactorRequired: true,
          sessionMaxAge: durationFromMs(3_600_000),
          allowedNetworks: { cidrs: ["10.0.0.0/8"] },
        },
        forwardAuth: {
          rules: [{ pathPrefix: "/admin", roleKeys: ["admin"], accessTokens: true }],
          remoteUser: 2,
          tokenForwarded: true,
        },
      },
    ],
    humanUsers: [
      {
        userId: "ada",
        user: {
          userName: "ada",
          profile: {
            firstName: "Ada",
            lastName: "Byron",
            nickName: "A",
            displayName: "Ada B.",
            preferredLanguage: "en",
            gender: 1,
          },
          email: { email: "ada@corp.example", isEmailVerified: true },
          phone: { phone: "+41791234567", isPhoneVerified: true },
          hashedPassword: { value: hash },
          passwordChangeRequired: true,
          otpCode: totp,
        },
        state: 1,
        otpSms: true,
        otpEmail: true,
      },
      {
        userId: "bob",
        user: {
          userName: "bob",
          profile: { firstName: "Bob", lastName: "Stone" },
          email: { email: "bob@corp.example" },
        },
        state: 2,
      },
      {
        userId: "cy",
        user: {
          userName: "cy",
          profile: { firstName: "Cy", lastName: "Young" },
          email: { email: "cy@corp.example" },
        },
        state: 4,
      },
    ],
    machineUsers: [
      {
        userId: "robot",
        user: {
          userName: "robot",
          name: "Robot",
          description: "Builds",
          accessTokenType: 1,
          accessTokenJwtType: "JWT",
        },
        state: 1,
      },
    ],
    triggerActions: [{ flowType: "2", triggerType: "4", actionIds: ["script"] }],
    actions: [
      {
        actionId: "script",
        action: {
          name: "addClaim",
          script: "function addClaim(ctx, api) {}",
          timeout: durationFromMs(3000),
          allowedToFail: true,
        },
      },
      {
        actionId: "stopped",
        action: { name: "stopped", script: "function stopped() {}" },
        inactive: true,
      },
    ],
    projectGrants: [
      {
        grantId: "lent",
        projectGrant: { projectId: "shop", grantedOrgId: "partner", roleKeys: ["buyer"] },
      },
    ],
    userGrants: [
      { id: "given", userId: "ada", projectId: "shop", roleKeys: ["buyer", "seller"] },
      { id: "paused", userId: "bob", projectId: "shop", roleKeys: ["buyer"], inactive: true },
    ],
    orgMembers: [{ userId: "ada", roles: ["ORG_OWNER"] }],
    projectMembers: [{ projectId: "shop", userId: "robot", roles: ["PROJECT_OWNER"] }],
    userMetadata: [
      { id: "ada", key: "desk", value: new Uint8Array([1, 2, 3]) },
      { id: "robot", key: "rack", value: new Uint8Array([4]) },
    ],
    loginTexts: [{ language: "de", loginText: { title: "Willkommen bei Corp" } }],
    initMessages: [messageTexts],
    passwordResetMessages: [messageTexts],
    verifyEmailMessages: [messageTexts],
    verifyPhoneMessages: [{ language: "de", text: "Text {{.Code}}" }],
    domainClaimedMessages: [messageTexts],
    passwordlessRegistrationMessages: [messageTexts],
    oidcIdps: [
      {
        idpId: "upstream",
        idp: {
          name: "Upstream",
          clientId: "us",
          clientSecret: "hidden",
          issuer: "https://up.example",
          scopes: ["openid", "email"],
        },
        options: { isLinkingAllowed: true, autoLinking: 2 },
        usePkce: true,
      },
    ],
    jwtIdps: [
      {
        idpId: "jwt",
        idp: {
          name: "Assertions",
          jwtEndpoint: "https://jwt.example/start",
          issuer: "https://jwt.example",
          keysEndpoint: "https://jwt.example/keys",
          headerName: "x-assertion",
          autoRegister: true,
        },
      },
    ],
    userLinks: [
      { userId: "ada", idpId: "upstream", providedUserId: "ada-there", providedUserName: "Ada" },
    ],
    domains: [
      { domainName: "corp.example", isVerified: true, isPrimary: true },
      { domainName: "unproven.example" },
    ],
    appKeys: [{ id: "key1", projectId: "shop", appId: "web", publicKey, expirationDate }],
    machineKeys: [{ keyId: "key2", userId: "robot", type: 1, publicKey, expirationDate }],
    verifySmsOtpMessages: [smsTexts],
    verifyEmailOtpMessages: [messageTexts],
    inviteUserMessages: [messageTexts],
    messages: [
      { ...messageTexts, kind: "factor_added" },
      { ...messageTexts, kind: "new_device" },
    ],
    orgState: 1,
    oidcSettings: { pkceRequired: true, refreshTokenGrace: durationFromMs(0) },
  },
  {
    orgId: "partner",
    org: { name: "Partner" },
    humanUsers: [
      {
        userId: "dee",
        user: {
          userName: "dee",
          profile: { firstName: "Dee", lastName: "Fox" },
          email: { email: "dee@partner.example" },
        },
        state: 1,
      },
    ],
    userGrants: [
      { id: "via", userId: "dee", projectId: "shop", projectGrantId: "lent", roleKeys: ["buyer"] },
    ],
    projectGrantMembers: [
      { projectId: "shop", grantId: "lent", userId: "dee", roles: ["PROJECT_GRANT_OWNER"] },
    ],
    orgState: 2,
  },
]
