import { never } from "../../kernel/crypto/signing-key.ts"
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
/** How a client proves who it is at the token endpoint. */
export type AuthMethod = "basic" | "post" | "none" | "private_key_jwt"
export type TokenType = "bearer" | "jwt"

/** Which login serves an application; `baseUri` is where a login of one's own stands. */
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
  /** Whether answers may cross a private network over plain http; absent in those from before. */
  readonly privateHttp?: boolean
  readonly clockSkewSeconds: number
  readonly accessTokenRoleAssertion: boolean
  readonly idTokenRoleAssertion: boolean
  readonly idTokenUserinfoAssertion: boolean
  /** Whether ID tokens name the project in `aud`, beside the client. */
  readonly idTokenProjectAudience: boolean
  /** Whether ID tokens also contain `client_id`, which is a claim of access tokens (RFC 9068). */
  readonly idTokenClientId: boolean
  /** The flat list of roles in its tokens; absent is as the project states. */
  readonly groupsClaim?: (typeof groupsClaims)[number]
  /** Whether roles are also told under a claim that does not name their project. */
  readonly genericRolesClaim: boolean
  readonly additionalOrigins: readonly string[]
  readonly skipNativeAppSuccessPage: boolean
  readonly backChannelLogoutUri: string
  readonly loginVersion: LoginVersion
  readonly tokens?: TokenConfig
  readonly frontChannelLogout?: FrontChannelLogout
  readonly requestRules?: RequestRules
  /** Whether a client with a secret or a key must use PKCE; absent is as the organization says. */
  readonly pkce?: PkceRule
  /** What a proxy is told that asks about each request; absent is no rule. */
  readonly accessRules?: readonly AccessRule[]
  /** What `Remote-User` contains for that proxy; absent is the login name. */
  readonly remoteUser?: RemoteUser
  /** Whether the program behind it receives access tokens that were accepted here; absent is no. */
  readonly accessTokenForwarded?: boolean
  /**
   * Scheme, host and port in a private network that sign-out notices may go to, as an administrator
   * of the instance allowed; absent or empty is none.
   */
  readonly backChannelPrivate?: string
  /** Whether its back end can end a session with an id_token; absent is no. */
  readonly backEndLogout?: boolean
  /** Whether its requests can leave out the scope openid; absent is no. */
  readonly plainOauth?: boolean
}

export type PkceRule = "required" | "optional" | "inherited"

type Later = "idTokenProjectAudience" | "idTokenClientId" | "genericRolesClaim"

/** Applications from before a setting have none in their event. */
type AddedOidc = Omit<OidcConfig, Later> & Partial<Pick<OidcConfig, Later>>

/** What those applications do. */
const earlier: Pick<OidcConfig, Later> = {
  idTokenProjectAudience: true,
  idTokenClientId: true,
  genericRolesClaim: true,
}

/** A configuration in which what is inherited is absent, as before it was stated. */
function withoutInherited({ pkce, groupsClaim, ...oidc }: OidcConfig): OidcConfig {
  return {
    ...oidc,
    ...(pkce && pkce !== "inherited" && { pkce }),
    ...(groupsClaim && groupsClaim !== "unspecified" && { groupsClaim }),
  }
}

/** How requests must come: sent ahead of the browser, signed; with the secret in its place. */
export type RequestRules = {
  readonly pushed: boolean
  readonly signed: boolean
  /** By the registered method alone; absent in rules from before. */
  readonly authMethod?: boolean
}

/** What an application says of its tokens; what it leaves out, its instance says. */
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
  /** The header `typ` of access tokens that are JWTs; absent is `at+jwt`. */
  readonly accessTokenJwtType?: AccessTokenJwtType
}

/** OpenID Connect Front-Channel Logout §2: a page that browsers load at the end of a session. */
export type FrontChannelLogout = { readonly uri: string; readonly sessionRequired: boolean }

export type ApiConfig = {
  readonly authMethod: "basic" | "private_key_jwt"
  /** RFC 8707 §2: URIs that clients call it by; absent is none. */
  readonly resources?: readonly string[]
  /** What clients can request of it beside the standard scopes; absent is none. */
  readonly scopes?: readonly ApiScope[]
}

/** A scope that an API defines (RFC 6749 §3.3), with its name and description for users. */
export type ApiScope = {
  readonly scope: string
  /** Absent: the scope itself is shown. */
  readonly name?: string
  readonly description?: string
}

