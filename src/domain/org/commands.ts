import { isDeepStrictEqual } from "node:util"
import { Fault } from "../../kernel/fault.ts"
import { parseDisplayName } from "../../kernel/text/identifier.ts"
import { normalForm } from "../../kernel/text/name.ts"
import type { Cx, DecisionContext, Draft, Receipt, Transaction } from "../../store/index.ts"
import { instance, validateLifetimes } from "../instance/index.ts"
import { claimDomain, domainClaim, hostOf, releaseDomain, requireExists } from "./domain.ts"
import {
  findDomain,
  isExistingOrg,
  loginDomains,
  type Org,
  type OrgEvent,
  type OrgOidcSettings,
  org,
} from "./model.ts"

/** Adds an organization; it owns itself and gets a generated domain from its name. */
export function addOrganization(
  tx: Transaction,
  id: string,
  input: { readonly name: string; readonly oidc?: OrgOidcSettings | undefined },
): void {
  if (tx.state(org, id).status !== "absent") {
    throw new Fault("already_exists", "org.exists", "an organization with this ID already exists")
  }
  const name = parseDisplayName("name", input.name)
  const domain = findFreeDomain(tx, name, id)
  const added: Draft<OrgEvent> = { type: "org.added", data: { name } }
  const oidc = input.oidc ? [oidcSettingsSet(input.oidc)] : []
  tx.append(org, id, [added, ...firstDomainEvents(domain), ...oidc], id)
}

/** A generated first domain is primary immediately. */
const firstDomainEvents = (domain: string): readonly Draft<OrgEvent>[] => [
  { type: "org.domain.added", data: { domain } },
  {
    type: "org.domain.verified",
    data: { domain, isGenerated: true },
    claims: [{ ...claimDomain(domain), ...takenConcurrently }],
  },
  { type: "org.domain.primary.set", data: { domain } },
]

const takenConcurrently = {
  taken: {
    id: "org.domain_taken",
    message: "another organization took this name at the same moment; try again",
  },
}

/** Adds an organization in its own step. */
export async function createOrganization(
  cx: Cx,
  id: string,
  input: { readonly name: string },
): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => addOrganization(tx, id, input))
  return step.receipt(org, id)
}

export type OrganizationChange = {
  readonly name?: string
  /** Replaces all settings. */
  readonly oidc?: OrgOidcSettings
}

/** Updates the given fields that differ. */
export const changeOrganization = org.command<OrganizationChange>((state, { name, oidc }) => {
  requireExists(state)
  const drafts: Draft<OrgEvent>[] = []
  const next = name === undefined ? state.name : parseDisplayName("name", name)
  if (next !== state.name) drafts.push({ type: "org.changed", data: { name: next } })
  if (oidc && !isDeepStrictEqual(oidc, state.oidc ?? {})) drafts.push(oidcSettingsSet(oidc))
  return drafts
})

function oidcSettingsSet(settings: OrgOidcSettings): Draft<OrgEvent> {
  validateLifetimes(settings)
  return { type: "org.oidc.settings.set", data: settings }
}

/**
 * Deactivates an organization: its users can't sign in, and its projects can't be used. Throws for
 * the default organization; the caller ensures that the instance keeps an owner.
 */
export const deactivateOrganization = org.command((state, _, cx, id) => {
  requireExists(state)
  if (state.status === "inactive") return []
  requireNotDefault(cx, id, "deactivated")
  return [{ type: "org.deactivated", data: {} }]
})

export const activateOrganization = org.command((state) => {
  requireExists(state)
  return state.status === "active" ? [] : [{ type: "org.reactivated", data: {} }]
})

/**
 * Deletes an organization permanently. Its domains can be used again, but not its ID. What it owned
 * can no longer be used. Does nothing if it does not exist.
 */
export const removeOrganization = org.command((state, _, cx, id) => {
  if (!isExistingOrg(state)) return []
  requireNotDefault(cx, id, "removed")
  const claims = loginDomains(state).map(releaseDomain)
  return [{ type: "org.removed", data: {}, claims, erase: {} }]
})

/**
 * Takes an unverified domain from an organization because another one has proven ownership. If it
 * was the primary domain, another verified domain or a generated one replaces it.
 */
export function releaseUnverifiedDomain(tx: Transaction, domain: string, provenBy: string): void {
  const holder = tx.holder(domainClaim, domain)
  if (holder?.stream !== org.stream || holder.id === provenBy) return
  const state = tx.state(org, holder.id)
  if (findDomain(state, domain)?.verified) return
  const gone: Draft<OrgEvent> = {
    type: "org.domain.removed",
    data: { domain, isVerified: false },
    claims: [releaseDomain(domain)],
  }
  const next = state.primaryDomain === domain ? nextPrimary(tx, state, holder.id) : []
  tx.append(org, holder.id, [...next, gone])
}

function nextPrimary(tx: Transaction, state: Org, id: string): readonly Draft<OrgEvent>[] {
  const [other] = Object.keys(state.domains).filter((name) => findDomain(state, name)?.verified)
  if (other === undefined) return firstDomainEvents(findFreeDomain(tx, state.name, id))
  return [{ type: "org.domain.primary.set", data: { domain: other } }]
}

/** New users join the default organization. */
function requireNotDefault(
  cx: DecisionContext,
  id: string,
  action: "deactivated" | "removed",
): void {
  if (cx.state(instance, cx.instance).defaultOrgId === id) {
    throw new Fault(
      "failed_precondition",
      "org.is_default",
      `the default organization can't be ${action}: it contains the console`,
    )
  }
}

/** `<name>.<host of the instance>`, with the ID added if the name is taken. */
function findFreeDomain(tx: Transaction, name: string, id: string): string {
  const host = hostOf(tx)
  const slug = slugOf(name)
  const plain = `${slug || labelOf(id)}.${host}`
  const isFree = slug !== temporaryLabel && !tx.holder(domainClaim, plain)
  return isFree ? plain : `${slug || "org"}-${labelOf(id)}.${host}`
}

/** The label for names of users whose domain was claimed by its owner. */
export const temporaryLabel = "temporary"

/** A DNS label (RFC 1035 §2.3.1) that resembles the name; empty if no character is usable. */
const slugOf = (name: string): string =>
  normalForm(name, "NFKD")
    .toLowerCase()
    .replace(/\p{M}/gu, "")
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, labelMax)
    .replace(/^-|-$/g, "")

/** Leaves room for the ID, because a label has at most 63 characters. */
const labelMax = 40

/** IDs can be chosen by callers and contain any characters. */
const labelOf = (id: string): string => slugOf(id) || "org"
