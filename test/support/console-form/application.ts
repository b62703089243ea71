import { choose, type FormCase, type FormContext, pressButton } from "./case.ts"

const path = "/ui/console/applications/$applicationId"

const change =
  (oidcConfiguration: object) =>
  ({ get, resources: { applicationId, projectId } }: FormContext) =>
    get("UpdateApplication", { applicationId, projectId, oidcConfiguration })

const read =
  (...names: readonly string[]) =>
  async ({ get, resources: { applicationId } }: FormContext) => {
    const { oidcConfiguration } = (await get("GetApplication", { applicationId })).application
    return Object.fromEntries(names.map((name) => [name, oidcConfiguration[name]]))
  }

const first = "https://app.example.com/callback"

const rules =
  (each: readonly object[]) =>
  ({ get, resources: { proxiedId: applicationId, projectId } }: FormContext) =>
    get("UpdateApplication", {
      applicationId,
      projectId,
      oidcConfiguration: { forwardAuth: { rules: each } },
    })

const readRules = async ({ get, resources: { proxiedId: applicationId } }: FormContext) =>
  (await get("GetApplication", { applicationId })).application.oidcConfiguration.forwardAuth?.rules

const apiPath = "/ui/console/applications/$apiId"

const changeApi =
  (apiConfiguration: object) =>
  ({ get, resources: { apiId: applicationId, projectId } }: FormContext) =>
    get("UpdateApplication", { applicationId, projectId, apiConfiguration })

const readApi = async ({ get, resources: { apiId: applicationId } }: FormContext) =>
  (await get("GetApplication", { applicationId })).application.apiConfiguration

const changeSaml =
  (attributes: object) =>
  ({ get, resources: { samlId: applicationId, projectId } }: FormContext) =>
    get("UpdateApplication", { applicationId, projectId, samlConfiguration: { attributes } })

const readSaml = async ({ get, resources: { samlId: applicationId } }: FormContext) =>
  (await get("GetApplication", { applicationId })).application.samlConfiguration.attributes

const fixedText = (name: string, text: string) => ({
  name,
  format: "SAML_ATTRIBUTE_FORMAT_BASIC",
  text,
})

