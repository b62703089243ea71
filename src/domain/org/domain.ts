import { randomToken } from "../../kernel/crypto/random.ts"
import { Fault, fieldError } from "../../kernel/fault.ts"
import { domainOf, isDomainName } from "../../protocol/domain.ts"
import type { ClaimChange, Cx, Decision, Draft } from "../../store/index.ts"
import { instance } from "../instance/index.ts"
import { domainPolicy, policyIn } from "../policy/index.ts"
import {
  type Challenge,
  domainIn,
  isThere,
  type Org,
  type OrgEvent,
  org,
  type ProofType,
} from "./model.ts"

export { domainOf }

/** A domain that login names may end in is one organisation's within an instance. */
export const domainClaim = "org_domain"

const taken = { id: "org.domain_taken", message: "this domain belongs to another organisation" }

export const takeDomain = (domain: string): ClaimChange => ({
  take: domainClaim,
  key: domain,
  taken,
})

export const releaseDomain = (domain: string): ClaimChange => ({
  release: domainClaim,
  key: domain,
})

function givenDomain(text: string): string {
  const domain = domainOf(text)
  if (isDomainName(domain)) return domain
  throw fieldError(
    "org.domain_invalid",
    "domain",
    "must be the name of a domain such as example.com",
  )
}

/** The host of an instance: domains below it are ours to give. */
export function hostOf(cx: Pick<Decision, "state" | "instance">): string {
  const { publicUrl } = cx.state(instance, cx.instance)
  return publicUrl ? new URL(publicUrl).hostname : "localhost"
}

/** Every decision about an organisation reads all of its domains. */
const domainsMax = 100

type Added = {
  readonly domain: string
  /** Whether people of other organisations sign in with names that end in it. */
  readonly isUsed: (domain: string) => boolean
}

/**
 * Adds a domain. Where the policy wants no proof it is taken on trust, unless others would lose
 * something by it: names that they sign in with, or names below our own host. On trust login names
 * may end in it, until somebody proves that it is theirs.
 */
export const addDomain = org.command<Added>((state, input, cx, id) => {
  mustExist(state)
  const domain = givenDomain(input.domain)
  if (domainIn(state, domain)) throw existsError()
  const holder = cx.holder(domainClaim, domain)
  if (isProvenDomain(cx, domain)) {
    throw new Fault("already_exists", taken.id, taken.message)
  }
  mustHaveRoom(state)
  const added: Draft<OrgEvent> = { type: "org.domain.added", data: { domain } }
  const { validateOrgDomains } = policyIn(cx, id, domainPolicy)
  const isWanted = holder !== undefined || isOurs(cx, domain) || input.isUsed(domain)
  if (validateOrgDomains || isWanted) return [added]
  return [added, { type: "org.domain.trusted", data: { domain }, claims: [takeDomain(domain)] }]
})

/**
 * Adds a domain that was proven elsewhere, by the word of somebody who may do everything here.
 * Refuses what others would lose something by: a domain that another organisation has, names that
 * its people sign in with, names below our own host.
 */
export const vouchDomain = org.command<Added>((state, input, cx, id) => {
  mustExist(state)
  const domain = givenDomain(input.domain)
  if (domainIn(state, domain)) throw existsError()
  mustHaveRoom(state)
  const holder = cx.holder(domainClaim, domain)
  if ((holder && holder.id !== id) || isOurs(cx, domain) || input.isUsed(domain)) {
    throw new Fault("failed_precondition", taken.id, `${taken.message}; add it, and prove it here`)
  }
  return [
    { type: "org.domain.added", data: { domain } },
    {
      type: "org.domain.verified",
      data: { domain, isVouched: true },
      claims: [takeDomain(domain)],
    },
  ]
})

