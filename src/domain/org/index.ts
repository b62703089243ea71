import type { Cx, Decision } from "../../store/index.ts"
import { domainOf } from "./domain.ts"
import { orgMetadataView } from "./metadata-view.ts"
import { isThere, org } from "./model.ts"
import { orgOfProvenDomain, orgView } from "./view.ts"

export { contextOrg } from "../../kernel/context.ts"
export {
  addOrganization,
  changeOrganization,
  deactivateOrganization,
  removeOrganization,
  temporaryLabel,
  yieldDomain,
} from "./commands.ts"
export {
  addDomain,
  domainClaim,
  domainOf,
  hasProvenDomain,
  hostOf,
  isProvenDomain,
  setPrimaryDomain,
  verifyDomain,
  vouchDomain,
} from "./domain.ts"
export { metadataUndo } from "./metadata.ts"
export { heldMetadata } from "./metadata-view.ts"
export {
  heldDomains,
  isThere,
  type Org,
  type OrgEvent,
  type OrgOidcSettings,
  org,
  provenDomainOf,
} from "./model.ts"
export { findProof } from "./proof.ts"
export { findOrg, inOrgWithDomain, isOnlyOrg, orgOfDomain, orgOfProvenDomain } from "./view.ts"

/** Whether an organisation is there at all, stopped or not. What one that is gone owned is gone. */
export const isOrgThere = (cx: Pick<Cx, "store" | "instance">, id: string): boolean =>
  isThere(cx.store.state(cx, org, id))

/**
 * The organization whose primary domain this is; undefined where it is nobody's, or not proven:
 * applications restrict sign-in to an organization by it.
 */
export function orgWithDomain(cx: Cx, text: string): string | undefined {
  const id = orgOfProvenDomain(cx, text)
  if (id === undefined) return undefined
  return cx.store.state(cx, org, id).primaryDomain === domainOf(text) ? id : undefined
}

/** How often an organisation was stopped: whatever its people signed in to before is over. */
export const orgStops = (read: Pick<Decision, "state">, id: string): number =>
  read.state(org, id).stops

/** Whether an organisation exists and nobody has stopped it. */
export const isOrgActive = (cx: Pick<Cx, "store" | "instance">, id: string): boolean =>
  cx.store.state(cx, org, id).status === "active"

/** What this module is to the whole. */
export const module = {
  aggregates: [org],
  views: [orgView, orgMetadataView],
  chains: {
    org: (cx: Cx, id: string) =>
      isOrgThere(cx, id) ? ({ instance: true, org: id } as const) : undefined,
  },
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
