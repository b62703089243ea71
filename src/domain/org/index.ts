import type { Cx } from "../../store/index.ts"
import { domainOf } from "./domain.ts"
import { orgMetadataView } from "./metadata-view.ts"
import { isThere, org } from "./model.ts"
import { orgOfDomain, orgView } from "./view.ts"

export {
  activateOrganization,
  addOrganization,
  createOrganization,
  deactivateOrganization,
  removeOrganization,
  renameOrganization,
  temporaryLabel,
  yieldDomain,
} from "./commands.ts"
export { contextOrg } from "./context.ts"
export {
  addDomain,
  challengeDomain,
  domainClaim,
  domainOf,
  hostOf,
  removeDomain,
  setPrimaryDomain,
  verifyDomain,
} from "./domain.ts"
export { removeMetadata, setMetadata } from "./metadata.ts"
export {
  heldDomains,
  isThere,
  type Org,
  type OrgEvent,
  type OrgStatus,
  org,
} from "./model.ts"
export { type DomainPolicy, standardPolicy } from "./policy.ts"
export { findProof } from "./proof.ts"
export {
  findOrg,
  inOrgWithDomain,
  type OrgRow,
  orgDomains,
  orgOfDomain,
  orgs,
  orgView,
} from "./view.ts"

/** What this room keeps streams of. */
export const aggregates = [org] as const

/** What this room shows. */
export const views = [orgView, orgMetadataView] as const

/** What an access rule may hang from, by the name of the resource. */
export const chains = {
  org: (cx: Cx, id: string) =>
    isOrgThere(cx, id) ? ({ instance: true, org: id } as const) : undefined,
}

/** Whether an organisation is there at all, stopped or not. What one that is gone owned is gone. */
export const isOrgThere = (cx: Pick<Cx, "store" | "instance">, id: string): boolean =>
  isThere(cx.store.state(cx, org, id))

/** The organisation whose primary domain this is; undefined where it is nobody's. */
export function orgWithDomain(cx: Cx, text: string): string | undefined {
  const id = orgOfDomain(cx, text)
  if (id === undefined) return undefined
  return cx.store.state(cx, org, id).primaryDomain === domainOf(text) ? id : undefined
}

/** Whether an organisation exists and nobody has stopped it. */
export const isOrgActive = (cx: Pick<Cx, "store" | "instance">, id: string): boolean =>
  cx.store.state(cx, org, id).status === "active"
