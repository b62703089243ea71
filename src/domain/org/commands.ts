import { isDeepStrictEqual } from "node:util"
import { Fault } from "../../kernel/fault.ts"
import { givenName } from "../../kernel/text/given.ts"
import { normalForm } from "../../kernel/text/name.ts"
import type { Cx, Decision, Draft, Receipt, Transaction } from "../../store/index.ts"
import { checkLifetimes, instance } from "../instance/index.ts"
import { domainClaim, hostOf, mustExist, releaseDomain, takeDomain } from "./domain.ts"
import {
  domainIn,
  heldDomains,
  isThere,
  type Org,
  type OrgEvent,
  type OrgOidcSettings,
  org,
} from "./model.ts"

/** Adds an organisation; it owns itself and gets a domain made from its name. */
export function addOrganization(
  tx: Transaction,
  id: string,
  input: { readonly name: string; readonly oidc?: OrgOidcSettings | undefined },
): void {
  if (tx.state(org, id).status !== "absent") {
    throw new Fault("already_exists", "org.exists", "there is already an organisation with this id")
  }
  const name = givenName("name", input.name)
  const domain = freeDomain(tx, name, id)
  const added: Draft<OrgEvent> = { type: "org.added", data: { name } }
  const oidc = input.oidc ? [oidcSettingsSet(input.oidc)] : []
  tx.append(org, id, [added, ...firstDomain(domain), ...oidc], id)
}

/** A domain that we make becomes the primary one at once. */
const firstDomain = (domain: string): readonly Draft<OrgEvent>[] => [
  { type: "org.domain.added", data: { domain } },
  {
    type: "org.domain.verified",
    data: { domain, isGenerated: true },
    claims: [{ ...takeDomain(domain), ...takenMeanwhile }],
  },
  { type: "org.domain.primary.set", data: { domain } },
]

const takenMeanwhile = {
  taken: {
    id: "org.domain_taken",
    message: "another organisation took this name at the same moment; please try again",
  },
}

/** Adds an organisation in a step of its own. */
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
  /** Replaces all of them. */
  readonly oidc?: OrgOidcSettings
}

/** Changes what is given and differs. */
export const changeOrganization = org.command<OrganizationChange>((state, { name, oidc }) => {
  mustExist(state)
  const drafts: Draft<OrgEvent>[] = []
  const next = name === undefined ? state.name : givenName("name", name)
  if (next !== state.name) drafts.push({ type: "org.changed", data: { name: next } })
  if (oidc && !isDeepStrictEqual(oidc, state.oidc ?? {})) drafts.push(oidcSettingsSet(oidc))
  return drafts
})

function oidcSettingsSet(settings: OrgOidcSettings): Draft<OrgEvent> {
  checkLifetimes(settings)
  return { type: "org.oidc.settings.set", data: settings }
}

/**
 * Stops an organisation: none of its users signs in, none of its projects serves. Refuses the
 * default organisation; whoever calls sees to it that the instance keeps an owner.
 */
export const deactivateOrganization = org.command((state, _, cx, id) => {
  mustExist(state)
  if (state.status === "inactive") return []
  mustBeSpared(cx, id, "deactivated")
  return [{ type: "org.deactivated", data: {} }]
})

export const activateOrganization = org.command((state) => {
  mustExist(state)
  return state.status === "active" ? [] : [{ type: "org.reactivated", data: {} }]
})

/**
 * Removes an organisation for good; its domains are free again, its id is not. From then on nothing
 * that it owned is of any use. Nothing happens where it is gone.
 */
export const removeOrganization = org.command((state, _, cx, id) => {
  if (!isThere(state)) return []
  mustBeSpared(cx, id, "removed")
  const claims = heldDomains(state).map(releaseDomain)
  return [{ type: "org.removed", data: {}, claims, erase: {} }]
})

/**
 * Takes a domain from whoever has it on trust, for somebody else has proven that it is theirs.
 * Where it was the primary one, another that is proven takes its place, or one that we make.
 */
export function yieldDomain(tx: Transaction, domain: string, provenBy: string): void {
  const holder = tx.holder(domainClaim, domain)
  if (holder?.stream !== org.stream || holder.id === provenBy) return
  const state = tx.state(org, holder.id)
  if (domainIn(state, domain)?.verified) return
  const gone: Draft<OrgEvent> = {
    type: "org.domain.removed",
    data: { domain, isVerified: false },
    claims: [releaseDomain(domain)],
  }
  const next = state.primaryDomain === domain ? nextPrimary(tx, state, holder.id) : []
  tx.append(org, holder.id, [...next, gone])
}

function nextPrimary(tx: Transaction, state: Org, id: string): readonly Draft<OrgEvent>[] {
  const [other] = Object.keys(state.domains).filter((name) => domainIn(state, name)?.verified)
  if (other === undefined) return firstDomain(freeDomain(tx, state.name, id))
  return [{ type: "org.domain.primary.set", data: { domain: other } }]
}

/** What newcomers join. */
function mustBeSpared(cx: Decision, id: string, how: "deactivated" | "removed"): void {
  if (cx.state(instance, cx.instance).defaultOrgId === id) {
    throw new Fault(
      "failed_precondition",
      "org.is_default",
      `the default organisation can't be ${how}: the console belongs to it`,
    )
  }
}

/** `<name>.<host of the instance>`, with the id in it where the name alone is taken. */
function freeDomain(tx: Transaction, name: string, id: string): string {
  const host = hostOf(tx)
  const slug = slugOf(name)
  const plain = `${slug || labelOf(id)}.${host}`
  const isFree = slug !== temporaryLabel && !tx.holder(domainClaim, plain)
  return isFree ? plain : `${slug || "org"}-${labelOf(id)}.${host}`
}

/** Below it are the names of those whose own name was claimed by the owner of its domain. */
export const temporaryLabel = "temporary"

/** A DNS label (RFC 1035 §2.3.1) as near to the name as it gets; empty where nothing is left. */
const slugOf = (name: string): string =>
  normalForm(name, "NFKD")
    .toLowerCase()
    .replace(/\p{M}/gu, "")
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, labelMax)
    .replace(/^-|-$/g, "")

/** Room for the id beside it: a label has at most 63 characters. */
const labelMax = 40

/** Ids are ours or a caller's, who may have put anything in them. */
const labelOf = (id: string): string => slugOf(id) || "org"
