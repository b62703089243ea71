import { aggregate, type Event, partByKey } from "../../store/index.ts"
import type { Binding, Hash, NameIdFormat } from "../../xml/names.ts"
import { authorsAfter, type PartialUpdate } from "../policy/index.ts"

/** What an OAuth client says of itself, and what it asks for. */
type Client = { readonly clientId: string; readonly scopes: readonly string[] }

/** RFC 6749: where a person goes, where a code is exchanged, and where a profile is read. */
type Endpoints = {
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly userEndpoint: string
}

/** What a directory calls what is known of somebody; empty where it doesn't say it. */
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

/** How a kind of provider is set up, but for its secret; the name of the kind is that in events. */
export type Settings =
  | ({
      readonly kind: "oauth"
      /** The field of a profile that never changes. */
      readonly idAttribute: string
      readonly usePkce: boolean
    } & Client &
      Endpoints)
  | ({
      readonly kind: "oidc"
      readonly issuer: string
      /** Whether the id_token says it all, so that the profile isn't asked for. */
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
      /** The id of a directory, or "common", "organizations" or "consumers" for several. */
      readonly tenant: string
      readonly emailVerified: boolean
    } & Client)
  | ({ readonly kind: "github" | "gitlab" | "google" } & Client)
  | ({ readonly kind: "github_enterprise" } & Client & Endpoints)
  | ({ readonly kind: "gitlab_self_hosted"; readonly issuer: string } & Client)
  | {
      readonly kind: "ldap"
      /** Begin with ldap:// or ldaps://; asked in this order until one answers. */
      readonly servers: readonly string[]
      readonly startTls: boolean
      /** Whom the servers' certificates must come from, PEM; empty for whom everybody trusts. */
      readonly rootCa: string
      readonly baseDn: string
      readonly bindDn: string
      /** What a person binds as: "dn", or the attribute that says it. */
      readonly userBase: string
      /** Classes that an entry must have, all of them. */
      readonly userObjectClasses: readonly string[]
      /** Attributes of which one must be the name that was typed. */
      readonly userFilters: readonly string[]
      /** How long one server may take. */
      readonly timeoutMs: number
      readonly attributes: DirectoryAttributes
    }
  | {
      readonly kind: "saml"
      /** Who the metadata are about (SAML Core §8.3.6). */
      readonly entityId: string
      /**
       * What links hold on to beside that: where the metadata are read from, or a key of those that
       * were sent. It stays as long as the keys follow each other.
       */
      readonly anchor: string
      /** Where the metadata are read anew from time to time; empty where they were sent. */
      readonly metadataUrl: string
      readonly binding: Binding
      readonly withSignedRequest: boolean
      /** What our requests are signed with. */
      readonly hash: Hash
      /** What kind of name we ask for. */
      readonly nameIdFormat: NameIdFormat
      /** The attribute that says who somebody is whose name is another one each time. */
      readonly transientAttribute: string
      /** Whether who signs out here signs out there, too. */
      readonly federatedLogout: boolean
    }
  | ({ readonly kind: "apple"; readonly teamId: string; readonly keyId: string } & Client)

export type IdpKind = Settings["kind"]

/** What an account here is found by that nobody has linked yet. */
export type AutoLinking = "off" | "username" | "email"

