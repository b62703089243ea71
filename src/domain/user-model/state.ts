import type { AccessTokenJwtType } from "../key/index.ts"
import type { Channel } from "../message-provider/index.ts"
import type { Origin, WithOrigins } from "./origins.ts"
import type { VerifiedBy } from "./verifier.ts"

// The state of a user. The reducers for its parts are in separate files, joined by model.ts.

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

/** Opaque tokens by default; service accounts can get JWTs instead. */
export type AccessTokenType = "bearer" | "jwt"

/**
 * Format of JWT access tokens of a service account. An absent type means `at+jwt`; an absent
 * algorithm means that of the instance.
 */
export type JwtFormat = {
  readonly jwtType?: AccessTokenJwtType | undefined
  readonly jwtAlgorithm?: string | undefined
}

/**
 * The user name and the login names claimed for it: the name alone. Older users also claim it with
 * the organization's domain, which no longer has an effect.
 */
export type LoginNames = {
  readonly userName: string
  readonly loginNames: readonly string[]
  /** Previous names after a rename, which no one else can get. */
  readonly reservedNames?: readonly string[]
}

/**
 * A sealed code; `expires` is ms UTC. `verifier`: who verifies the address with it, if not always
 * the user.
 */
export type Code = {
  readonly sealed: string
  readonly expires: number
} & VerifiedBy

/** A code for a new password, with its delivery. */
export type PasswordCode = Code & {
  readonly channel: Channel
  readonly returned: boolean
}

/** Options of an invitation email: a custom link and the application. */
export type InviteMail = {
  readonly urlTemplate: string
  readonly applicationName: string
  /** Whether the inviter has a permission on the instance. */
  readonly isOfInstance?: boolean
}

/** `earlier`: hashes of previous passwords, newest first; omitted if none are stored. */
export type Hashes = { readonly hash: string; readonly earlier?: readonly string[] }

export type Email = VerifiedBy & {
  readonly address: string
  readonly verified: boolean
  /** When the user verified the address, ms UTC; absent if not stored. */
  readonly proven?: number
  /** Whether another user has verified the address since. */
  readonly isSuperseded?: boolean
}

export type Phone = VerifiedBy & { readonly number: string; readonly verified: boolean }

/** Kinds of codes that can be returned to the caller. */
export type ReturnedCode = "email" | "phone" | "invite"

/** The identifying data of a key; IDs and the public key (COSE) are base64url. */
export type KeySecret = {
  readonly name: string
  readonly credentialId: string
  readonly publicKey: string
  readonly transports: readonly string[]
}

/** A passkey is sufficient to sign in; a security key is a second factor. */
export type KeyKind = "passkey" | "u2f"

/** A key that is being registered, or a registered one. */
export type WebAuthnKey = { readonly kind: KeyKind; readonly rpId: string } & (
  | {
      readonly state: "pending"
      /** Empty once it was erased. */
      readonly challenge: string
      /** When the registration began, ms UTC. */
      readonly begun: number
      /** The registration link that will be consumed. */
      readonly codeId?: string | undefined
      /** Who began the registration or could read the link, if not the user. */
      readonly origin?: Origin
    }
  | ({
      readonly state: "ready"
      readonly aaguid: string
      readonly signCount: number
      /** ms UTC. */
      readonly created: number
      /** Last sign-in, ms UTC, accurate to the hour; absent if never used. */
      readonly used?: number
    } & KeySecret)
)

export type ReadyKey = Extract<WebAuthnKey, { state: "ready" }>

export type Factors = {
  /** The sealed secret of an authenticator app; active after a code was verified. */
  readonly totp?: { readonly sealed: string; readonly verified: boolean } | undefined
  readonly otpEmail: boolean
  readonly otpSms: boolean
  /** By token ID. */
  readonly keys: Readonly<Record<string, WebAuthnKey>>
  /** Hashes by position in the displayed list; empty once used. */
  readonly recoveryCodes: readonly string[]
  /** When the user last postponed setting up a factor, ms UTC. */
  readonly skipped: number
  /** A single-use link or code to register a passkey. */
  readonly link?:
    | { readonly codeId: string; readonly sealed: string; readonly expires: number }
    | undefined
  /** Stream version of the last removal of a factor; earlier sign-ins are invalid. */
  readonly removedIn: number
  /** The session in which it was removed, and the `removedIn` that applies to this session. */
  readonly kept?: { readonly sessionId: string; readonly removedIn: number } | undefined
}

/** An external account of a user at an identity provider. */
export type IdpLink = {
  readonly linkId: string
  readonly idpId: string
  readonly authority: string
  /** The stable user ID at the provider. */
  readonly externalId: string
  /** The display name at the provider. */
  readonly name: string
  /** ms UTC. */
  readonly added: number
}

export type UserStatus = "active" | "inactive" | "locked"

type UserBase = LoginNames &
  WithOrigins & {
    readonly status: UserStatus
    /** When the user last changed, ms UTC; requested codes don't count. */
    readonly changed: number
    /** Stream version of the last lock or deactivation; absent if never. */
    readonly stoppedIn?: number
    /**
     * The users who locked or deactivated the user since the user was last active; absent if none.
     */
    readonly stoppers?: readonly string[]
  }

export type Human = UserBase & {
  readonly kind: "human"
  readonly profile: Profile
  readonly email: Email
  readonly emailCode: Code | null
  readonly phone: Phone | null
  readonly phoneCode: Code | null
  readonly password: Password | null
  /** Set while the user can choose a new password with it. */
  readonly passwordCode?: PasswordCode | undefined
  /** Set while the user is invited and can't sign in yet. */
  readonly invite?: (Code & InviteMail) | undefined
  /** Absent if no factor was ever set up. */
  readonly factors?: Factors
  /** External accounts; absent if there never were any. */
  readonly links?: readonly IdpLink[]
  /** Name of the avatar file, if there is one. */
  readonly avatar?: string | undefined
  /** Kinds of codes whose latest was returned to a caller, or read by one in its message. */
  readonly returnedCodes?: readonly ReturnedCode[]
}

/** `version` is the stream version at which it was set; sign-ins with an older one are invalid. */
export type Password = Hashes & {
  readonly changeRequired: boolean
  readonly changed: number
  readonly version: number
}

export type Machine = UserBase & {
  readonly kind: "machine"
  readonly name: string
  readonly description: string
  readonly accessTokenType: AccessTokenType
  readonly jwtType?: JwtFormat["jwtType"]
  readonly jwtAlgorithm?: string | undefined
  /** Expiration by key ID, ms UTC. */
  readonly keys: Readonly<Record<string, number>>
  readonly secret: MachineSecret | null
  /** By token ID. */
  readonly personalTokens: Readonly<Record<string, PersonalToken & { readonly created: number }>>
}

/** A personal access token; `expires` is ms UTC. */
export type PersonalToken = { readonly expires: number; readonly scopes: readonly string[] }

/** The client secret of a service account; only a keyed hash is stored. */
export type MachineSecret = { readonly id: string; readonly hash: string }

export type User = { readonly status: "absent" | "removed" } | Human | Machine

export const isAbsent = (state: User): state is Exclude<User, Human | Machine> =>
  state.status === "absent" || state.status === "removed"