/** A SAML service provider; see `Metadata`. */
export type SamlConfig = {
  readonly entityId: string
  /** XML, as it came. */
  readonly metadata: string
  /** Where it was fetched; empty where it was sent. */
  readonly metadataUrl: string
  readonly loginVersion: LoginVersion
  /** Whether a requested context that asks for no more than a password is enforced; absent: no. */
  readonly enforceContext?: boolean
  /** Absent: the usual ones, see `usualAttributes`. */
  readonly attributes?: SamlAttributes
}

/** `attributesBy`: the administrator who set the attributes last. */
type StoredSamlConfig = SamlConfig & { readonly attributesBy?: string }

/**
 * Keyed hashes; a secret itself is shown once and never kept. Each event carries those of all that
 * are good after it, so that it can erase what the earlier ones carry. `kept` is by secret id: in
 * the data until when an older one lives on, ms UTC.
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

/** RFC 7517: public members of a key, as its application sent them. */
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
  /** Empty for who is no client: a SAML service provider goes by its entity id. */
  readonly clientId: string
  /** Those that were good after the last change, oldest first; time may have ended some. */
  readonly secrets: readonly AppSecret[]
  /** Expiry by key id, ms UTC. */
  readonly keys: Readonly<Record<string, number>>
  /** Absent where somebody here has entered it. */
  readonly registration?: Registration
  /** Who can use it; absent is everyone whom its project admits. */
  readonly access?: AppAccess
}

/** What there is of an application that registered itself (RFC 7591). Times are ms UTC. */
export type Registration = {
  /** Keyed hash of the token that it is changed with; null where that was erased. */
  readonly hash: string | null
  readonly created: number
  /** When somebody signed in last, to the day; when it was registered where nobody has yet. */
  readonly used: number
  readonly jwks: readonly ClientJwk[]
  /**
   * Raised with each change of the name, of the authentication method and of what the application
   * proves itself with. Consents to an earlier identity are not valid.
   */
  readonly identity: number
  /** The scopes that it registered (RFC 7591 §2), as it sent them; it can request others. */
  readonly scope?: string
}

/** Times are ms UTC; the hash is null where it was erased. */
export type AppSecret = {
  readonly id: string
  readonly hash: string | null
  readonly created: number
  readonly expires: number
}

export type OidcApp = Base & { readonly kind: "oidc"; readonly oidc: OidcConfig }
export type ApiApp = Base & { readonly kind: "api"; readonly api: ApiConfig }

export type SamlApp = Base & { readonly kind: "saml"; readonly saml: StoredSamlConfig }

/** An application between its first event and its configuration, which are one step. */
type Bare = Base & { readonly kind: "none" }

export type App = { readonly status: "absent" | "removed" } | Bare | OidcApp | ApiApp | SamlApp

export const isGone = (state: App): state is Extract<App, { status: "absent" | "removed" }> =>
  state.status === "absent" || state.status === "removed"

/** Whether an application is a client of the authorization server, with a client id. */
export const isClient = (state: App): state is OidcApp | ApiApp =>
  !isGone(state) && (state.kind === "oidc" || state.kind === "api")

/** Whether a client with this method has a secret. */
export const hasSecret = (method: AuthMethod): boolean => method === "basic" || method === "post"

/** How a client proves who it is. */
export const methodOf = (state: OidcApp | ApiApp): AuthMethod =>
  state.kind === "api" ? state.api.authMethod : state.oidc.authMethod

const there = (state: App, change: Partial<Pick<Base, "status" | "name">>): App =>
  isGone(state) ? state : { ...state, ...change }

/** The default access is not stored, so that states from earlier versions remain equal. */
function withAccess(state: App, access: AppAccess): App {
  if (isGone(state)) return state
  const { access: _, ...others } = state
  return isDefaultAccess(access) ? others : { ...others, access }
}

type OfSecret = SecretChanged<string> & { readonly time: number }

/** Each older one that lives on has its hash from the newest event: earlier ones are erased. */
function secretChanged(state: App, { data, private: secret, time }: OfSecret): App {
  if (isGone(state)) return state
  const kept = state.secrets.flatMap(({ id, created }) => {
    const expires = data.kept[id]
    return expires === undefined ? [] : [{ id, hash: secret?.kept[id] ?? null, created, expires }]
  })
  const hash = secret?.hashedSecret ?? null
  const added = { id: data.secretId, hash, created: time, expires: never }
  return { ...state, secrets: [...kept, added] }
}

