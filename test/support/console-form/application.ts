import { type Beside, choosing, type FormCase, pressing } from "./case.ts"

const path = "/ui/console/applications/$applicationId"

const change =
  (oidcConfiguration: object) =>
  ({ get, things: { applicationId, projectId } }: Beside) =>
    get("UpdateApplication", { applicationId, projectId, oidcConfiguration })

const read =
  (...names: readonly string[]) =>
  async ({ get, things: { applicationId } }: Beside) => {
    const { oidcConfiguration } = (await get("GetApplication", { applicationId })).application
    return Object.fromEntries(names.map((name) => [name, oidcConfiguration[name]]))
  }

const first = "https://app.example.com/callback"

const rules =
  (each: readonly object[]) =>
  ({ get, things: { proxiedId: applicationId, projectId } }: Beside) =>
    get("UpdateApplication", {
      applicationId,
      projectId,
      oidcConfiguration: { forwardAuth: { rules: each } },
    })

const readRules = async ({ get, things: { proxiedId: applicationId } }: Beside) =>
  (await get("GetApplication", { applicationId })).application.oidcConfiguration.forwardAuth?.rules

const apiPath = "/ui/console/applications/$apiId"

const changeApi =
  (apiConfiguration: object) =>
  ({ get, things: { apiId: applicationId, projectId } }: Beside) =>
    get("UpdateApplication", { applicationId, projectId, apiConfiguration })

const readApi = async ({ get, things: { apiId: applicationId } }: Beside) =>
  (await get("GetApplication", { applicationId })).application.apiConfiguration

const changeSaml =
  (attributes: object) =>
  ({ get, things: { samlId: applicationId, projectId } }: Beside) =>
    get("UpdateApplication", { applicationId, projectId, samlConfiguration: { attributes } })

const readSaml = async ({ get, things: { samlId: applicationId } }: Beside) =>
  (await get("GetApplication", { applicationId })).application.samlConfiguration.attributes

const fixed = (name: string, text: string) => ({
  name,
  format: "SAML_ATTRIBUTE_FORMAT_BASIC",
  text,
})

