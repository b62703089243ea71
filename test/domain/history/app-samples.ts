// Two states of each kind of application; see samples.ts.
import { sample } from "./sample.ts"

const application = {
  status: "active",
  projectId: "p1",
  name: "Wiki",
  clientId: "c1",
  secrets: [{ id: "s1", created: 1, expires: 2 }],
  keys: { k1: 8 },
  registration: { created: 1, used: 2, jwks: [], identity: 3, scope: "openid" },
  access: { rule: "assigned", secondFactor: true, maxAge: 600, networks: ["10.0.0.0/8"] },
}

const oidc = {
  redirectUris: ["https://a.example/cb"],
  postLogoutRedirectUris: ["https://a.example/"],
  responseTypes: ["code", "id_token", "id_token_token"],
  grantTypes: ["implicit", "device_code", "token_exchange"],
  appType: "user_agent",
  authMethod: "none",
  tokenType: "jwt",
  devMode: true,
  privateHttp: true,
  clockSkewSeconds: 3,
  accessTokenRoleAssertion: true,
  idTokenRoleAssertion: true,
  idTokenUserinfoAssertion: true,
  idTokenProjectAudience: true,
  idTokenClientId: true,
  groupsClaim: "groups",
  genericRolesClaim: true,
  additionalOrigins: ["https://o.example"],
  skipNativeAppSuccessPage: true,
  backChannelLogoutUri: "https://a.example/out",
  loginVersion: { version: "v2", baseUri: "https://l.example" },
  tokens: {
    accessTokenLifetime: 60,
    idTokenLifetime: 61,
    refreshTokenIdleExpiration: 62,
    refreshTokenExpiration: 63,
    refreshTokenGrace: 64,
    idTokenAlgorithm: "ES256",
    accessTokenAlgorithm: "RS256",
    accessTokenJwtType: "JWT",
  },
  frontChannelLogout: { uri: "https://a.example/front", sessionRequired: true },
  requestRules: { pushed: true, signed: true, authMethod: true },
  pkce: "required",
  accessRules: [{ prefix: "/admin", everybody: false, roles: ["admin"], accessTokens: true }],
  remoteUser: "email",
  accessTokenForwarded: true,
  backChannelPrivate: "http://10.0.0.1",
  backEndLogout: true,
  plainOauth: true,
}

export const oidcApps = sample(
  { ...application, kind: "oidc", oidc },
  {
    status: "inactive",
    name: "Wiki 2",
    access: { rule: "role" },
    oidc: {
      redirectUris: ["https://b.example/cb"],
      postLogoutRedirectUris: [],
      responseTypes: ["code"],
      grantTypes: ["authorization_code", "refresh_token"],
      appType: "web",
      authMethod: "basic",
      tokenType: "bearer",
      devMode: false,
      clockSkewSeconds: 0,
      accessTokenRoleAssertion: false,
      idTokenRoleAssertion: false,
      idTokenUserinfoAssertion: false,
      idTokenProjectAudience: false,
      idTokenClientId: false,
      genericRolesClaim: false,
      additionalOrigins: [],
      skipNativeAppSuccessPage: false,
      backChannelLogoutUri: "",
      loginVersion: { version: "v1" },
      frontChannelLogout: { uri: "", sessionRequired: false },
      requestRules: { pushed: false, signed: false },
      tokens: { idTokenLifetime: 7 },
    },
  },
)

export const apiApps = sample(
  {
    ...application,
    kind: "api",
    api: {
      authMethod: "private_key_jwt",
      resources: ["https://api.example"],
      scopes: [{ scope: "read", name: "Read", description: "all" }],
    },
  },
  { status: "inactive", name: "API 2", api: { authMethod: "basic" } },
)

const attributes = {
  names: "oid",
  roles: "roles",
  mappings: [
    { name: "mail", format: "uri", source: { kind: "field", field: "email" } },
    { name: "team", format: "basic", source: { kind: "metadata", key: "team" } },
  ],
}

export const samlApps = sample(
  {
    ...application,
    kind: "saml",
    saml: {
      entityId: "https://a.example",
      metadata: "<md/>",
      metadataUrl: "",
      loginVersion: { version: "v1" },
      enforceContext: true,
      attributesBy: "u1",
      attributes,
    },
  },
  {
    status: "inactive",
    name: "SAML 2",
    saml: {
      entityId: "https://a.example",
      metadata: "<md2/>",
      metadataUrl: "",
      loginVersion: { version: "unspecified" },
      attributesBy: "u1",
    },
  },
)