function secretRemoved(state: App, { data, private: secret }: SecretRemoved<string>): App {
  if (isGone(state)) return state
  const kept = state.secrets.filter(({ id }) => id !== data.secretId)
  return {
    ...state,
    secrets: kept.map((each) => ({ ...each, hash: secret?.kept[each.id] ?? null })),
  }
}

const keyAdded = (state: App, { data }: KeyAdded<string>): App =>
  isGone(state) ? state : { ...state, keys: { ...state.keys, [data.keyId]: data.expires } }

function keyRemoved(state: App, { data }: KeyRemoved<string>): App {
  if (isGone(state)) return state
  const { [data.keyId]: _, ...keys } = state.keys
  return { ...state, keys }
}

const registered = (state: App, change: Partial<Registration>): App =>
  isGone(state) || !state.registration
    ? state
    : { ...state, registration: { ...state.registration, ...change } }

const identified = (state: App): App =>
  registered(state, isGone(state) ? {} : { identity: (state.registration?.identity ?? 0) + 1 })

/** Later than when it was made, however soon that was: what was never used has the same times. */
const usedAt = (time: number, created: number): number => Math.max(time, created + 1)

const authorOf = ({ attributes }: Partial<SamlConfig>, { user }: { readonly user: string }) =>
  attributes && { attributesBy: user }

/** Until now there was one secret at a time, and it had no id. */
const oneSecret: Upcaster = (_, secret) => ({
  data: { secretId: "0", kept: {} },
  private: secret && { ...secret, kept: {} },
})

/** What people sign in to: an OIDC application, an API, a SAML service provider. */
export const app = aggregate<AppEvent, App>({
  stream: "app",
  revision: 4,
  upcasters: {
    "project.application.config.oidc.secret.changed": [oneSecret],
    "project.application.config.api.secret.changed": [oneSecret],
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
      identified(there(state, { name: data.name })),
    "project.application.access.changed": (state, { data }) => withAccess(state, data),
    "project.application.deactivated": (state) => there(state, { status: "inactive" }),
    "project.application.reactivated": (state) => there(state, { status: "active" }),
    "project.application.removed": () => ({ status: "removed" }),
    "project.application.registered": (state, { data, private: secret, time }) => {
      if (isGone(state)) return state
      const hash = secret?.hashedToken ?? null
      const made = { hash, created: time, used: time, identity: 0 }
      return { ...state, registration: { ...made, ...data } }
    },
    "project.application.registration.changed": (state, { data }) =>
      identified(registered(state, data)),
    "project.application.used": (state, { time }) => {
      const created = isGone(state) ? undefined : state.registration?.created
      return created === undefined ? state : registered(state, { used: usedAt(time, created) })
    },
    "project.application.config.oidc.added": (state, { data: { clientId, ...oidc } }) =>
      isGone(state) ? state : { ...state, kind: "oidc", clientId, oidc: { ...earlier, ...oidc } },
    "project.application.config.oidc.changed": (state, { data }) => {
      if (isGone(state) || state.kind !== "oidc") return state
      const oidc = withoutInherited({ ...state.oidc, ...data })
      const changed = { ...state, oidc, secrets: hasSecret(oidc.authMethod) ? state.secrets : [] }
      return oidc.authMethod === state.oidc.authMethod ? changed : identified(changed)
    },
    "project.application.config.oidc.secret.changed": (state, event) =>
      identified(secretChanged(state, event)),
    "project.application.config.oidc.secret.removed": secretRemoved,
    "project.application.oidc.key.added": (state, event) => identified(keyAdded(state, event)),
    "project.application.oidc.key.removed": (state, event) => identified(keyRemoved(state, event)),
    "project.application.config.api.added": (state, { data: { clientId, ...api } }) =>
      isGone(state) ? state : { ...state, kind: "api", clientId, api },
    "project.application.config.api.changed": (state, { data }) => {
      if (isGone(state) || state.kind !== "api") return state
      return { ...state, api: data, secrets: hasSecret(data.authMethod) ? state.secrets : [] }
    },
    "project.application.config.api.secret.changed": secretChanged,
    "project.application.config.api.secret.removed": secretRemoved,
    "project.application.api.key.added": keyAdded,
    "project.application.api.key.removed": keyRemoved,
    "project.application.config.saml.added": (state, { data, editor }) =>
      isGone(state)
        ? state
        : { ...state, kind: "saml", saml: { ...data, ...authorOf(data, editor) } },
    "project.application.config.saml.changed": (state, { data, editor }) =>
      isGone(state) || state.kind !== "saml"
        ? state
        : { ...state, saml: { ...state.saml, ...data, ...authorOf(data, editor) } },
  },
})
