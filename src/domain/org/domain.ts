import { randomToken } from "../../kernel/crypto/random.ts"
import { Fault, fieldError } from "../../kernel/fault.ts"
import { isDomainName, normalizeDomain } from "../../protocol/domain.ts"
import type { ClaimChange, Cx, DecisionContext, Draft } from "../../store/index.ts"
import { instance } from "../instance/index.ts"
import { domainPolicy, policyInTransaction } from "../policy/index.ts"
import {
  type Challenge,
  findDomain,
  isExistingOrg,
  type Org,
  type OrgEvent,
  org,
  type ProofType,
} from "./model.ts"

export { normalizeDomain }

/** Within an instance, a domain for login names belongs to one organization. */
export const domainClaim = "org_domain"

const takenError = {
  id: "org.domain_taken",
  message: "this domain belongs to another organization",
}

export const claimDomain = (domain: string): ClaimChange => ({
  take: domainClaim,
  key: domain,
  taken: takenError,
})

export const releaseDomain = (domain: string): ClaimChange => ({
  release: domainClaim,
  key: domain,
})

function parseDomainName(text: string): string {
  const domain = normalizeDomain(text)
  if (isDomainName(domain)) return domain
  throw fieldError("org.domain_invalid", "domain", "must be a domain name such as example.com")
}

/** The host of the instance, whose subdomains are generated. */
export function hostOf(cx: Pick<DecisionContext, "state" | "instance">): string {
  const { publicUrl } = cx.state(instance, cx.instance)
  return publicUrl ? new URL(publicUrl).hostname : "localhost"
}

/** Every decision about an organization reads all its domains. */
const domainsMax = 100

type DomainInput = {
  readonly domain: string
  /** Whether users of other organizations have login names that end in the domain. */
  readonly isUsed: (domain: string) => boolean
}

/**
 * Adds a domain. If the policy requires no verification, the domain can be used for login names
 * immediately, unless users of other organizations have such names or it is a subdomain of the
 * instance's host. An unverified domain is lost when another organization verifies it.
 */
export const addDomain = org.command<DomainInput>((state, input, cx, id) => {
  requireExists(state)
  const domain = parseDomainName(input.domain)
  if (findDomain(state, domain)) throw existsError()
  const holder = cx.holder(domainClaim, domain)
  if (isProvenDomain(cx, domain)) {
    throw new Fault("already_exists", takenError.id, takenError.message)
  }
  requireBelowLimit(state)
  const added: Draft<OrgEvent> = { type: "org.domain.added", data: { domain } }
  const { validateOrgDomains } = policyInTransaction(cx, id, domainPolicy)
  const isWanted = holder !== undefined || isOwnSubdomain(cx, domain) || input.isUsed(domain)
  if (validateOrgDomains || isWanted) return [added]
  return [added, { type: "org.domain.trusted", data: { domain }, claims: [claimDomain(domain)] }]
})

/**
 * Adds a domain that was verified elsewhere, on the word of an administrator with all permissions.
 * Throws if another organization has the domain, if users of other organizations have such login
 * names, or if it is a subdomain of the instance's host.
 */
export const addVouchedDomain = org.command<DomainInput>((state, input, cx, id) => {
  requireExists(state)
  const domain = parseDomainName(input.domain)
  if (findDomain(state, domain)) throw existsError()
  requireBelowLimit(state)
  const holder = cx.holder(domainClaim, domain)
  if ((holder && holder.id !== id) || isOwnSubdomain(cx, domain) || input.isUsed(domain)) {
    throw new Fault(
      "failed_precondition",
      takenError.id,
      `${takenError.message}; add it and verify it here`,
    )
  }
  return [
    { type: "org.domain.added", data: { domain } },
    {
      type: "org.domain.verified",
      data: { domain, isVouched: true },
      claims: [claimDomain(domain)],
    },
  ]
})

/** Whether the ownership of a domain is proven; an unverified domain proves nothing. */
export function isProvenDomain(cx: DecisionContext, text: string): boolean {
  const domain = normalizeDomain(text)
  const holder = cx.holder(domainClaim, domain)
  if (!holder) return false
  if (holder.stream !== org.stream) return true
  return findDomain(cx.state(org, holder.id), domain)?.verified ?? true
}

