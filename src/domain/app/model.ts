import { neverExpires } from "../../kernel/crypto/signing-key.ts"
import { aggregate, type Event, type Upcaster } from "../../store/index.ts"
import type { OidcSettings } from "../instance/index.ts"
import type { AccessTokenJwtType } from "../key/index.ts"
import type { groupsClaims } from "../project/index.ts"
import { type AppAccess, isDefaultAccess } from "./access/access.ts"
import type { AccessRule, RemoteUser } from "./forward-auth.ts"
import type { SamlAttributes } from "./saml/attributes.ts"

export type ResponseType = "code" | "id_token" | "id_token_token"
export type GrantType =
  | "authorization_code"
  | "implicit"
  | "refresh_token"
  | "device_code"
  | "token_exchange"
export type AppType = "web" | "user_agent" | "native"
/** How a client authenticates at the token endpoint. */
export type AuthMethod = "basic" | "post" | "none" | "private_key_jwt"
export type TokenType = "bearer" | "jwt"

/** The login pages of an application; `baseUri` is the URL of a custom login. */
export type LoginVersion =
  | { readonly version: "unspecified" }
  | { readonly version: "v1" }
  | { readonly version: "v2"; readonly baseUri: string }

export type OidcConfig = {
  readonly redirectUris: readonly string[]
  readonly postLogoutRedirectUris: readonly string[]
  readonly responseTypes: readonly ResponseType[]
  readonly grantTypes: readonly GrantType[]
  readonly appType: AppType
  readonly authMethod: AuthMethod
  readonly tokenType: TokenType
  readonly devMode: boolean
  /** Whether redirect URIs can use plain HTTP in a private network; absent in older events. */
  readonly privateHttp?: boolean
  readonly clockSkewSeconds: number
  readonly accessTokenRoleAssertion: boolean
  readonly idTokenRoleAssertion: boolean
  readonly idTokenUserinfoAssertion: boolean
  /** Whether ID tokens contain the project in `aud`, in addition to the client. */
  readonly idTokenProjectAudience: boolean
  /** Whether ID tokens also contain `client_id`, which is a claim of access tokens (RFC 9068). */
  readonly idTokenClientId: boolean
  /** The claim with a flat list of roles; absent means the setting of the project. */
  readonly groupsClaim?: (typeof groupsClaims)[number]
  /** Whether tokens also contain roles in a claim whose name does not include the project. */
  readonly genericRolesClaim: boolean
  readonly additionalOrigins: readonly string[]
  readonly skipNativeAppSuccessPage: boolean
  readonly backChannelLogoutUri: string
  readonly loginVersion: LoginVersion
  readonly tokens?: TokenConfig
  readonly frontChannelLogout?: FrontChannelLogout
  readonly requestRules?: RequestRules
  /**
   * Whether a client that authenticates with a secret or a key must use PKCE; absent means the
   * setting of the organization.
   */
  readonly pkce?: PkceRule
  /** Access rules for forward-auth requests of a proxy; absent means none. */
  readonly accessRules?: readonly AccessRule[]
  /** The content of the header `Remote-User` for the proxy; absent means the login name. */
  readonly remoteUser?: RemoteUser
  /**
   * Whether the protected application receives access tokens that were accepted here; absent means
   * no.
   */
  readonly accessTokenForwarded?: boolean
  /**
   * Scheme, host and port in a private network that logout notifications can be sent to, as an
   * instance administrator allowed; absent or empty means none.
   */
  readonly backChannelPrivate?: string
  /** Whether the application's backend can end a session with an ID token; absent means no. */
  readonly backEndLogout?: boolean
  /** Whether requests can omit the scope openid; absent means no. */
  readonly plainOauth?: boolean
}

export type PkceRule = "required" | "optional" | "inherited"

type LaterSetting = "idTokenProjectAudience" | "idTokenClientId" | "genericRolesClaim"

/** Events from before a setting existed do not contain it. */
type AddedOidc = Omit<OidcConfig, LaterSetting> & Partial<Pick<OidcConfig, LaterSetting>>

/** The values of these settings for older applications. */
const earlierDefaults: Pick<OidcConfig, LaterSetting> = {
  idTokenProjectAudience: true,
  idTokenClientId: true,
  genericRolesClaim: true,
}

/** A configuration without inherited settings, as it was before they could be set. */
function withoutInherited({ pkce, groupsClaim, ...oidc }: OidcConfig): OidcConfig {
  return {
    ...oidc,
    ...(pkce && pkce !== "inherited" && { pkce }),
    ...(groupsClaim && groupsClaim !== "unspecified" && { groupsClaim }),
  }
}