/** What may come of a sign-in with a provider. */
export type Options = {
  readonly isLinkingAllowed: boolean
  readonly isCreationAllowed: boolean
  /** Whether an account is made without asking. */
  readonly isAutoCreation: boolean
  /** Whether the profile follows what the provider says. */
  readonly isAutoUpdate: boolean
  readonly autoLinking: AutoLinking
  /**
   * Whether an answer without the time of the sign-in passes for a fresh one; set for providers of
   * the instance only. Absent means no, as in providers from before.
   */
  readonly acceptAsFresh?: boolean
  /** Whether the `acr_values` of an application are sent on; absent means no. */
  readonly forwardAcrValues?: boolean
  /**
   * Whether addresses that it calls verified count as verified for every organization; only of a
   * provider of the instance.
   */
  readonly isTrustedForAddresses?: boolean
  /**
   * The domains of verified email addresses that accounts are created for, as A-labels; absent
   * means any domain, and none has to be verified.
   */
  readonly allowedDomains?: readonly string[]
  /** Whether an ID token without a nonce is accepted; absent means no. */
  readonly acceptMissingNonce?: boolean
  /** Whether an ID token for several audiences is accepted without an azp; absent means no. */
  readonly acceptOtherAudiences?: boolean
  /**
   * Whether our SAML metadata contain an encryption key. Absent means yes: providers from before it
   * was stored published one.
   */
  readonly encryptAssertions?: boolean
  /** Whether the addresses of a directory count as verified; absent means no. */
  readonly trustDirectoryAddresses?: boolean
}

/** What is said of a provider, but for its secret. */
export type Said = {
  readonly name: string
  readonly settings: Settings
  readonly options: Options
}

export type Idp = Said & {
  readonly id: string
  /** Of the place's stream when it was said last. */
  readonly version: number
  /** ms UTC, as is `changed`. */
  readonly created: number
  readonly changed: number
  /** The users who set what it is now; none for the operator, and where no event records them. */
  readonly authors: readonly string[]
}

type Level = "instance" | "org"
type Named = { readonly id: string }

/** The user who made a change. Events from before it was recorded do not have it. */
type Authored = { readonly author?: string }

type SaidType = `${Level}.idp.${IdpKind}.${"added" | "changed"}`
type MigratedType = `${Level}.idp.oidc.migrated.${"azure" | "google"}`
type LinkType = `${Level}.policy.login.idpprovider.${"added" | "removed" | "cascade.removed"}`
type RemovedType = `${Level}.idp.removed`

export type IdpEvent =
  | { [Type in SaidType | MigratedType]: Event<Type, ProviderEventData> }[SaidType | MigratedType]
  | { [Type in RemovedType]: Event<Type, Named> }[RemovedType]
  | { [Type in LinkType]: Event<Type, { readonly idpId: string } & Authored> }[LinkType]

/** The providers of one place by id, and those that its people may sign in with, in this order. */
export type Idps = {
  readonly all: Readonly<Record<string, Idp>>
  readonly links: readonly string[]
  /** Who changed these last; absent where no event records it. */
  readonly linksAuthor?: string
}

type At<Data> = {
  readonly data: Data
  readonly time: number
  readonly version: number
}

type ProviderEventData = Named & Said & Authored & PartialUpdate

/**
 * The author comes from the payload alone, never from the editor: a provider from before authors
 * were recorded keeps applying to everybody until somebody changes it.
 */
function said(state: Idps, { data, time, version }: At<ProviderEventData>): Idps {
  const { author = "", isPartial, ...rest } = data
  const before = state.all[data.id]
  const authors = authorsAfter(before?.authors ?? [], author, { isPartial })
  const stand = { version, created: before?.created ?? time, changed: time, authors }
  return { ...state, all: { ...state.all, [data.id]: { ...rest, ...stand } } }
}

function removed(state: Idps, { data }: At<Named>): Idps {
  const { [data.id]: _, ...all } = state.all
  return { ...state, all, links: state.links.filter((id) => id !== data.id) }
}

type Linking = At<{ readonly idpId: string } & Authored>

const linked = (state: Idps, { data }: Linking): Idps =>
  authored(state, data, [...state.links, data.idpId])

const unlinked = (state: Idps, { data }: Linking): Idps =>
  authored(
    state,
    data,
    state.links.filter((id) => id !== data.idpId),
  )

/** A list without an author applies to everybody, as before authors were recorded. */
function authored(state: Idps, { author }: Authored, links: readonly string[]): Idps {
  const { linksAuthor: _, ...rest } = state
  return { ...rest, links, ...(author && { linksAuthor: author }) }
}

/** What goes with a provider that is removed; the author of the list stays. */
const dropped = (state: Idps, { data }: Linking): Idps => ({
  ...state,
  links: state.links.filter((id) => id !== data.idpId),
})

