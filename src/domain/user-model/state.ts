import type { AccessTokenJwtType } from "../key/index.ts"
import type { Channel } from "../message-provider/index.ts"
import type { Origin, WithOrigins } from "./origins.ts"
import type { VerifiedBy } from "./verifier.ts"

// The state of a user. What folds events into its parts is in files of their own, and model.ts
// joins them.

export const genders = ["unspecified", "female", "male", "diverse"] as const
export type Gender = (typeof genders)[number]

export type Profile = {
  readonly givenName: string
  readonly familyName: string
  readonly nickName: string
  readonly displayName: string
  readonly preferredLanguage: string
  readonly gender: Gender
}

/** Opaque tokens by default; a service user may be given JWTs instead. */
export type AccessTokenType = "bearer" | "jwt"

/**
 * How the access tokens of a service user are written where they are JWTs. An absent type is
 * `at+jwt`; an absent algorithm is that of the instance.
 */
export type JwtFormat = {
  readonly jwtType?: AccessTokenJwtType | undefined
  readonly jwtAlgorithm?: string | undefined
}

/**
 * What a user signs in with, and every form of it that is taken for them: the name alone. Users of
 * old also hold it with the domain of their organisation, which counts no more.
 */
export type LoginNames = {
  readonly userName: string
  readonly loginNames: readonly string[]
  /** Names that the user left by a rename, which nobody else gets. */
  readonly reservedNames?: readonly string[]
}

/** A code, sealed; `expires` is ms UTC. `verifier`: of an address, if not always the user. */
export type Code = {
  readonly sealed: string
  readonly expires: number
} & VerifiedBy

/** A code for a new password, and whether the way that it went shows who reads it there. */
export type PasswordCode = Code & {
  readonly channel: Channel
  readonly returned: boolean
}

/** What the mail of an invitation says: a link instead of ours, and what one is invited to. */
export type InviteMail = {
  readonly urlTemplate: string
  readonly applicationName: string
  /** Whether somebody with a permission on the instance invites. */
  readonly isOfInstance?: boolean
}

/** `earlier`: of the passwords before, the last first; left out where none are kept. */
export type Hashes = { readonly hash: string; readonly earlier?: readonly string[] }

export type Email = VerifiedBy & {
  readonly address: string
  readonly verified: boolean
  /** When the user proved that it is theirs, ms UTC; absent where that was not stored. */
  readonly proven?: number
  /** Whether somebody else has proven since that it is theirs. */
  readonly isSuperseded?: boolean
}

export type Phone = VerifiedBy & { readonly number: string; readonly verified: boolean }

/** Codes that may be returned to whoever requested them. */
export type ReturnedCode = "email" | "phone" | "invite"

/** What tells one key from all others; ids and the public key (COSE) are base64url. */
export type KeySecret = {
  readonly name: string
  readonly credentialId: string
  readonly publicKey: string
  readonly transports: readonly string[]
}

/** A passkey opens an account by itself; a security key is asked for after a password. */
export type KeyKind = "passkey" | "u2f"

/** A key that is being registered, or that counts from then on. */
export type WebAuthnKey = { readonly kind: KeyKind; readonly rpId: string } & (
  | {
      readonly state: "pending"
      /** Empty once it was erased. */
      readonly challenge: string
      /** When the registration began, ms UTC. */
      readonly begun: number
      /** Of the link that it uses up. */
      readonly codeId?: string | undefined
      /** Who began it or could read that link, where it was somebody else. */
      readonly origin?: Origin
    }
  | ({
      readonly state: "ready"
      readonly aaguid: string
      readonly signCount: number
      /** ms UTC. */
      readonly created: number
      /** When it last signed in, ms UTC, to within an hour; absent where it has not yet. */
      readonly used?: number
    } & KeySecret)
)

export type ReadyKey = Extract<WebAuthnKey, { state: "ready" }>

export type Factors = {
  /** The secret of an authenticator app, sealed; it counts once a code of it was shown. */
  readonly totp?: { readonly sealed: string; readonly verified: boolean } | undefined
  readonly otpEmail: boolean
  readonly otpSms: boolean
  /** By token id. */
  readonly keys: Readonly<Record<string, WebAuthnKey>>
  /** Hashes by their place in the list that was shown; empty where one was used. */
  readonly recoveryCodes: readonly string[]
  /** When they last put off to set one up, ms UTC. */
  readonly skipped: number
  /** A link or code with which they may register a passkey, once. */
  readonly link?:
    | { readonly codeId: string; readonly sealed: string; readonly expires: number }
    | undefined
  /** Version of the stream when one was last taken away; what signed in before is over. */
  readonly removedIn: number
  /** The session that took it away, and `removedIn` as it still applies to that session. */
  readonly kept?: { readonly sessionId: string; readonly removedIn: number } | undefined
}

/** An account that a person has at an identity provider. */
export type IdpLink = {
  readonly linkId: string
  readonly idpId: string
  readonly authority: string
  /** Of the person there; it never changes. */
  readonly externalId: string
  /** What the person is called there. */
  readonly name: string
  /** ms UTC. */
  readonly added: number
}

export type UserStatus = "active" | "inactive" | "locked"

type Identity = LoginNames &
  WithOrigins & {
    readonly status: UserStatus
    /** When anything about the user last changed, ms UTC; asking for a code changes nothing. */
    readonly changed: number
    /** Version of the stream when they were last locked or deactivated; absent where never. */
    readonly stoppedIn?: number
    /** The users who locked or deactivated them since they were last active; absent where none. */
    readonly stoppers?: readonly string[]
  }

export type Human = Identity & {
  readonly kind: "human"
  readonly profile: Profile
  readonly email: Email
  readonly emailCode: Code | null
  readonly phone: Phone | null
  readonly phoneCode: Code | null
  readonly password: Password | null
  /** While somebody may choose a new one by it. */
  readonly passwordCode?: PasswordCode | undefined
  /** While somebody who can't sign in yet is invited to. */
  readonly invite?: (Code & InviteMail) | undefined
  /** Absent where nothing was ever set up. */
  readonly factors?: Factors
  /** What they sign in with elsewhere; absent where they never did. */
  readonly links?: readonly IdpLink[]
  /** The name of a picture of them, where there is one. */
  readonly avatar?: string | undefined
  /** Codes whose last one was returned to a caller, or viewed by one in its message. */
  readonly returnedCodes?: readonly ReturnedCode[]
}

/** `version` is that of the stream when it was set: what signed in with an older one is over. */
export type Password = Hashes & {
  readonly changeRequired: boolean
  readonly changed: number
  readonly version: number
}

export type Machine = Identity & {
  readonly kind: "machine"
  readonly name: string
  readonly description: string
  readonly accessTokenType: AccessTokenType
  readonly jwtType?: JwtFormat["jwtType"]
  readonly jwtAlgorithm?: string | undefined
  /** Expiry by key id, ms UTC. */
  readonly keys: Readonly<Record<string, number>>
  readonly secret: MachineSecret | null
  /** By token id. */
  readonly personalTokens: Readonly<Record<string, PersonalToken & { readonly created: number }>>
}

/** What a service user may use as it is; `expires` is ms UTC. */
export type PersonalToken = { readonly expires: number; readonly scopes: readonly string[] }

/** What a service user shows as a client; only a keyed hash of it is kept. */
export type MachineSecret = { readonly id: string; readonly hash: string }

export type User = { readonly status: "absent" | "removed" } | Human | Machine

export const hasLeft = (state: User): state is Exclude<User, Human | Machine> =>
  state.status === "absent" || state.status === "removed"