/**
 * Requirements for authorization requests: pushed (RFC 9126), signed (RFC 9101), and the registered
 * authentication method.
 */
export type RequestRules = {
  readonly pushed: boolean
  readonly signed: boolean
  /** Whether only the registered authentication method is accepted; absent in older events. */
  readonly authMethod?: boolean
}

/** Token settings of an application; absent ones are inherited from the instance. */
export type TokenConfig = Partial<
  Pick<
    OidcSettings,
    | "accessTokenLifetime"
    | "idTokenLifetime"
    | "refreshTokenIdleExpiration"
    | "refreshTokenExpiration"
    | "refreshTokenGrace"
    | "idTokenAlgorithm"
    | "accessTokenAlgorithm"
  >
> & {
  /** The header `typ` of JWT access tokens; absent means `at+jwt`. */
  readonly accessTokenJwtType?: AccessTokenJwtType
}

/** OpenID Connect Front-Channel Logout §2: a page that the browser loads when a session ends. */
export type FrontChannelLogout = { readonly uri: string; readonly sessionRequired: boolean }

export type ApiConfig = {
  readonly authMethod: "basic" | "private_key_jwt"
  /** RFC 8707 §2: resource indicators of the API; absent means none. */
  readonly resources?: readonly string[]
  /**
   * Scopes that clients can request for the API in addition to the standard ones; absent means
   * none.
   */
  readonly scopes?: readonly ApiScope[]
}

/** A scope that an API defines (RFC 6749 §3.3), with the name and description that users see. */
export type ApiScope = {
  readonly scope: string
  /** If absent, the scope itself is shown. */
  readonly name?: string
  readonly description?: string
}

/** A SAML service provider; see `Metadata`. */
export type SamlConfig = {
  readonly entityId: string
  /** The XML as received. */
  readonly metadata: string
  /** The URL that the metadata was fetched from; empty if the request contained the XML. */
  readonly metadataUrl: string
  readonly loginVersion: LoginVersion
  /** Whether an AuthnContext that requests no more than a password is enforced; absent means no. */
  readonly enforceContext?: boolean
  /** If absent, `defaultAttributes` apply. */
  readonly attributes?: SamlAttributes
}

/** `attributesBy`: the administrator who last set the attributes. */
type StoredSamlConfig = SamlConfig & { readonly attributesBy?: string }

/**
 * Keyed hashes of secrets; a secret itself is returned once and never stored. Each event contains
 * the hashes of all secrets that are valid after it, so that the hashes in earlier events can be
 * erased. `kept` is keyed by secret ID; in the data it contains the expiry of each earlier secret,
 * ms UTC.
 */
type SecretChanged<Type extends string> = Event<
  Type,
  { readonly secretId: string; readonly kept: Readonly<Record<string, number>> },
  { readonly hashedSecret: string; readonly kept: Hashes }
>
type SecretRemoved<Type extends string> = Event<
  Type,
  { readonly secretId: string },
  { readonly kept: Hashes }
>
type Hashes = Readonly<Record<string, string>>

type KeyAdded<Type extends string> = Event<
  Type,
  { readonly keyId: string; readonly publicKey: string; readonly expires: number }
>
type KeyRemoved<Type extends string> = Event<Type, { readonly keyId: string }>

/** RFC 7517: the public members of a JWK, as the application sent them. */
export type ClientJwk = Readonly<Record<string, string>>

export type AppEvent =
  | Event<"project.application.added", { readonly projectId: string; readonly name: string }>
  | Event<"project.application.changed", { readonly name: string }>
  | Event<"project.application.access.changed", AppAccess>
  | Event<"project.application.deactivated">
  | Event<"project.application.reactivated">
  | Event<"project.application.removed">
  | Event<
      "project.application.registered",
      { readonly jwks: readonly ClientJwk[]; readonly scope?: string },
      { readonly hashedToken: string }
    >
  | Event<
      "project.application.registration.changed",
      { readonly jwks: readonly ClientJwk[]; readonly scope?: string }
    >
  | Event<"project.application.used">
  | Event<"project.application.config.oidc.added", AddedOidc & { readonly clientId: string }>
  | Event<"project.application.config.oidc.changed", Partial<OidcConfig>>
  | SecretChanged<"project.application.config.oidc.secret.changed">
  | SecretRemoved<"project.application.config.oidc.secret.removed">
  | KeyAdded<"project.application.oidc.key.added">
  | KeyRemoved<"project.application.oidc.key.removed">
  | Event<"project.application.config.api.added", ApiConfig & { readonly clientId: string }>
  | Event<"project.application.config.api.changed", ApiConfig>
  | SecretChanged<"project.application.config.api.secret.changed">
  | SecretRemoved<"project.application.config.api.secret.removed">
  | KeyAdded<"project.application.api.key.added">
  | KeyRemoved<"project.application.api.key.removed">
  | Event<"project.application.config.saml.added", SamlConfig>
  | Event<"project.application.config.saml.changed", Partial<SamlConfig>>

