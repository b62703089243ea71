import { aggregate, type Event } from "../../store/index.ts"
import type { OidcSettings } from "../instance/index.ts"

/** How a domain is verified: with a DNS record or a file on its web server. */
export type ProofType = "dns" | "http"

export type OrgEvent =
  | Event<"org.added", { readonly name: string }>
  | Event<"org.changed", { readonly name: string }>
  | Event<"org.deactivated">
  | Event<"org.reactivated">
  | Event<"org.removed">
  | Event<"org.domain.added", { readonly domain: string }>
  | Event<
      "org.domain.verification.added",
      { readonly domain: string; readonly validationType: ProofType },
      { readonly validationCode: string }
    >
  | Event<"org.domain.trusted", { readonly domain: string }>
  | Event<
      "org.domain.verified",
      {
        readonly domain: string
        readonly isGenerated?: boolean
        /** Whether the domain was verified elsewhere, on an administrator's word. */
        readonly isVouched?: boolean
      }
    >
  | Event<"org.domain.removed", { readonly domain: string; readonly isVerified: boolean }>
  | Event<"org.domain.primary.set", { readonly domain: string }>
  | Event<"org.metadata.set", { readonly key: string }, { readonly value: string }>
  | Event<"org.metadata.removed", { readonly key: string }>
  | Event<"org.oidc.settings.set", OrgOidcSettings>

/**
 * The defaults for the organization's applications; absent ones follow the instance. Times are in
 * seconds.
 */
export type OrgOidcSettings = Partial<
  Pick<OidcSettings, "refreshTokenIdleExpiration" | "refreshTokenExpiration" | "refreshTokenGrace">
> & {
  /** RFC 9700 §2.1.1: whether clients with a secret or a key must use PKCE. */
  readonly pkceRequired?: boolean
}

export type OrgStatus = "active" | "inactive"

/** The token that must be found on a domain to verify it. */
export type Challenge = { readonly type: ProofType; readonly token: string }

export type Domain = {
  /** Whether the domain is verified or generated. */
  readonly verified: boolean
  /**
   * Whether login names can end in the domain: it is verified, or the policy requires no
   * verification.
   */
  readonly held: boolean
  readonly challenge: Challenge | null
  /** Whether a DNS record or a file has verified it. */
  readonly isProven?: boolean
}

export type Org = {
  readonly status: "absent" | OrgStatus | "removed"
  readonly name: string
  /** The user who deactivated it; empty if it is active or was not deactivated by a user. */
  readonly stoppedBy: string
  /** How often it was deactivated. */
  readonly stops: number
  /** One of `domains`; initially generated from the name. */
  readonly primaryDomain: string
  /** Domains by name. */
  readonly domains: Readonly<Record<string, Domain>>
  /** Absent if not set. */
  readonly oidc?: OrgOidcSettings
}

const absent: Org = {
  status: "absent",
  name: "",
  stoppedBy: "",
  stops: 0,
  primaryDomain: "",
  domains: {},
}

const unproven: Domain = { verified: false, held: false, challenge: null }
const trusted: Domain = { ...unproven, held: true }
const owned: Domain = { ...trusted, verified: true }

/** The owner of users and projects; it owns itself. */
export const org = aggregate<OrgEvent, Org>({
  stream: "org",
  revision: 5,
  initial: absent,
  evolve: {
    "org.added": (state, { data }) => ({ ...state, status: "active", name: data.name }),
    "org.changed": (state, { data }) => ({ ...state, name: data.name }),
    "org.deactivated": (state, { editor }) => ({
      ...state,
      status: "inactive",
      // The system acts without a client, and its names are not user IDs.
      stoppedBy: editor.client === "" ? "" : editor.user,
      stops: state.stops + 1,
    }),
    "org.reactivated": (state) => ({ ...state, status: "active", stoppedBy: "" }),
    "org.removed": () => ({ ...absent, status: "removed" }),
    "org.domain.added": (state, { data }) => withDomain(state, data.domain, unproven),
    "org.domain.verification.added": (state, { data, private: secret }) =>
      withDomain(state, data.domain, {
        ...(findDomain(state, data.domain) ?? unproven),
        challenge: secret && { type: data.validationType, token: secret.validationCode },
      }),
    "org.domain.trusted": (state, { data }) => withDomain(state, data.domain, trusted),
    // Older versions also recorded unverified domains with this event, but without a challenge.
    "org.domain.verified": (state, { data: { domain, isGenerated, isVouched } }) => {
      if (isGenerated || isVouched) return withDomain(state, domain, owned)
      const isProven = hasChallenge(state, domain)
      return withDomain(state, domain, isProven ? { ...owned, isProven } : trusted)
    },
    "org.domain.removed": (state, { data }) => {
      const { [data.domain]: _, ...domains } = state.domains
      return { ...state, domains }
    },
    // The first domain is generated; older organizations got it only with this event.
    "org.domain.primary.set": (state, { data }) => ({
      ...(state.primaryDomain === "" ? withDomain(state, data.domain, owned) : state),
      primaryDomain: data.domain,
    }),
    "org.metadata.set": (state) => state,
    "org.metadata.removed": (state) => state,
    "org.oidc.settings.set": (state, { data: oidc }) => ({ ...state, oidc }),
  },
})

const withDomain = (state: Org, name: string, domain: Domain): Org => ({
  ...state,
  domains: { ...state.domains, [name]: domain },
})

const hasChallenge = (state: Org, name: string): boolean =>
  Boolean(findDomain(state, name)?.challenge)

export const isExistingOrg = ({ status }: Pick<Org, "status">): boolean =>
  status === "active" || status === "inactive"

/** A domain of an organization, verified or not. */
export const findDomain = ({ domains }: Pick<Org, "domains">, name: string): Domain | undefined =>
  Object.hasOwn(domains, name) ? domains[name] : undefined

/** The domain that represents an organization to others: verified, preferably the primary one. */
export function provenDomainOf(state: Pick<Org, "primaryDomain" | "domains">): string {
  const isProven = (name: string) => findDomain(state, name)?.verified === true
  const { primaryDomain } = state
  if (isProven(primaryDomain)) return primaryDomain
  return Object.keys(state.domains).find(isProven) ?? ""
}

/** The domains that login names can end in, the primary one first. */
export const loginDomains = ({
  primaryDomain,
  domains,
}: Pick<Org, "primaryDomain" | "domains">): readonly string[] => {
  const others = Object.keys(domains).filter(
    (name) => domains[name]?.held && name !== primaryDomain,
  )
  return primaryDomain === "" ? others : [primaryDomain, ...others]
}
