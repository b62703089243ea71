import type { Settings } from "../model.ts"
import {
  azureProfile,
  githubProfile,
  gitlabProfile,
  googleProfile,
  oauthProfile,
  oidcProfile,
  type ParseProfile,
} from "./profile.ts"

type SharedUpstream = {
  readonly clientId: string
  readonly scopes: readonly string[]
  readonly usePkce: boolean
  /** Parses the provider's profile format. */
  readonly parseProfile: ParseProfile
}

/** OpenID Connect; all endpoints come from the discovery document. */
export type OidcUpstream = SharedUpstream & {
  readonly protocol: "oidc"
  readonly issuer: string
  /** Whether the ID token contains the whole profile. */
  readonly isIdTokenOnly: boolean
  /** OAuth 2.0 Form Post Response Mode; some providers send names only this way. */
  readonly isFormPost: boolean
}

/** OAuth 2.0, with a profile that is fetched with the access token. */
export type OauthUpstream = SharedUpstream & {
  readonly protocol: "oauth"
  /** RFC 9207: the provider's issuer identifier; empty if unknown. */
  readonly issuer: string
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly userEndpoint: string
  /** URL that lists all email addresses of the user, if the profile doesn't. */
  readonly emailsEndpoint?: string
}

export type Upstream = OidcUpstream | OauthUpstream

type SettingsOf<Kind extends Settings["kind"]> = Extract<Settings, { kind: Kind }>

const openidScopes = ["openid", "profile", "email"]

type ClientSettings = Pick<SharedUpstream, "clientId" | "scopes">

const oidcUpstream = ({ clientId, scopes }: ClientSettings, issuer: string): OidcUpstream => ({
  protocol: "oidc",
  clientId,
  issuer,
  parseProfile: oidcProfile,
  scopes: [...new Set(["openid", ...(scopes.length > 0 ? scopes : openidScopes)])],
  usePkce: true,
  isIdTokenOnly: false,
  isFormPost: false,
})

/** The OAuth settings of a provider; undefined for other protocols. */
export function findUpstream(settings: Settings): Upstream | undefined {
  switch (settings.kind) {
    case "oidc": {
      const { issuer, usePkce, isIdTokenMapping: isIdTokenOnly } = settings
      return { ...oidcUpstream(settings, issuer), usePkce, isIdTokenOnly }
    }
    case "google":
      return {
        ...oidcUpstream(settings, "https://accounts.google.com"),
        parseProfile: googleProfile,
      }
    case "gitlab":
      return { ...oidcUpstream(settings, "https://gitlab.com"), parseProfile: gitlabProfile }
    case "gitlab_self_hosted":
      return { ...oidcUpstream(settings, settings.issuer), parseProfile: gitlabProfile }
    case "apple":
      return appleUpstream(settings)
    case "azure":
      return azureUpstream(settings)
    case "github":
      return githubUpstream(settings, githubCom)
    case "github_enterprise":
      return githubUpstream(settings, { ...settings, issuer: enterpriseIssuer(settings) })
    case "oauth": {
      const { kind: _, idAttribute, ...rest } = settings
      return { ...rest, protocol: "oauth", issuer: "", parseProfile: oauthProfile(idAttribute) }
    }
    case "jwt":
    case "ldap":
    case "saml":
      return undefined
  }
}

/**
 * How users sign in: on a page of the provider that redirects back, or with a name and password on
 * this server's page.
 */
export const signInMethodOf = ({ kind }: Settings): "page" | "directory" =>
  kind === "ldap" ? "directory" : "page"

/** developer.apple.com, "Sign in with Apple": names and addresses are sent only with form_post. */
const appleUpstream = (settings: SettingsOf<"apple">): OidcUpstream => ({
  ...oidcUpstream(settings, "https://appleid.apple.com"),
  scopes: settings.scopes.length > 0 ? settings.scopes : ["openid", "name", "email"],
  usePkce: false,
  isIdTokenOnly: true,
  isFormPost: true,
})

/**
 * learn.microsoft.com, "Microsoft identity platform": in multi-tenant mode each directory has its
 * own issuer, so the profile is fetched from Microsoft Graph instead.
 */
const azureUpstream = ({
  clientId,
  scopes,
  tenant,
  emailVerified,
}: SettingsOf<"azure">): OauthUpstream => ({
  protocol: "oauth",
  clientId,
  issuer: "",
  usePkce: true,
  scopes: scopes.length > 0 ? scopes : [...openidScopes, "User.Read"],
  authorizationEndpoint: `https://login.microsoftonline.com/${tenant}/oauth2/v2.0/authorize`,
  tokenEndpoint: `https://login.microsoftonline.com/${tenant}/oauth2/v2.0/token`,
  userEndpoint: "https://graph.microsoft.com/v1.0/me",
  // In multi-tenant mode any directory's administrator controls the addresses, so they are not
  // verified.
  parseProfile: azureProfile(emailVerified && !multiTenantNames.has(tenant.toLowerCase())),
})

const multiTenantNames: ReadonlySet<string> = new Set(["common", "organizations", "consumers"])

type GithubEndpoints = Pick<
  OauthUpstream,
  "issuer" | "authorizationEndpoint" | "tokenEndpoint" | "userEndpoint"
>

/** docs.github.com, "Authorizing OAuth apps". */
const githubCom: GithubEndpoints = {
  issuer: "https://github.com/login/oauth",
  authorizationEndpoint: "https://github.com/login/oauth/authorize",
  tokenEndpoint: "https://github.com/login/oauth/access_token",
  userEndpoint: "https://api.github.com/user",
}

/**
 * GitHub Enterprise uses the same issuer format as github.com: the authorization URL without its
 * last segment.
 */
const enterpriseIssuer = ({ authorizationEndpoint }: SettingsOf<"github_enterprise">): string =>
  authorizationEndpoint.replace(/\/authorize\/?$/, "")

function githubUpstream(
  { clientId, scopes }: ClientSettings,
  endpoints: GithubEndpoints,
): OauthUpstream {
  const { issuer, authorizationEndpoint, tokenEndpoint, userEndpoint } = endpoints
  return {
    protocol: "oauth",
    clientId,
    usePkce: true,
    parseProfile: githubProfile,
    scopes: scopes.length > 0 ? scopes : ["read:user", "user:email"],
    issuer,
    authorizationEndpoint,
    tokenEndpoint,
    userEndpoint,
    emailsEndpoint: `${userEndpoint.replace(/\/$/, "")}/emails`,
  }
}
