import { aggregate, type Event, streamPartByKey } from "../../store/index.ts"
import type { Binding, Hash, NameIdFormat } from "../../xml/names.ts"
import { authorsAfter, type PartialUpdate } from "../policy/index.ts"

/** The client ID of an OAuth client and the scopes it requests. */
type Client = { readonly clientId: string; readonly scopes: readonly string[] }

/** Authorization, token and profile endpoints (RFC 6749). */
type Endpoints = {
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly userEndpoint: string
}

/** Attribute names of a directory for the fields of a profile; empty if it has none. */
export type DirectoryAttributes = {
  readonly id: string
  readonly givenName: string
  readonly familyName: string
  readonly displayName: string
  readonly nickName: string
  readonly userName: string
  readonly email: string
  readonly emailVerified: string
  readonly phone: string
  readonly phoneVerified: string
  readonly preferredLanguage: string
  readonly avatarUrl: string
  readonly profile: string
}

/** Settings of a provider by kind, without the secret; the kind is part of the event type. */
export type Settings =
  | ({
      readonly kind: "oauth"
      /** The profile field with the user ID, which must never change. */
      readonly idAttribute: string
      readonly usePkce: boolean
    } & Client &
      Endpoints)
  | ({
      readonly kind: "oidc"
      readonly issuer: string
      /**
       * Whether the ID token contains the whole profile, so the UserInfo endpoint is not called.
       */
      readonly isIdTokenMapping: boolean
      readonly usePkce: boolean
    } & Client)
  | {
      readonly kind: "jwt"
      readonly issuer: string
      readonly jwtEndpoint: string
      readonly keysEndpoint: string
      readonly headerName: string
    }
  | ({
      readonly kind: "azure"
      /** The ID of a directory, or "common", "organizations" or "consumers". */
      readonly tenant: string
      readonly emailVerified: boolean
    } & Client)
  | ({ readonly kind: "github" | "gitlab" | "google" } & Client)
  | ({ readonly kind: "github_enterprise" } & Client & Endpoints)
  | ({ readonly kind: "gitlab_self_hosted"; readonly issuer: string } & Client)
  | {
      readonly kind: "ldap"
      /** URLs that begin with ldap:// or ldaps://, tried in this order. */
      readonly servers: readonly string[]
      readonly startTls: boolean
      /** PEM certificates of the CA for the servers; empty for public CAs. */
      readonly rootCa: string
      readonly baseDn: string
      readonly bindDn: string
      /** The attribute with the name that users bind with, or "dn". */
      readonly userBase: string
      /** Object classes that an entry must all have. */
      readonly userObjectClasses: readonly string[]
      /** Attributes that are compared with the typed name; one must match. */
      readonly userFilters: readonly string[]
      /** Timeout per server. */
      readonly timeoutMs: number
      readonly attributes: DirectoryAttributes
    }
  | {
      readonly kind: "saml"
      /** The entity ID in the metadata (SAML Core §8.3.6). */
      readonly entityId: string
      /**
       * Part of the authority, besides the entity ID: the metadata URL, or a key of metadata that
       * were sent. It is kept while keys are rotated.
       */
      readonly anchor: string
      /** URL from which the metadata are refreshed; empty if they were sent. */
      readonly metadataUrl: string
      readonly binding: Binding
      readonly withSignedRequest: boolean
      /** The hash for signatures of requests. */
      readonly hash: Hash
      /** The requested format of name IDs. */
      readonly nameIdFormat: NameIdFormat
      /** The attribute that identifies users whose name ID is transient. */
      readonly transientAttribute: string
      /** Whether signing out here also signs the user out at the provider. */
      readonly federatedLogout: boolean
    }
  | ({ readonly kind: "apple"; readonly teamId: string; readonly keyId: string } & Client)

export type IdpKind = Settings["kind"]

/** How an unlinked local account is found. */
export type AutoLinking = "off" | "username" | "email"

