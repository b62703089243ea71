import { type Beside, type FormCase, pressing } from "./case.ts"

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

export const applicationForms: readonly FormCase[] = [
  {
    form: "application/ways-back.tsx 1",
    path,
    open: pressing("Edit: Ways back (redirect URIs)"),
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
    theirs: change({ accessTokenRoleAssertion: true }),
    mine: { idTokenRoleAssertion: true },
    read: read("accessTokenRoleAssertion", "idTokenRoleAssertion", "clockSkew"),
    both: { accessTokenRoleAssertion: true, idTokenRoleAssertion: true },
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
    open: pressing("Edit: Signing out (logout)"),
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
]