export const applicationForms: readonly FormCase[] = [
  {
    form: "application/redirect-uris.tsx 1",
    path,
    open: pressButton("Edit: Redirect URIs"),
    otherChange: change({ redirectUris: [first, "https://app.example.com/theirs"] }),
    ownChange: { back: `${first}\nhttps://app.example.com/mine` },
    read: read("redirectUris", "postLogoutRedirectUris"),
    both: {
      redirectUris: ["callback", "theirs", "mine"].map((end) => `https://app.example.com/${end}`),
    },
  },
  {
    form: "application/tokens.tsx 1",
    path,
    open: pressButton("Edit: Tokens"),
    otherChange: change({ accessTokenRoleAssertion: true, idTokenClientId: true }),
    ownChange: {
      idTokenRoleAssertion: true,
      groupsClaim: choose("Groups or roles", "In the claim groups"),
    },
    read: read(
      "accessTokenRoleAssertion",
      "idTokenRoleAssertion",
      "idTokenClientId",
      "groupsClaim",
      "clockSkew",
    ),
    both: {
      accessTokenRoleAssertion: true,
      idTokenRoleAssertion: true,
      idTokenClientId: true,
      groupsClaim: "GROUPS_CLAIM_GROUPS",
    },
    same: {
      otherChange: change({ clockSkew: "2s" }),
      ownChange: { skew: "3" },
      before: { clockSkew: "2s" },
      after: { clockSkew: "3s" },
    },
  },
  {
    form: "application/sign-out.tsx 1",
    path,
    open: pressButton("Edit: Logout"),
    otherChange: change({ backChannelLogoutUri: "https://app.example.com/back" }),
    ownChange: { front: "https://app.example.com/front" },
    read: read("backChannelLogoutUri", "frontChannelLogout"),
    both: {
      backChannelLogoutUri: "https://app.example.com/back",
      frontChannelLogout: { uri: "https://app.example.com/front" },
    },
    same: {
      otherChange: change({ backChannelLogoutUri: "https://app.example.com/theirs" }),
      ownChange: { back: "https://app.example.com/mine" },
      before: { backChannelLogoutUri: "https://app.example.com/theirs" },
      after: { backChannelLogoutUri: "https://app.example.com/mine" },
    },
  },
  {
    form: "application/flows.tsx 1",
    path,
    open: pressButton(/^Edit: Grant types/),
    otherChange: change({ requestRules: { pushedRequired: true } }),
    ownChange: { auth: "post" },
    read: read("requestRules", "authMethodType"),
    both: {
      requestRules: { pushedRequired: true },
      authMethodType: "OIDC_AUTH_METHOD_TYPE_POST",
    },
    same: {
      otherChange: change({ authMethodType: "OIDC_AUTH_METHOD_TYPE_BASIC" }),
      ownChange: { auth: "none" },
      before: {},
      after: { authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE" },
    },
  },
  {
    form: "application/proxy-rules.tsx 1",
    path: "/ui/console/applications/$proxiedId",
    open: pressButton("Edit: Forward auth access rules"),
    otherChange: rules([{ pathPrefix: "/public", everybody: true }]),
    ownChange: { rules: "/admin: editor (tokens)" },
    read: readRules,
    both: [
      { pathPrefix: "/public", everybody: true },
      { pathPrefix: "/admin", roleKeys: ["editor"], accessTokens: true },
    ],
    same: {
      otherChange: rules([{ pathPrefix: "/admin", roleKeys: ["viewer"] }]),
      ownChange: { rules: "/admin: editor, writer" },
      before: [{ pathPrefix: "/admin", roleKeys: ["viewer"] }],
      after: [{ pathPrefix: "/admin", roleKeys: ["editor", "writer"] }],
    },
  },
  {
    form: "application/api.tsx 1",
    path: apiPath,
    open: pressButton(/^Edit: Client authentication/),
    otherChange: changeApi({ resources: { uris: ["https://api.example.com/one"] } }),
    ownChange: { method: "private_key_jwt" },
    read: readApi,
    both: {
      authMethodType: "API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT",
      resources: { uris: ["https://api.example.com/one"] },
    },
  },
  {
    form: "application/api.tsx 2",
    path: apiPath,
    open: pressButton("Edit: Resource URIs of the API"),
    otherChange: changeApi({
      authMethodType: "API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT",
      resources: { uris: ["https://api.example.com/one", "https://api.example.com/two"] },
    }),
    ownChange: { uris: "https://api.example.com/three" },
    read: readApi,
    both: { resources: { uris: ["https://api.example.com/two", "https://api.example.com/three"] } },
  },
  {
    form: "application/api-scopes.tsx 1",
    path: apiPath,
    open: pressButton("Edit: Scopes of the API"),
    otherChange: changeApi({ scopes: { scopes: [{ scope: "read:one", name: "Read | one" }] } }),
    ownChange: { scopes: "read:two = Read two | All of them" },
    read: async (context) => (await readApi(context)).scopes,
    both: {
      scopes: [
        { scope: "read:one", name: "Read | one" },
        { scope: "read:two", name: "Read two", description: "All of them" },
      ],
    },
    same: {
      otherChange: changeApi({ scopes: { scopes: [{ scope: "read:one", name: "Theirs" }] } }),
      ownChange: { scopes: "read:one = Mine" },
      before: { scopes: [{ scope: "read:one", name: "Theirs" }] },
      after: { scopes: [{ scope: "read:one", name: "Mine" }] },
    },
  },
  {
    form: "application/saml-attributes.tsx 1",
    path: "/ui/console/applications/$samlId",
    open: pressButton("Edit: Assertions"),
    otherChange: changeSaml({ mappings: [fixedText("one", "1")] }),
    ownChange: { mappings: 'two = "2"' },
    read: readSaml,
    both: {
      names: "SAML_ATTRIBUTE_NAMES_SHORT",
      mappings: [fixedText("one", "1"), fixedText("two", "2")],
    },
  },
  {
    form: "application/add-redirect-uri.tsx 1",
    path: "/ui/console/refused-requests/$requestId",
    open: pressButton("Add this redirect URI"),
    otherChange: change({ redirectUris: [first, "https://app.example.com/fourth"] }),
    ownChange: {},
    read: read("redirectUris"),
    both: {
      redirectUris: [first, "https://app.example.com/fourth", "https://elsewhere.example"],
    },
  },
]