/** The id is the place: see `placeId`. */
export const idps = aggregate<IdpEvent, Idps>({
  stream: "idps",
  part: partByKey("id"),
  revision: 4,
  initial: { all: {}, links: [] },
  evolve: {
    "instance.idp.oauth.added": said,
    "instance.idp.oauth.changed": said,
    "instance.idp.oidc.added": said,
    "instance.idp.oidc.changed": said,
    "instance.idp.jwt.added": said,
    "instance.idp.jwt.changed": said,
    "instance.idp.azure.added": said,
    "instance.idp.azure.changed": said,
    "instance.idp.github.added": said,
    "instance.idp.github.changed": said,
    "instance.idp.github_enterprise.added": said,
    "instance.idp.github_enterprise.changed": said,
    "instance.idp.gitlab.added": said,
    "instance.idp.gitlab.changed": said,
    "instance.idp.gitlab_self_hosted.added": said,
    "instance.idp.gitlab_self_hosted.changed": said,
    "instance.idp.google.added": said,
    "instance.idp.google.changed": said,
    "instance.idp.ldap.added": said,
    "instance.idp.ldap.changed": said,
    "instance.idp.saml.added": said,
    "instance.idp.saml.changed": said,
    "instance.idp.apple.added": said,
    "instance.idp.apple.changed": said,
    "instance.idp.oidc.migrated.azure": said,
    "instance.idp.oidc.migrated.google": said,
    "instance.idp.removed": removed,
    "instance.policy.login.idpprovider.added": linked,
    "instance.policy.login.idpprovider.removed": unlinked,
    "instance.policy.login.idpprovider.cascade.removed": dropped,
    "org.idp.oauth.added": said,
    "org.idp.oauth.changed": said,
    "org.idp.oidc.added": said,
    "org.idp.oidc.changed": said,
    "org.idp.jwt.added": said,
    "org.idp.jwt.changed": said,
    "org.idp.azure.added": said,
    "org.idp.azure.changed": said,
    "org.idp.github.added": said,
    "org.idp.github.changed": said,
    "org.idp.github_enterprise.added": said,
    "org.idp.github_enterprise.changed": said,
    "org.idp.gitlab.added": said,
    "org.idp.gitlab.changed": said,
    "org.idp.gitlab_self_hosted.added": said,
    "org.idp.gitlab_self_hosted.changed": said,
    "org.idp.google.added": said,
    "org.idp.google.changed": said,
    "org.idp.ldap.added": said,
    "org.idp.ldap.changed": said,
    "org.idp.saml.added": said,
    "org.idp.saml.changed": said,
    "org.idp.apple.added": said,
    "org.idp.apple.changed": said,
    "org.idp.oidc.migrated.azure": said,
    "org.idp.oidc.migrated.google": said,
    "org.idp.removed": removed,
    "org.policy.login.idpprovider.added": linked,
    "org.policy.login.idpprovider.removed": unlinked,
    "org.policy.login.idpprovider.cascade.removed": dropped,
  },
})

export type IdpSecretEvent =
  | Event<"idp.secret.changed", Record<never, never>, { readonly sealed: string }>
  | Event<"idp.secret.removed">

/** What we prove to a provider who we are with: a client secret, or a private key; sealed. */
export type IdpSecret = { readonly sealed: string }

/** In a stream of its own for each provider, the id, so that each is forgotten by itself. */
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

/** What a provider that speaks SAML says of itself, as it was said; empty for none. */
export type IdpMetadata = {
  readonly metadata: string
  /** ms UTC. */
  readonly read: number
}

/** In a stream of its own for each provider, since it may be long and is seldom looked at. */
export const idpMetadata = aggregate<IdpMetadataEvent, IdpMetadata>({
  stream: "idp_metadata",
  initial: { metadata: "", read: 0 },
  evolve: {
    "idp.metadata.changed": (_, { data: { metadata }, time }) => ({ metadata, read: time }),
    "idp.metadata.removed": () => ({ metadata: "", read: 0 }),
  },
})