export type AppStatus = "active" | "inactive"

type Base = {
  readonly status: AppStatus
  readonly projectId: string
  readonly name: string
  /** Empty for SAML service providers, which are identified by their entity ID. */
  readonly clientId: string
  /**
   * The secrets that were valid after the last change, oldest first; some may have expired since.
   */
  readonly secrets: readonly AppSecret[]
  /** Expiry by key id, ms UTC. */
  readonly keys: Readonly<Record<string, number>>
  /** Absent if an administrator created the application. */
  readonly registration?: Registration
  /** Who can use the application; absent for all users that its project admits. */
  readonly access?: AppAccess
}

/** State of an application that registered itself (RFC 7591). Times are ms UTC. */
export type Registration = {
  /** Keyed hash of the registration access token; null if it was erased. */
  readonly hash: string | null
  readonly created: number
  /** The last sign-in, rounded to the day; the time of registration if there was none. */
  readonly used: number
  readonly jwks: readonly ClientJwk[]
  /**
   * Incremented when the name, the authentication method, or the keys or secrets of the application
   * change. Consents to an earlier identity are not valid.
   */
  readonly identity: number
  /** The scopes that the client registered (RFC 7591 §2), unchanged; it can request others. */
  readonly scope?: string
}

/** Times are ms UTC; the hash is null if it was erased. */
export type AppSecret = {
  readonly id: string
  readonly hash: string | null
  readonly created: number
  readonly expires: number
}

export type OidcApp = Base & { readonly kind: "oidc"; readonly oidc: OidcConfig }
export type ApiApp = Base & { readonly kind: "api"; readonly api: ApiConfig }

export type SamlApp = Base & { readonly kind: "saml"; readonly saml: StoredSamlConfig }

/**
 * An application between its first event and its configuration event; both are appended in one
 * transaction.
 */
type UnconfiguredApp = Base & { readonly kind: "none" }

export type App =
  | { readonly status: "absent" | "removed" }
  | UnconfiguredApp
  | OidcApp
  | ApiApp
  | SamlApp

export const isMissing = (state: App): state is Extract<App, { status: "absent" | "removed" }> =>
  state.status === "absent" || state.status === "removed"

/** Whether an application is a client of the authorization server and has a client ID. */
export const isClient = (state: App): state is OidcApp | ApiApp =>
  !isMissing(state) && (state.kind === "oidc" || state.kind === "api")

/** Whether clients with this authentication method have a secret. */
export const hasSecret = (method: AuthMethod): boolean => method === "basic" || method === "post"

/** The authentication method of a client. */
export const methodOf = (state: OidcApp | ApiApp): AuthMethod =>
  state.kind === "api" ? state.api.authMethod : state.oidc.authMethod

const withChanges = (state: App, change: Partial<Pick<Base, "status" | "name">>): App =>
  isMissing(state) ? state : { ...state, ...change }

/** The default access is not stored, so that states of earlier versions stay equal. */
function withAccess(state: App, access: AppAccess): App {
  if (isMissing(state)) return state
  const { access: _, ...others } = state
  return isDefaultAccess(access) ? others : { ...others, access }
}

type SecretChangedEvent = SecretChanged<string> & { readonly time: number }

/**
 * Earlier secrets that remain valid take their hashes from the newest event, because earlier events
 * are erased.
 */
function secretChanged(state: App, { data, private: secret, time }: SecretChangedEvent): App {
  if (isMissing(state)) return state
  const kept = state.secrets.flatMap(({ id, created }) => {
    const expires = data.kept[id]
    return expires === undefined ? [] : [{ id, hash: secret?.kept[id] ?? null, created, expires }]
  })
  const hash = secret?.hashedSecret ?? null
  const added = { id: data.secretId, hash, created: time, expires: neverExpires }
  return { ...state, secrets: [...kept, added] }
}

function secretRemoved(state: App, { data, private: secret }: SecretRemoved<string>): App {
  if (isMissing(state)) return state
  const kept = state.secrets.filter(({ id }) => id !== data.secretId)
  return {
    ...state,
    secrets: kept.map((each) => ({ ...each, hash: secret?.kept[each.id] ?? null })),
  }
}

const keyAdded = (state: App, { data }: KeyAdded<string>): App =>
  isMissing(state) ? state : { ...state, keys: { ...state.keys, [data.keyId]: data.expires } }