/** What is allowed after a sign-in with a provider. */
export type Options = {
  readonly isLinkingAllowed: boolean
  readonly isCreationAllowed: boolean
  /** Whether accounts are created without confirmation. */
  readonly isAutoCreation: boolean
  /** Whether each sign-in updates the profile. */
  readonly isAutoUpdate: boolean
  readonly autoLinking: AutoLinking
  /**
   * Whether an answer without a sign-in time counts as fresh; only for providers of the instance.
   * Absent means no.
   */
  readonly acceptAsFresh?: boolean
  /** Whether the `acr_values` of an application are forwarded; absent means no. */
  readonly forwardAcrValues?: boolean
  /**
   * Whether addresses that the provider verified count as verified for every organization; only for
   * providers of the instance.
   */
  readonly isTrustedForAddresses?: boolean
  /**
   * Domains of verified email addresses for which accounts can be created, as A-labels; absent
   * means any domain, also unverified.
   */
  readonly allowedDomains?: readonly string[]
  /** Whether an ID token without a nonce is accepted; absent means no. */
  readonly acceptMissingNonce?: boolean
  /** Whether an ID token for several audiences is accepted without azp; absent means no. */
  readonly acceptOtherAudiences?: boolean
  /**
   * Whether the SAML metadata of this server contain an encryption key. Absent means yes, because
   * earlier versions always published one.
   */
  readonly encryptAssertions?: boolean
  /** Whether email addresses of a directory count as verified; absent means no. */
  readonly trustDirectoryAddresses?: boolean
}

/** The settings of a provider without the secret. */
export type IdpConfig = {
  readonly name: string
  readonly settings: Settings
  readonly options: Options
}

export type Idp = IdpConfig & {
  readonly id: string
  /** Version of the owner's stream at the last change. */
  readonly version: number
  /** ms UTC, like `changed`. */
  readonly created: number
  readonly changed: number
  /** The users who set the current values; none for the operator or if unrecorded. */
  readonly authors: readonly string[]
}

type Level = "instance" | "org"
type IdOnly = { readonly id: string }

/** The user who made the change; absent in older events. */
type Authored = { readonly author?: string }

type ConfigEventType = `${Level}.idp.${IdpKind}.${"added" | "changed"}`
type MigratedEventType = `${Level}.idp.oidc.migrated.${"azure" | "google"}`
type LinkEventType = `${Level}.policy.login.idpprovider.${"added" | "removed" | "cascade.removed"}`
type RemovedEventType = `${Level}.idp.removed`

export type IdpEvent =
  | { [Type in ConfigEventType | MigratedEventType]: Event<Type, ProviderEventData> }[
      | ConfigEventType
      | MigratedEventType]
  | { [Type in RemovedEventType]: Event<Type, IdOnly> }[RemovedEventType]
  | { [Type in LinkEventType]: Event<Type, { readonly idpId: string } & Authored> }[LinkEventType]

/** The providers of one owner by ID, and the linked ones in order. */
export type Idps = {
  readonly all: Readonly<Record<string, Idp>>
  readonly links: readonly string[]
  /** Who last changed the links; absent if unrecorded. */
  readonly linksAuthor?: string
}

type EventInput<Data> = {
  readonly data: Data
  readonly time: number
  readonly version: number
}

type ProviderEventData = IdOnly & IdpConfig & Authored & PartialUpdate

/**
 * Only the payload provides the author, not the event's editor: providers from before authors were
 * recorded keep applying to everyone until the next change.
 */
function applyConfig(state: Idps, { data, time, version }: EventInput<ProviderEventData>): Idps {
  const { author = "", isPartial, ...rest } = data
  const before = state.all[data.id]
  const authors = authorsAfter(before?.authors ?? [], author, { isPartial })
  const stand = { version, created: before?.created ?? time, changed: time, authors }
  return { ...state, all: { ...state.all, [data.id]: { ...rest, ...stand } } }
}

function applyRemoved(state: Idps, { data }: EventInput<IdOnly>): Idps {
  const { [data.id]: _, ...all } = state.all
  return { ...state, all, links: state.links.filter((id) => id !== data.id) }
}

type LinkEvent = EventInput<{ readonly idpId: string } & Authored>

const applyLinked = (state: Idps, { data }: LinkEvent): Idps =>
  withLinks(state, data, [...state.links, data.idpId])

const applyUnlinked = (state: Idps, { data }: LinkEvent): Idps =>
  withLinks(
    state,
    data,
    state.links.filter((id) => id !== data.idpId),
  )

/** A list without an author applies to everyone, as before authors were recorded. */
function withLinks(state: Idps, { author }: Authored, links: readonly string[]): Idps {
  const { linksAuthor: _, ...rest } = state
  return { ...rest, links, ...(author && { linksAuthor: author }) }
}

/** Unlinks a removed provider; the author of the list is kept. */
const applyCascadeRemoved = (state: Idps, { data }: LinkEvent): Idps => ({
  ...state,
  links: state.links.filter((id) => id !== data.idpId),
})

