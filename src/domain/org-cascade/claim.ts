import { randomToken } from "../../kernel/crypto/random.ts"
import type { CallFactory, Cx, Reactor, Receipt, Transaction } from "../../store/index.ts"
import {
  addDomain,
  findOrgByDomain,
  findProof,
  hostOf,
  normalizeDomain,
  org,
  releaseUnverifiedDomain,
  temporaryLabel,
  verifyDomain,
} from "../org/index.ts"
import { claimUserName } from "../user/index.ts"
import { listOthersOnDomain } from "../user-lookup/index.ts"

/** The number of users to rename in one step. */
const batchSize = 50

/** Adds a domain. Requires a proof if it would affect users of other organizations. */
export async function addOrganizationDomain(
  cx: Cx,
  orgId: string,
  domain: string,
): Promise<Receipt> {
  const isUsed = (name: string) =>
    listOthersOnDomain(cx, { domain: name, orgId, limit: 1 }).length > 0
  return addDomain(cx, orgId, { domain, isUsed })
}

/**
 * Verifies the proof of a domain and assigns the domain to the organization; an organization that
 * had it unverified loses it. Users of other organizations whose names end in the domain are
 * renamed: the first ones immediately, the others in the background. The old names can no longer be
 * used to sign in.
 */
export async function verifyOrganizationDomain(
  cx: Cx,
  orgId: string,
  text: string,
): Promise<Receipt> {
  const proof = await findProof(cx, orgId, text)
  const step = await cx.store.transact(cx, (tx) => {
    if (!proof) return void tx.state(org, orgId)
    releaseUnverifiedDomain(tx, proof.domain, orgId)
    verifyDomain.within(tx, orgId, proof)
    claimBatch(cx, tx, { orgId, domain: proof.domain })
  })
  return step.receipt(org, orgId)
}

type DomainClaim = { readonly orgId: string; readonly domain: string }

/** Returns whether any user was renamed. */
function claimBatch(cx: Cx, tx: Transaction, { orgId, domain }: DomainClaim): boolean {
  const users = listOthersOnDomain(cx, { domain, orgId, limit: batchSize })
  for (const id of users) {
    const userName = `${randomToken(tx.random, 12)}@${temporaryLabel}.${hostOf(tx)}`
    claimUserName.within(tx, id, { domain, orgId, userName })
  }
  return users.length > 0
}

/**
 * Renames all users whose names still end in the domain; stops if the organization no longer owns
 * it.
 */
export async function claimNames(cx: Cx, claim: DomainClaim): Promise<void> {
  while (findOrgByDomain(cx, claim.domain) === claim.orgId) {
    const step = await cx.store.transact(cx, (tx) => claimBatch(cx, tx, claim))
    if (!step.value) return
  }
}

/** Resumes after a restart. */
export const domainClaims = (call: CallFactory): Reactor => ({
  name: "domain-claims",
  on: {
    "org.domain.verified": (event) =>
      claimNames(call(event.instance, "domain-claims"), {
        orgId: event.id,
        domain: parseDomainOf(event.data),
      }),
  },
})

const parseDomainOf = (data: object): string =>
  "domain" in data && typeof data.domain === "string" ? normalizeDomain(data.domain) : ""
