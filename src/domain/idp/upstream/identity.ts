import { Fault } from "../../../kernel/fault.ts"

/** A user as the identity provider describes them; missing fields are empty. */
export type Identity = {
  /** The stable, unique user ID at the provider. */
  readonly externalId: string
  readonly userName: string
  readonly givenName: string
  readonly familyName: string
  /**
   * Whether given and family name were guessed from the display name; they never replace other
   * names.
   */
  readonly isNameDivided?: boolean
  readonly displayName: string
  readonly nickName: string
  readonly email: string
  /** Whether the provider states that the user owns the email address. */
  readonly emailVerified: boolean
  readonly phone: string
  readonly phoneVerified: boolean
  readonly preferredLanguage: string
}

/** The result of an organization's scripts that transform an identity. */
export type ScriptResult = {
  readonly orgId: string
  /** The user the scripts ran for; empty if no local user was known. */
  readonly userId: string
  /** The identity before the scripts ran. */
  readonly said: Identity
  /** Metadata that the scripts set: keys and JSON values. */
  readonly metadata: readonly (readonly [key: string, json: string])[]
}

/** The SAML name ID and session index; empty values if none. */
export type UpstreamSession = {
  readonly value: string
  readonly format: string
  readonly nameQualifier: string
  readonly spNameQualifier: string
  readonly sessionIndex: string
}

/** The complete answer of a provider: identity, raw profile and tokens. */
export type ProviderAnswer = {
  readonly identity: Identity
  readonly raw: Readonly<Record<string, unknown>>
  readonly accessToken: string
  readonly idToken: string
  /** The signed assertion in XML; absent for other protocols, like `upstream`. */
  readonly assertion?: string
  readonly upstream?: UpstreamSession
  /** When the user signed in at the provider, as it states, ms UTC; absent if not stated. */
  readonly authenticatedAt?: number
  /** Absent if no script ran. */
  readonly scripted?: ScriptResult
}

/**
 * An answer with the authority that gave it; see `findAuthority`. Otherwise an administrator could
 * reconfigure the provider to get an answer from their own service, and revert it before the answer
 * is used.
 */
export type AuthenticatedAnswer = ProviderAnswer & {
  readonly authority: string
  /** ms UTC; absent in answers stored by an older version. */
  readonly answeredAt?: number
}

/** The answer with the original identity, before scripts ran. */
export const withoutScripts = ({
  scripted,
  ...answer
}: AuthenticatedAnswer): AuthenticatedAnswer => ({
  ...answer,
  identity: scripted?.said ?? answer.identity,
})

/** Failures at a provider; the last part of the fault ID. */
export type UpstreamFailure = "cancelled" | "unreachable" | "answer_refused" | "claims_missing"

/** The fault for a failure at a provider; `cause` is only logged. */
export const upstreamError = (trouble: UpstreamFailure, cause?: unknown): Fault =>
  new Fault(faultCodes[trouble], `idp.${trouble}`, messages[trouble], { cause })

const faultCodes = {
  cancelled: "canceled",
  unreachable: "unavailable",
  answer_refused: "failed_precondition",
  claims_missing: "failed_precondition",
} as const

const messages: Readonly<Record<UpstreamFailure, string>> = {
  cancelled: "the sign-in was canceled at the identity provider; start again",
  unreachable: "the identity provider does not respond; try again later",
  answer_refused: "the response of the identity provider is invalid; check its configuration",
  claims_missing: "the identity provider returned no user ID; check the allowed scopes",
}
