import { aggregate, type Event } from "../../store/index.ts"

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
  readonly clockSkewSeconds: number
  readonly accessTokenRoleAssertion: boolean
  readonly idTokenRoleAssertion: boolean
  readonly idTokenUserinfoAssertion: boolean
  readonly additionalOrigins: readonly string[]
  readonly skipNativeAppSuccessPage: boolean
  readonly backChannelLogoutUri: string
  readonly loginVersion: LoginVersion
}

export type ApiConfig = { readonly authMethod: "basic" | "private_key_jwt" }

/** A keyed hash; the secret itself is shown once and never kept. */
type Secret = { readonly hashedSecret: string }

export type AppEvent =
  | Event<"project.application.added", { readonly projectId: string; readonly name: string }>
  | Event<"project.application.changed", { readonly name: string }>
  | Event<"project.application.deactivated">
  | Event<"project.application.reactivated">
  | Event<"project.application.removed">
  | Event<"project.application.config.oidc.added", OidcConfig & { readonly clientId: string }>
  | Event<"project.application.config.oidc.changed", Partial<OidcConfig>>
  | Event<"project.application.config.oidc.secret.changed", Record<never, never>, Secret>
  | Event<"project.application.config.api.added", ApiConfig & { readonly clientId: string }>
  | Event<"project.application.config.api.changed", ApiConfig>
  | Event<"project.application.config.api.secret.changed", Record<never, never>, Secret>

export type AppStatus = "active" | "inactive"

type Base = {
  readonly status: AppStatus
  readonly projectId: string
  readonly name: string
  readonly clientId: string
  /** Null where the client has no secret. */
  readonly secretHash: string | null
}
export type OidcApp = Base & { readonly kind: "oidc"; readonly oidc: OidcConfig }
export type ApiApp = Base & { readonly kind: "api"; readonly api: ApiConfig }

/** An application between its first event and its configuration, which are one step. */
type Bare = Base & { readonly kind: "none" }

export type App = { readonly status: "absent" | "removed" } | Bare | OidcApp | ApiApp

export const isGone = (state: App): state is Extract<App, { status: "absent" | "removed" }> =>
  state.status === "absent" || state.status === "removed"

/** Whether a client with this method has a secret. */
export const hasSecret = (method: AuthMethod): boolean => method === "basic" || method === "post"

const there = (state: App, change: Partial<Pick<Base, "status" | "name" | "secretHash">>): App =>
  isGone(state) ? state : { ...state, ...change }

/** A client of the instance: an OIDC application or an API. */
export const app = aggregate<AppEvent, App>({
  stream: "app",
  initial: { status: "absent" },
  evolve: {
    "project.application.added": (_, { data: { projectId, name } }) => ({
      kind: "none",
      status: "active",
      projectId,
      name,
      clientId: "",
      secretHash: null,
    }),
    "project.application.changed": (state, { data }) => there(state, { name: data.name }),
    "project.application.deactivated": (state) => there(state, { status: "inactive" }),
    "project.application.reactivated": (state) => there(state, { status: "active" }),
    "project.application.removed": () => ({ status: "removed" }),
    "project.application.config.oidc.added": (state, { data: { clientId, ...oidc } }) =>
      isGone(state) ? state : { ...state, kind: "oidc", clientId, oidc },
    "project.application.config.oidc.changed": (state, { data }) => {
      if (isGone(state) || state.kind !== "oidc") return state
      const oidc = { ...state.oidc, ...data }
      return { ...state, oidc, secretHash: hasSecret(oidc.authMethod) ? state.secretHash : null }
    },
    "project.application.config.oidc.secret.changed": (state, { private: secret }) =>
      there(state, { secretHash: secret?.hashedSecret ?? null }),
    "project.application.config.api.added": (state, { data: { clientId, ...api } }) =>
      isGone(state) ? state : { ...state, kind: "api", clientId, api },
    "project.application.config.api.changed": (state, { data }) => {
      if (isGone(state) || state.kind !== "api") return state
      const secretHash = hasSecret(data.authMethod) ? state.secretHash : null
      return { ...state, api: data, secretHash }
    },
    "project.application.config.api.secret.changed": (state, { private: secret }) =>
      there(state, { secretHash: secret?.hashedSecret ?? null }),
  },
})
