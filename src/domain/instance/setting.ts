/** How an instance makes tokens. Times are seconds. */
export type OidcSettings = {
  readonly accessTokenLifetime: number
  readonly idTokenLifetime: number
  /** A refresh token that nobody uses this long is worth nothing. */
  readonly refreshTokenIdleExpiration: number
  /** However often it is used. */
  readonly refreshTokenExpiration: number
  /** How long the refresh token before the newest is still answered: an answer may get lost. */
  readonly refreshTokenGrace: number
  /** JWS algorithms; a key is active for each. */
  readonly idTokenAlgorithm: string
  readonly accessTokenAlgorithm: string
  readonly keyRotation: KeyRotation
  /** Whether RFC 8414 metadata stands beside the discovery document. */
  readonly serverMetadata: boolean
  /** Whose tokens are noted when they are issued. */
  readonly tokenAudit: TokenAudit
  readonly registration: ClientRegistration
}

/** Scheduled rotation of web keys. Times are seconds. */
export type KeyRotation = {
  readonly enabled: boolean
  /** How long a key signs. */
  readonly periodSeconds: number
  /** How long the next one is published before it does. */
  readonly aheadSeconds: number
}

export type TokenAudit = { readonly people: boolean; readonly machines: boolean }

/** RFC 7591: applications that register themselves. */
export type ClientRegistration = {
  /** `token`: with that of somebody who may create applications in the project. */
  readonly mode: "off" | "token" | "open"
  /** The project that holds them; empty where nobody has said. */
  readonly projectId: string
  /** How long one is kept that nobody signs in to. */
  readonly lifetimeSeconds: number
  readonly applicationsMax: number
  /** Whether an application may be the address of its own description; absent is no. */
  readonly metadataDocuments?: boolean
  /** How long consents are remembered; 0 is not at all. See `consentLifetimeOf` where absent. */
  readonly consentLifetimeSeconds?: number
}

/** What an instance allows that others could misuse. */
export type SecuritySettings = {
  readonly enableIframeEmbedding: boolean
  readonly allowedOrigins: readonly string[]
  readonly enableImpersonation: boolean
}

const hour = 3600
const day = 24 * hour

/** What holds where nobody has said anything. */
export const standardOidc: OidcSettings = {
  accessTokenLifetime: 12 * hour,
  idTokenLifetime: 12 * hour,
  refreshTokenIdleExpiration: 30 * day,
  refreshTokenExpiration: 90 * day,
  refreshTokenGrace: 10,
  idTokenAlgorithm: "RS256",
  accessTokenAlgorithm: "ES256",
  keyRotation: { enabled: true, periodSeconds: 90 * day, aheadSeconds: 7 * day },
  serverMetadata: false,
  tokenAudit: { people: true, machines: false },
  registration: {
    mode: "off",
    projectId: "",
    lifetimeSeconds: 30 * day,
    applicationsMax: 1000,
  },
}

/** Whether no application can come in that nobody here has entered. */
export const isRegistrationOff = ({ mode, metadataDocuments }: ClientRegistration): boolean =>
  mode === "off" && metadataDocuments !== true

/**
 * How long consents are remembered, in seconds. Where applications could register themselves before
 * there was a setting, users are asked each time as they were then.
 */
export const consentLifetimeOf = (registration: ClientRegistration): number =>
  registration.consentLifetimeSeconds ?? (isRegistrationOff(registration) ? 30 * day : 0)

/** Seconds, for new instances: some validators refuse ID tokens that are valid for over 5 h. */
export const newIdTokenLifetime = hour

export const standardSecurity: SecuritySettings = {
  enableIframeEmbedding: false,
  allowedOrigins: [],
  enableImpersonation: false,
}