/** The stream ID identifies the owner; see `ownerStreamId`. */
export const idps = aggregate<IdpEvent, Idps>({
  stream: "idps",
  part: streamPartByKey("id"),
  revision: 4,
  initial: { all: {}, links: [] },
  evolve: {
    "instance.idp.oauth.added": applyConfig,
    "instance.idp.oauth.changed": applyConfig,
    "instance.idp.oidc.added": applyConfig,
    "instance.idp.oidc.changed": applyConfig,
    "instance.idp.jwt.added": applyConfig,
    "instance.idp.jwt.changed": applyConfig,
    "instance.idp.azure.added": applyConfig,
    "instance.idp.azure.changed": applyConfig,
    "instance.idp.github.added": applyConfig,
    "instance.idp.github.changed": applyConfig,
    "instance.idp.github_enterprise.added": applyConfig,
    "instance.idp.github_enterprise.changed": applyConfig,
    "instance.idp.gitlab.added": applyConfig,
    "instance.idp.gitlab.changed": applyConfig,
    "instance.idp.gitlab_self_hosted.added": applyConfig,
    "instance.idp.gitlab_self_hosted.changed": applyConfig,
    "instance.idp.google.added": applyConfig,
    "instance.idp.google.changed": applyConfig,
    "instance.idp.ldap.added": applyConfig,
    "instance.idp.ldap.changed": applyConfig,
    "instance.idp.saml.added": applyConfig,
    "instance.idp.saml.changed": applyConfig,
    "instance.idp.apple.added": applyConfig,
    "instance.idp.apple.changed": applyConfig,
    "instance.idp.oidc.migrated.azure": applyConfig,
    "instance.idp.oidc.migrated.google": applyConfig,
    "instance.idp.removed": applyRemoved,
    "instance.policy.login.idpprovider.added": applyLinked,
    "instance.policy.login.idpprovider.removed": applyUnlinked,
    "instance.policy.login.idpprovider.cascade.removed": applyCascadeRemoved,
    "org.idp.oauth.added": applyConfig,
    "org.idp.oauth.changed": applyConfig,
    "org.idp.oidc.added": applyConfig,
    "org.idp.oidc.changed": applyConfig,
    "org.idp.jwt.added": applyConfig,
    "org.idp.jwt.changed": applyConfig,
    "org.idp.azure.added": applyConfig,
    "org.idp.azure.changed": applyConfig,
    "org.idp.github.added": applyConfig,
    "org.idp.github.changed": applyConfig,
    "org.idp.github_enterprise.added": applyConfig,
    "org.idp.github_enterprise.changed": applyConfig,
    "org.idp.gitlab.added": applyConfig,
    "org.idp.gitlab.changed": applyConfig,
    "org.idp.gitlab_self_hosted.added": applyConfig,
    "org.idp.gitlab_self_hosted.changed": applyConfig,
    "org.idp.google.added": applyConfig,
    "org.idp.google.changed": applyConfig,
    "org.idp.ldap.added": applyConfig,
    "org.idp.ldap.changed": applyConfig,
    "org.idp.saml.added": applyConfig,
    "org.idp.saml.changed": applyConfig,
    "org.idp.apple.added": applyConfig,
    "org.idp.apple.changed": applyConfig,
    "org.idp.oidc.migrated.azure": applyConfig,
    "org.idp.oidc.migrated.google": applyConfig,
    "org.idp.removed": applyRemoved,
    "org.policy.login.idpprovider.added": applyLinked,
    "org.policy.login.idpprovider.removed": applyUnlinked,
    "org.policy.login.idpprovider.cascade.removed": applyCascadeRemoved,
  },
})

export type IdpSecretEvent =
  | Event<"idp.secret.changed", Record<never, never>, { readonly sealed: string }>
  | Event<"idp.secret.removed">

/** The client secret or private key for a provider, sealed. */
export type IdpSecret = { readonly sealed: string }

/** One stream per provider, so that each secret can be erased separately. */
export const idpSecret = aggregate<IdpSecretEvent, IdpSecret>({
  stream: "idp_secret",
  initial: { sealed: "" },
  evolve: {
    "idp.secret.changed": (_, { private: secret }) => ({ sealed: secret?.sealed ?? "" }),
    "idp.secret.removed": () => ({ sealed: "" }),
  },
})

export type IdpMetadataEvent =
  | Event<"idp.metadata.changed", { readonly metadata: string }>
  | Event<"idp.metadata.removed">

/** Metadata of a SAML provider, as received; empty if none. */
export type IdpMetadata = {
  readonly metadata: string
  /** ms UTC. */
  readonly read: number
}

/** One stream per provider, because metadata are large and rarely read. */
export const idpMetadata = aggregate<IdpMetadataEvent, IdpMetadata>({
  stream: "idp_metadata",
  initial: { metadata: "", read: 0 },
  evolve: {
    "idp.metadata.changed": (_, { data: { metadata }, time }) => ({ metadata, read: time }),
    "idp.metadata.removed": () => ({ metadata: "", read: 0 }),
  },
})
