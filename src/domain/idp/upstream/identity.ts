import { Fault } from "../../../kernel/fault.ts"

/** Somebody as an identity provider tells of them; what it doesn't say is empty. */
export type Identity = {
  /** What never changes and is nobody else's there. */
  readonly externalId: string
  readonly userName: string
  readonly givenName: string
  readonly familyName: string
  /** Whether these two are guessed from the display name, and must not replace any others. */
  readonly isNameDivided?: boolean
  readonly displayName: string
  readonly nickName: string
  readonly email: string
  /** Whether the provider says that the person reads what goes there. */
  readonly emailVerified: boolean
  readonly phone: string
  readonly phoneVerified: boolean
  readonly preferredLanguage: string
}

/** What scripts of an organisation have made of what a provider said. */
export type Scripted = {
  readonly orgId: string
  /** Whom they were asked about; empty for somebody whom nobody knew here. */
  readonly userId: string
  /** What the provider itself has said. */
  readonly said: Identity
  /** What they note about the person: keys, and JSON. */
  readonly metadata: readonly (readonly [key: string, json: string])[]
}

/** What a provider that speaks SAML calls somebody, and their session there; empty for none. */
export type UpstreamSession = {
  readonly value: string
  readonly format: string
  readonly nameQualifier: string
  readonly spNameQualifier: string
  readonly sessionIndex: string
}

/** All that came from a provider: who it is, as it said so, and its tokens. */
export type Answer = {
  readonly identity: Identity
  readonly raw: Readonly<Record<string, unknown>>
  readonly accessToken: string
  readonly idToken: string
  /** As it was signed, in XML; absent where the provider doesn't speak SAML, as is `upstream`. */
  readonly assertion?: string
  readonly upstream?: UpstreamSession
  /** When the provider says that the user signed in there, ms UTC; absent where it does not. */
  readonly authenticatedAt?: number
  /** Absent where no script was asked. */
  readonly scripted?: Scripted
}

/**
 * The same with who has said it; see `authorityOfIdp`. Whoever may set a provider up could else
 * have a service of their own answer, and turn the provider back before the answer is used.
 */
export type Answered = Answer & {
  readonly authority: string
  /** ms UTC; absent in answers that an older version stored. */
  readonly answeredAt?: number
}

/** The same as the provider has said it, whatever scripts have made of it. */
export const unscripted = ({ scripted, ...answered }: Answered): Answered => ({
  ...answered,
  identity: scripted?.said ?? answered.identity,
})

/** What can go wrong at a provider; the last part of the id of the fault. */
export type Trouble = "cancelled" | "unreachable" | "answer_refused" | "claims_missing"

/** A provider that did not do what it should; `cause` is for the log alone. */
export const upstreamError = (trouble: Trouble, cause?: unknown): Fault =>
  new Fault(codes[trouble], `idp.${trouble}`, messages[trouble], { cause })

const codes = {
  cancelled: "canceled",
  unreachable: "unavailable",
  answer_refused: "failed_precondition",
  claims_missing: "failed_precondition",
} as const

const messages: Readonly<Record<Trouble, string>> = {
  cancelled: "the person has not allowed it at the provider; start again if they want to",
  unreachable: "the provider does not answer; try again later",
  answer_refused: "the provider's answer is not one that it may give; check how it is set up",
  claims_missing: "the provider does not say who it is; allow what its scopes ask for",
}
