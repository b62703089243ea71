import { randomToken } from "../../kernel/crypto/random.ts"
import type { Calls, Cx, Reactor, Receipt, Transaction } from "../../store/index.ts"
import {
  addDomain,
  domainOf,
  findProof,
  hostOf,
  org,
  orgOfDomain,
  temporaryLabel,
  verifyDomain,
  yieldDomain,
} from "../org/index.ts"
import { claimUserName } from "../user/index.ts"
import { strangersOn } from "../user-lookup/index.ts"

/** How many users get another name in one step. */
const batch = 50

/** Adds a domain; it needs a proof where it would take something from others. */
export async function addOrganizationDomain(
  cx: Cx,
  orgId: string,
  domain: string,
): Promise<Receipt> {
  const isUsed = (name: string) => strangersOn(cx, { domain: name, orgId, limit: 1 }).length > 0
  return addDomain(cx, orgId, { domain, isUsed })
}

/**
 * Looks for the proof of a domain, and counts it as the organisation's; whoever had it on trust has
 * it no more. Users of others whose names end in it get another name: the first of them at once,
 * the others in the background; nobody signs in with those names any more.
 */
export async function verifyOrganizationDomain(
  cx: Cx,
  orgId: string,
  text: string,
): Promise<Receipt> {
  const proof = await findProof(cx, orgId, text)
  const step = await cx.store.transact(cx, (tx) => {
    if (!proof) return void tx.state(org, orgId)
    yieldDomain(tx, proof.domain, orgId)
    verifyDomain.within(tx, orgId, proof)
    claimSome(cx, tx, { orgId, domain: proof.domain })
  })
  return step.receipt(org, orgId)
}

type Claimed = { readonly orgId: string; readonly domain: string }

/** Answers whether there was anybody. */
function claimSome(cx: Cx, tx: Transaction, { orgId, domain }: Claimed): boolean {
  const users = strangersOn(cx, { domain, orgId, limit: batch })
  for (const id of users) {
    const userName = `${randomToken(tx.random, 12)}@${temporaryLabel}.${hostOf(tx)}`
    claimUserName.within(tx, id, { domain, orgId, userName })
  }
  return users.length > 0
}

/** Renames whoever still has a name that ends in the domain; nobody once it is not theirs. */
export async function claimNames(cx: Cx, claimed: Claimed): Promise<void> {
  while (orgOfDomain(cx, claimed.domain) === claimed.orgId) {
    const step = await cx.store.transact(cx, (tx) => claimSome(cx, tx, claimed))
    if (!step.value) return
  }
}

/** Goes on where a stop of the process has interrupted it. */
export const domainClaims = (call: Calls): Reactor => ({
  name: "domain-claims",
  on: {
    "org.domain.verified": (event) =>
      claimNames(call(event.instance, "domain-claims"), {
        orgId: event.id,
        domain: domainIn(event.data),
      }),
  },
})

const domainIn = (data: object): string =>
  "domain" in data && typeof data.domain === "string" ? domainOf(data.domain) : ""
