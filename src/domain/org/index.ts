import type { Cx, DecisionContext } from "../../store/index.ts"
import { normalizeDomain } from "./domain.ts"
import { orgMetadataView } from "./metadata-view.ts"
import { isExistingOrg, org } from "./model.ts"
import { findOrgByVerifiedDomain, orgView } from "./view.ts"

export { contextOrg } from "../../kernel/context.ts"
export {
  addOrganization,
  changeOrganization,
  deactivateOrganization,
  releaseUnverifiedDomain,
  removeOrganization,
  temporaryLabel,
} from "./commands.ts"
export {
  addDomain,
  addVouchedDomain,
  domainClaim,
  hasProvenDomain,
  hostOf,
  isProvenDomain,
  normalizeDomain,
  setPrimaryDomain,
  verifyDomain,
} from "./domain.ts"
export { metadataUndo } from "./metadata.ts"
export { metadataOfOrg } from "./metadata-view.ts"
export {
  isExistingOrg,
  loginDomains,
  type Org,
  type OrgEvent,
  type OrgOidcSettings,
  org,
  provenDomainOf,
} from "./model.ts"
export { findProof } from "./proof.ts"
export {
  findOrg,
  findOrgByDomain,
  findOrgByVerifiedDomain,
  inOrgWithDomain,
  isOnlyOrg,
} from "./view.ts"

/**
 * Whether an organization exists, active or not. What a deleted organization owned no longer
 * exists.
 */
export const orgExists = (cx: Pick<Cx, "store" | "instance">, id: string): boolean =>
  isExistingOrg(cx.store.state(cx, org, id))

/**
 * The organization with this verified primary domain; undefined otherwise. Applications use it to
 * restrict sign-in to an organization.
 */
export function orgWithDomain(cx: Cx, text: string): string | undefined {
  const id = findOrgByVerifiedDomain(cx, text)
  if (id === undefined) return undefined
  return cx.store.state(cx, org, id).primaryDomain === normalizeDomain(text) ? id : undefined
}

/** How often an organization was deactivated; older sessions of its users are invalid. */
export const orgStops = (read: Pick<DecisionContext, "state">, id: string): number =>
  read.state(org, id).stops

/** Whether an organization exists and is active. */
export const isOrgActive = (cx: Pick<Cx, "store" | "instance">, id: string): boolean =>
  cx.store.state(cx, org, id).status === "active"

/** The registration of this module. */
export const module = {
  aggregates: [org],
  views: [orgView, orgMetadataView],
  chains: {
    org: (cx: Cx, id: string) =>
      orgExists(cx, id) ? ({ instance: true, org: id } as const) : undefined,
  },
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
