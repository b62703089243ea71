import type { Settings } from "../model.ts"
import {
  azureProfile,
  githubProfile,
  gitlabProfile,
  googleProfile,
  oauthProfile,
  oidcProfile,
  type ReadProfile,
} from "./dialect.ts"

type Shared = {
  readonly clientId: string
  readonly scopes: readonly string[]
  readonly usePkce: boolean
  /** How the provider calls what it says. */
  readonly profile: ReadProfile
}

/** OpenID Connect: everything else stands in the discovery document of the issuer. */
export type OidcUpstream = Shared & {
  readonly protocol: "oidc"
  readonly issuer: string
  /** Whether the id_token says it all. */
  readonly isIdTokenOnly: boolean
  /** OAuth 2.0 Form Post Response Mode: some send names that way alone. */
  readonly isFormPost: boolean
}

/** OAuth 2.0, and a profile that is read with the access token. */
export type OauthUpstream = Shared & {
  readonly protocol: "oauth"
  /** RFC 9207: what the provider calls itself, should it say so; empty where nobody knows. */
  readonly issuer: string
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly userEndpoint: string
  /** Where the addresses of the person are listed, where the profile has them not all. */
  readonly emailsEndpoint?: string
}

export type Upstream = OidcUpstream | OauthUpstream

type Of<Kind extends Settings["kind"]> = Extract<Settings, { kind: Kind }>

const openid = ["openid", "profile", "email"]

type Client = Pick<Shared, "clientId" | "scopes">

const oidc = ({ clientId, scopes }: Client, issuer: string): OidcUpstream => ({
  protocol: "oidc",
  clientId,
  issuer,
  profile: oidcProfile,
  scopes: [...new Set(["openid", ...(scopes.length > 0 ? scopes : openid)])],
  usePkce: true,
  isIdTokenOnly: false,
  isFormPost: false,
})

/** How a provider speaks OAuth; undefined for one that doesn't. */
export function upstreamOf(settings: Settings): Upstream | undefined {
  switch (settings.kind) {
    case "oidc": {
      const { issuer, usePkce, isIdTokenMapping: isIdTokenOnly } = settings
      return { ...oidc(settings, issuer), usePkce, isIdTokenOnly }
    }
    case "google":
      return { ...oidc(settings, "https://accounts.google.com"), profile: googleProfile }
    case "gitlab":
      return { ...oidc(settings, "https://gitlab.com"), profile: gitlabProfile }
    case "gitlab_self_hosted":
      return { ...oidc(settings, settings.issuer), profile: gitlabProfile }
    case "apple":
      return apple(settings)
    case "azure":
      return azure(settings)
    case "github":
      return github(settings, githubCom)
    case "github_enterprise":
      return github(settings, { ...settings, issuer: enterpriseIssuer(settings) })
    case "oauth": {
      const { kind: _, idAttribute, ...rest } = settings
      return { ...rest, protocol: "oauth", issuer: "", profile: oauthProfile(idAttribute) }
    }
    case "jwt":
    case "ldap":
    case "saml":
      return undefined
  }
}

/**
 * How people get in: by a page of the provider, which sends them back, or by a name and a password
 * that our own page asks for.
 */
export const entranceOf = ({ kind }: Settings): "page" | "directory" =>
  kind === "ldap" ? "directory" : "page"

/** developer.apple.com, "Sign in with Apple": names and addresses come by form_post alone. */
const apple = (settings: Of<"apple">): OidcUpstream => ({
  ...oidc(settings, "https://appleid.apple.com"),
  scopes: settings.scopes.length > 0 ? settings.scopes : ["openid", "name", "email"],
  usePkce: false,
  isIdTokenOnly: true,
  isFormPost: true,
})

/**
 * learn.microsoft.com, "Microsoft identity platform": tokens of several directories have an issuer
 * each, so the profile is read from Microsoft Graph instead.
 */
const azure = ({ clientId, scopes, tenant, emailVerified }: Of<"azure">): OauthUpstream => ({
  protocol: "oauth",
  clientId,
  issuer: "",
  usePkce: true,
  scopes: scopes.length > 0 ? scopes : [...openid, "User.Read"],
  authorizationEndpoint: `https://login.microsoftonline.com/${tenant}/oauth2/v2.0/authorize`,
  tokenEndpoint: `https://login.microsoftonline.com/${tenant}/oauth2/v2.0/token`,
  userEndpoint: "https://graph.microsoft.com/v1.0/me",
  // Whoever administers any directory says there what they like about addresses.
  profile: azureProfile(emailVerified && !severalTenants.has(tenant.toLowerCase())),
})

const severalTenants: ReadonlySet<string> = new Set(["common", "organizations", "consumers"])

type GithubPlace = Pick<
  OauthUpstream,
  "issuer" | "authorizationEndpoint" | "tokenEndpoint" | "userEndpoint"
>

/** docs.github.com, "Authorizing OAuth apps". */
const githubCom: GithubPlace = {
  issuer: "https://github.com/login/oauth",
  authorizationEndpoint: "https://github.com/login/oauth/authorize",
  tokenEndpoint: "https://github.com/login/oauth/access_token",
  userEndpoint: "https://api.github.com/user",
}

/** It calls itself as github.com does: by its address without the last part. */
const enterpriseIssuer = ({ authorizationEndpoint }: Of<"github_enterprise">): string =>
  authorizationEndpoint.replace(/\/authorize\/?$/, "")

function github({ clientId, scopes }: Client, place: GithubPlace): OauthUpstream {
  const { issuer, authorizationEndpoint, tokenEndpoint, userEndpoint } = place
  return {
    protocol: "oauth",
    clientId,
    usePkce: true,
    profile: githubProfile,
    scopes: scopes.length > 0 ? scopes : ["read:user", "user:email"],
    issuer,
    authorizationEndpoint,
    tokenEndpoint,
    userEndpoint,
    emailsEndpoint: `${userEndpoint.replace(/\/$/, "")}/emails`,
  }
}
