import { Fault } from "../../kernel/fault.ts"
import { givenName } from "../../kernel/given.ts"
import type { Cx, Decision, Draft, Receipt, Transaction } from "../../store/index.ts"
import { instance, lastOwner, ownersOf } from "../instance/index.ts"
import { type Org, type OrgEvent, org } from "./model.ts"

/** Adds an organisation; it owns itself and gets a domain made from its name. */
export function addOrganization(
  tx: Transaction,
  id: string,
  input: { readonly name: string },
): void {
  if (tx.state(org, id).status !== "absent") {
    throw new Fault("already_exists", "org.exists", "there is already an organisation with this id")
  }
  const name = givenName("name", input.name)
  const domain = freeDomain(tx, name, id)
  const drafts: Draft<OrgEvent>[] = [
    { type: "org.added", data: { name } },
    {
      type: "org.domain.primary.set",
      data: { domain },
      claims: [
        {
          take: "org_domain",
          key: domain,
          taken: {
            id: "org.domain_taken",
            message: "another organisation took this name at the same moment; please try again",
          },
        },
      ],
    },
  ]
  tx.append(org, id, drafts, id)
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

export const renameOrganization = org.command<string>((state, text) => {
  mustExist(state)
  const name = givenName("name", text)
  return name === state.name ? [] : [{ type: "org.changed", data: { name } }]
})

/**
 * Stops an organisation: none of its users signs in, none of its projects serves. Refuses the
 * default organisation, which the console lives in, and what would leave the instance ownerless.
 */
export const deactivateOrganization = org.command((state, _, cx, id) => {
  mustExist(state)
  if (state.status === "inactive") return []
  if (cx.state(instance, cx.instance).defaultOrgId === id) {
    throw new Fault(
      "failed_precondition",
      "org.is_default",
      "the default organisation can't be deactivated: the console belongs to it",
    )
  }
  if (holdsEveryOwner(cx, id)) throw lastOwner()
  return [{ type: "org.deactivated", data: {} }]
})

export const activateOrganization = org.command((state) => {
  mustExist(state)
  return state.status === "active" ? [] : [{ type: "org.reactivated", data: {} }]
})

function holdsEveryOwner(cx: Decision, orgId: string): boolean {
  const owners = ownersOf(cx.state(instance, cx.instance))
  return !owners.some(
    (owner) => owner.orgId !== orgId && cx.state(org, owner.orgId).status === "active",
  )
}

function mustExist(state: Org): void {
  if (state.status !== "absent") return
  throw new Fault("not_found", "org.missing", "there is no such organisation")
}

/** `<name>.<host of the instance>`, with the id in it where the name alone is taken. */
function freeDomain(tx: Transaction, name: string, id: string): string {
  const { publicUrl } = tx.state(instance, tx.instance)
  const host = publicUrl ? new URL(publicUrl).hostname : "localhost"
  const slug = slugOf(name)
  const plain = `${slug || labelOf(id)}.${host}`
  return tx.holder("org_domain", plain) ? `${slug || "org"}-${labelOf(id)}.${host}` : plain
}

/** A DNS label (RFC 1035 §2.3.1) as near to the name as it gets; empty where nothing is left. */
const slugOf = (name: string): string =>
  name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/\p{M}/gu, "")
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, labelMax)
    .replace(/^-|-$/g, "")

/** Room for the id beside it: a label has at most 63 characters. */
const labelMax = 40

/** Ids are ours or a caller's, who may have put anything in them. */
const labelOf = (id: string): string => slugOf(id) || "org"