/** Whether whose a domain is was proven; what is held on trust is anybody's word. */
export function isProvenDomain(cx: Decision, text: string): boolean {
  const domain = domainOf(text)
  const holder = cx.holder(domainClaim, domain)
  if (!holder) return false
  if (holder.stream !== org.stream) return true
  return domainIn(cx.state(org, holder.id), domain)?.verified ?? true
}

/** Whether an organization has proven by a DNS record or a file that a domain is its own. */
export const hasProvenDomain = (state: Org, domain: string): boolean =>
  domainIn(state, domain)?.isProven ?? false

const existsError = () =>
  new Fault("already_exists", "org.domain_exists", "the organisation has this domain already")

function mustHaveRoom({ domains }: Org): void {
  if (Object.keys(domains).length < domainsMax) return
  const message = `an organisation may have at most ${domainsMax} domains`
  throw new Fault("failed_precondition", "org.domains_too_many", message)
}

const isOurs = (cx: Decision, domain: string): boolean => `.${domain}`.endsWith(`.${hostOf(cx)}`)

const verified = (domain: string): Draft<OrgEvent> => ({
  type: "org.domain.verified",
  data: { domain },
  claims: [takeDomain(domain)],
})

/** Takes a domain away; nothing happens where there is none. Refuses the primary one. */
export const removeDomain = org.command<string>((state, text) => {
  mustExist(state)
  const domain = domainOf(text)
  const held = domainIn(state, domain)
  if (!held) return []
  if (domain === state.primaryDomain) {
    throw new Fault(
      "failed_precondition",
      "org.domain_is_primary",
      "this is the primary domain; make another one the primary domain first",
    )
  }
  const claims = held.held ? [releaseDomain(domain)] : []
  const data = { domain, isVerified: held.verified }
  return [{ type: "org.domain.removed", data, claims }]
})

/**
 * Makes a domain the one that the organization is known by. One that was taken on trust is enough:
 * outside the organization only a proven domain stands for it, see `provenDomainOf`.
 */
export const setPrimaryDomain = org.command<string>((state, text) => {
  mustExist(state)
  const domain = domainOf(text)
  const { verified: isProven, held } = requireDomain(state, domain)
  if (!isProven && !held) throw unprovenError("prove the domain first")
  return domain === state.primaryDomain
    ? []
    : [{ type: "org.domain.primary.set", data: { domain } }]
})

const tokenBytes = 24

/** Says what is to be shown on a domain to prove it; 32 characters. */
export async function challengeDomain(
  cx: Cx,
  id: string,
  { domain: text, type }: { readonly domain: string; readonly type: ProofType },
): Promise<{ readonly domain: string; readonly token: string }> {
  const token = randomToken(cx.random, tokenBytes)
  const domain = domainOf(text)
  await challenged(cx, id, { domain, challenge: { type, token } })
  return { domain, token }
}

const challenged = org.command<{ readonly domain: string; readonly challenge: Challenge }>(
  (state, { domain, challenge: { type, token } }) => {
    mustExist(state)
    if (requireDomain(state, domain).verified) {
      const message = "the domain is proven already"
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

type Proven = { readonly domain: string; readonly challenge: Challenge }

/** Counts a domain as the organisation's, once what `challenge` asked for was found on it. */
export const verifyDomain = org.command<Proven>((state, { domain, challenge }) => {
  mustExist(state)
  const held = requireDomain(state, domain)
  if (held.verified) return []
  if (held.challenge?.token !== challenge.token) {
    throw unprovenError("another proof was asked for meanwhile; show that one")
  }
  return [verified(domain)]
})

export function requireDomain(state: Org, domain: string) {
  const held = domainIn(state, domain)
  if (held) return held
  const message = "the organisation has no such domain"
  throw new Fault("not_found", "org.domain_missing", message)
}

export const unprovenError = (message: string) =>
  new Fault("failed_precondition", "org.domain_unproven", message)

export function mustExist(state: Org): void {
  if (isThere(state)) return
  throw new Fault("not_found", "org.missing", "there is no such organisation")
}
