/** The OIDC settings of an instance. Times are in seconds. */
export type OidcSettings = {
  readonly accessTokenLifetime: number
  readonly idTokenLifetime: number
  /** A refresh token expires if it is not used for this long. */
  readonly refreshTokenIdleExpiration: number
  /** A refresh token expires after this time even if it is used. */
  readonly refreshTokenExpiration: number
  /** How long the previous refresh token is still accepted, in case a response was lost. */
  readonly refreshTokenGrace: number
  /** JWS algorithms, each with an active key. */
  readonly idTokenAlgorithm: string
  readonly accessTokenAlgorithm: string
  readonly keyRotation: KeyRotation
  /** Whether RFC 8414 metadata is served in addition to the discovery document. */
  readonly serverMetadata: boolean
  /** The users whose issued tokens are recorded in the audit log. */
  readonly tokenAudit: TokenAudit
  readonly registration: ClientRegistration
}

/** Scheduled rotation of web keys. Times are in seconds. */
export type KeyRotation = {
  readonly enabled: boolean
  /** How long a key signs. */
  readonly periodSeconds: number
  /** How long the next key is published before it signs. */
  readonly aheadSeconds: number
}

export type TokenAudit = { readonly people: boolean; readonly machines: boolean }

/** RFC 7591: dynamic client registration. */
export type ClientRegistration = {
  /** `token`: requires an access token of a user who can create applications in the project. */
  readonly mode: "off" | "token" | "open"
  /** The project of the registered applications; empty if not set. */
  readonly projectId: string
  /** How long an application is kept without sign-ins. */
  readonly lifetimeSeconds: number
  readonly applicationsMax: number
  /**
   * Whether the client ID of an application can be the URL of its metadata document; absent means
   * no.
   */
  readonly metadataDocuments?: boolean
  /** How long consents are remembered; 0 means not at all. If absent, see `consentLifetimeOf`. */
  readonly consentLifetimeSeconds?: number
}

/** Security settings of an instance. */
export type SecuritySettings = {
  readonly enableIframeEmbedding: boolean
  readonly allowedOrigins: readonly string[]
  readonly enableImpersonation: boolean
}

const hour = 3600
const day = 24 * hour

/** The default settings. */
export const defaultOidcSettings: OidcSettings = {
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

/** Whether only administrators can create applications. */
export const isRegistrationOff = ({ mode, metadataDocuments }: ClientRegistration): boolean =>
  mode === "off" && metadataDocuments !== true

/**
 * How long consents are remembered, in seconds. In older instances with self-registered
 * applications, users are asked every time, as before.
 */
export const consentLifetimeOf = (registration: ClientRegistration): number =>
  registration.consentLifetimeSeconds ?? (isRegistrationOff(registration) ? 30 * day : 0)

/**
 * In seconds, for new instances: some validators reject ID tokens that are valid for more than 5 h.
 */
export const newIdTokenLifetime = hour

export const defaultSecuritySettings: SecuritySettings = {
  enableIframeEmbedding: false,
  allowedOrigins: [],
  enableImpersonation: false,
}