/** Whether an organization has proven with a DNS record or a file that it owns a domain. */
export const hasProvenDomain = (state: Org, domain: string): boolean =>
  findDomain(state, domain)?.isProven ?? false

const existsError = () =>
  new Fault("already_exists", "org.domain_exists", "the organization already has this domain")

function requireBelowLimit({ domains }: Org): void {
  if (Object.keys(domains).length < domainsMax) return
  const message = `an organization can have at most ${domainsMax} domains`
  throw new Fault("failed_precondition", "org.domains_too_many", message)
}

const isOwnSubdomain = (cx: DecisionContext, domain: string): boolean =>
  `.${domain}`.endsWith(`.${hostOf(cx)}`)

const verifiedEvent = (domain: string): Draft<OrgEvent> => ({
  type: "org.domain.verified",
  data: { domain },
  claims: [claimDomain(domain)],
})

/** Removes a domain; does nothing if it does not exist. Throws for the primary domain. */
export const removeDomain = org.command<string>((state, text) => {
  requireExists(state)
  const domain = normalizeDomain(text)
  const stored = findDomain(state, domain)
  if (!stored) return []
  if (domain === state.primaryDomain) {
    throw new Fault(
      "failed_precondition",
      "org.domain_is_primary",
      "this is the primary domain; make another domain primary first",
    )
  }
  const claims = stored.held ? [releaseDomain(domain)] : []
  const data = { domain, isVerified: stored.verified }
  return [{ type: "org.domain.removed", data, claims }]
})

/**
 * Makes a domain the primary one. An unverified domain is allowed, because outside the organization
 * only verified domains are used; see `provenDomainOf`.
 */
export const setPrimaryDomain = org.command<string>((state, text) => {
  requireExists(state)
  const domain = normalizeDomain(text)
  const { verified: isProven, held: stored } = requireDomain(state, domain)
  if (!isProven && !stored) throw unprovenError("verify the domain first")
  return domain === state.primaryDomain
    ? []
    : [{ type: "org.domain.primary.set", data: { domain } }]
})

const tokenBytes = 24

/** Returns the token that proves a domain when it is published there; 32 characters. */
export async function challengeDomain(
  cx: Cx,
  id: string,
  { domain: text, type }: { readonly domain: string; readonly type: ProofType },
): Promise<{ readonly domain: string; readonly token: string }> {
  const token = randomToken(cx.random, tokenBytes)
  const domain = normalizeDomain(text)
  await storeChallenge(cx, id, { domain, challenge: { type, token } })
  return { domain, token }
}

const storeChallenge = org.command<{ readonly domain: string; readonly challenge: Challenge }>(
  (state, { domain, challenge: { type, token } }) => {
    requireExists(state)
    if (requireDomain(state, domain).verified) {
      const message = "the domain is already verified"
      throw new Fault("failed_precondition", "org.domain_verified", message)
    }
    return [
      {
        type: "org.domain.verification.added",
        data: { domain, validationType: type },
        private: { validationCode: token },
      },
    ]
  },
)

type DomainProof = { readonly domain: string; readonly challenge: Challenge }

/** Marks a domain as verified after `challenge` was found on it. */
export const verifyDomain = org.command<DomainProof>((state, { domain, challenge }) => {
  requireExists(state)
  const stored = requireDomain(state, domain)
  if (stored.verified) return []
  if (stored.challenge?.token !== challenge.token) {
    throw unprovenError("another proof was requested in the meantime; publish that one")
  }
  return [verifiedEvent(domain)]
})

export function requireDomain(state: Org, domain: string) {
  const stored = findDomain(state, domain)
  if (stored) return stored
  const message = "domain not found in this organization"
  throw new Fault("not_found", "org.domain_missing", message)
}

export const unprovenError = (message: string) =>
  new Fault("failed_precondition", "org.domain_unproven", message)

export function requireExists(state: Org): void {
  if (isExistingOrg(state)) return
  throw new Fault("not_found", "org.missing", "organization not found")
}