export const applicationForms: readonly FormCase[] = [
  {
    form: "application/redirect-uris.tsx 1",
    path,
    open: pressing("Edit: Redirect URIs"),
    theirs: change({ redirectUris: [first, "https://app.example.com/theirs"] }),
    mine: { back: `${first}\nhttps://app.example.com/mine` },
    read: read("redirectUris", "postLogoutRedirectUris"),
    both: {
      redirectUris: ["callback", "theirs", "mine"].map((end) => `https://app.example.com/${end}`),
    },
  },
  {
    form: "application/tokens.tsx 1",
    path,
    open: pressing("Edit: Tokens"),
    theirs: change({ accessTokenRoleAssertion: true, idTokenClientId: true }),
    mine: {
      idTokenRoleAssertion: true,
      groupsClaim: choosing("Groups or roles", "In the claim groups"),
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
      theirs: change({ clockSkew: "2s" }),
      mine: { skew: "3" },
      before: { clockSkew: "2s" },
      after: { clockSkew: "3s" },
    },
  },
  {
    form: "application/sign-out.tsx 1",
    path,
    open: pressing("Edit: Logout"),
    theirs: change({ backChannelLogoutUri: "https://app.example.com/back" }),
    mine: { front: "https://app.example.com/front" },
    read: read("backChannelLogoutUri", "frontChannelLogout"),
    both: {
      backChannelLogoutUri: "https://app.example.com/back",
      frontChannelLogout: { uri: "https://app.example.com/front" },
    },
    same: {
      theirs: change({ backChannelLogoutUri: "https://app.example.com/theirs" }),
      mine: { back: "https://app.example.com/mine" },
      before: { backChannelLogoutUri: "https://app.example.com/theirs" },
      after: { backChannelLogoutUri: "https://app.example.com/mine" },
    },
  },
  {
    form: "application/flows.tsx 1",
    path,
    open: pressing(/^Edit: Grant types/),
    theirs: change({ requestRules: { pushedRequired: true } }),
    mine: { auth: "post" },
    read: read("requestRules", "authMethodType"),
    both: {
      requestRules: { pushedRequired: true },
      authMethodType: "OIDC_AUTH_METHOD_TYPE_POST",
    },
    same: {
      theirs: change({ authMethodType: "OIDC_AUTH_METHOD_TYPE_BASIC" }),
      mine: { auth: "none" },
      before: {},
      after: { authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE" },
    },
  },
  {
    form: "application/proxy-rules.tsx 1",
    path: "/ui/console/applications/$proxiedId",
    open: pressing("Edit: Forward auth access rules"),
    theirs: rules([{ pathPrefix: "/public", everybody: true }]),
    mine: { rules: "/admin: editor (tokens)" },
    read: readRules,
    both: [
      { pathPrefix: "/public", everybody: true },
      { pathPrefix: "/admin", roleKeys: ["editor"], accessTokens: true },
    ],
    same: {
      theirs: rules([{ pathPrefix: "/admin", roleKeys: ["viewer"] }]),
      mine: { rules: "/admin: editor, writer" },
      before: [{ pathPrefix: "/admin", roleKeys: ["viewer"] }],
      after: [{ pathPrefix: "/admin", roleKeys: ["editor", "writer"] }],
    },
  },
  {
    form: "application/api.tsx 1",
    path: apiPath,
    open: pressing(/^Edit: Client authentication/),
    theirs: changeApi({ resources: { uris: ["https://api.example.com/one"] } }),
    mine: { method: "private_key_jwt" },
    read: readApi,
    both: {
      authMethodType: "API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT",
      resources: { uris: ["https://api.example.com/one"] },
    },
  },
  {
    form: "application/api.tsx 2",
    path: apiPath,
    open: pressing("Edit: Resource URIs of the API"),
    theirs: changeApi({
      authMethodType: "API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT",
      resources: { uris: ["https://api.example.com/one", "https://api.example.com/two"] },
    }),
    mine: { uris: "https://api.example.com/three" },
    read: readApi,
    both: { resources: { uris: ["https://api.example.com/two", "https://api.example.com/three"] } },
  },
  {
    form: "application/api-scopes.tsx 1",
    path: apiPath,
    open: pressing("Edit: Scopes of the API"),
    theirs: changeApi({ scopes: { scopes: [{ scope: "read:one", name: "Read | one" }] } }),
    mine: { scopes: "read:two = Read two | All of them" },
    read: async (beside) => (await readApi(beside)).scopes,
    both: {
      scopes: [
        { scope: "read:one", name: "Read | one" },
        { scope: "read:two", name: "Read two", description: "All of them" },
      ],
    },
    same: {
      theirs: changeApi({ scopes: { scopes: [{ scope: "read:one", name: "Theirs" }] } }),
      mine: { scopes: "read:one = Mine" },
      before: { scopes: [{ scope: "read:one", name: "Theirs" }] },
      after: { scopes: [{ scope: "read:one", name: "Mine" }] },
    },
  },
  {
    form: "application/saml-attributes.tsx 1",
    path: "/ui/console/applications/$samlId",
    open: pressing("Edit: Assertions"),
    theirs: changeSaml({ mappings: [fixed("one", "1")] }),
    mine: { mappings: 'two = "2"' },
    read: readSaml,
    both: {
      names: "SAML_ATTRIBUTE_NAMES_SHORT",
      mappings: [fixed("one", "1"), fixed("two", "2")],
    },
  },
  {
    form: "application/add-redirect-uri.tsx 1",
    path: "/ui/console/refused-requests/$requestId",
    open: pressing("Add this redirect URI"),
    theirs: change({ redirectUris: [first, "https://app.example.com/fourth"] }),
    mine: {},
    read: read("redirectUris"),
    both: {
      redirectUris: [first, "https://app.example.com/fourth", "https://elsewhere.example"],
    },
  },
]