function keyRemoved(state: App, { data }: KeyRemoved<string>): App {
  if (isMissing(state)) return state
  const { [data.keyId]: _, ...keys } = state.keys
  return { ...state, keys }
}

const withRegistration = (state: App, change: Partial<Registration>): App =>
  isMissing(state) || !state.registration
    ? state
    : { ...state, registration: { ...state.registration, ...change } }

const withNextIdentity = (state: App): App =>
  withRegistration(
    state,
    isMissing(state) ? {} : { identity: (state.registration?.identity ?? 0) + 1 },
  )

/** Later than the time of creation: equal times mean that the application was never used. */
const lastUsedAt = (time: number, created: number): number => Math.max(time, created + 1)

const authorOf = ({ attributes }: Partial<SamlConfig>, { user }: { readonly user: string }) =>
  attributes && { attributesBy: user }

/** Events of this revision are from when an application had one secret, without an ID. */
const singleSecretUpcaster: Upcaster = (_, secret) => ({
  data: { secretId: "0", kept: {} },
  private: secret && { ...secret, kept: {} },
})

/** An application that users sign in to: an OIDC client, an API or a SAML service provider. */
export const app = aggregate<AppEvent, App>({
  stream: "app",
  revision: 4,
  upcasters: {
    "project.application.config.oidc.secret.changed": [singleSecretUpcaster],
    "project.application.config.api.secret.changed": [singleSecretUpcaster],
  },
  initial: { status: "absent" },
  evolve: {
    "project.application.added": (_, { data: { projectId, name } }) => ({
      kind: "none",
      status: "active",
      projectId,
      name,
      clientId: "",
      secrets: [],
      keys: {},
    }),
    "project.application.changed": (state, { data }) =>
      withNextIdentity(withChanges(state, { name: data.name })),
    "project.application.access.changed": (state, { data }) => withAccess(state, data),
    "project.application.deactivated": (state) => withChanges(state, { status: "inactive" }),
    "project.application.reactivated": (state) => withChanges(state, { status: "active" }),
    "project.application.removed": () => ({ status: "removed" }),
    "project.application.registered": (state, { data, private: secret, time }) => {
      if (isMissing(state)) return state
      const hash = secret?.hashedToken ?? null
      const made = { hash, created: time, used: time, identity: 0 }
      return { ...state, registration: { ...made, ...data } }
    },
    "project.application.registration.changed": (state, { data }) =>
      withNextIdentity(withRegistration(state, data)),
    "project.application.used": (state, { time }) => {
      const created = isMissing(state) ? undefined : state.registration?.created
      return created === undefined
        ? state
        : withRegistration(state, { used: lastUsedAt(time, created) })
    },
    "project.application.config.oidc.added": (state, { data: { clientId, ...oidc } }) =>
      isMissing(state)
        ? state
        : { ...state, kind: "oidc", clientId, oidc: { ...earlierDefaults, ...oidc } },
    "project.application.config.oidc.changed": (state, { data }) => {
      if (isMissing(state) || state.kind !== "oidc") return state
      const oidc = withoutInherited({ ...state.oidc, ...data })
      const changed = { ...state, oidc, secrets: hasSecret(oidc.authMethod) ? state.secrets : [] }
      return oidc.authMethod === state.oidc.authMethod ? changed : withNextIdentity(changed)
    },
    "project.application.config.oidc.secret.changed": (state, event) =>
      withNextIdentity(secretChanged(state, event)),
    "project.application.config.oidc.secret.removed": secretRemoved,
    "project.application.oidc.key.added": (state, event) =>
      withNextIdentity(keyAdded(state, event)),
    "project.application.oidc.key.removed": (state, event) =>
      withNextIdentity(keyRemoved(state, event)),
    "project.application.config.api.added": (state, { data: { clientId, ...api } }) =>
      isMissing(state) ? state : { ...state, kind: "api", clientId, api },
    "project.application.config.api.changed": (state, { data }) => {
      if (isMissing(state) || state.kind !== "api") return state
      return { ...state, api: data, secrets: hasSecret(data.authMethod) ? state.secrets : [] }
    },
    "project.application.config.api.secret.changed": secretChanged,
    "project.application.config.api.secret.removed": secretRemoved,
    "project.application.api.key.added": keyAdded,
    "project.application.api.key.removed": keyRemoved,
    "project.application.config.saml.added": (state, { data, editor }) =>
      isMissing(state)
        ? state
        : { ...state, kind: "saml", saml: { ...data, ...authorOf(data, editor) } },
    "project.application.config.saml.changed": (state, { data, editor }) =>
      isMissing(state) || state.kind !== "saml"
        ? state
        : { ...state, saml: { ...state.saml, ...data, ...authorOf(data, editor) } },
  },
})
