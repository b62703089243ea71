import type { Cx } from "../../store/index.ts"
import { org } from "./model.ts"
import { management } from "./v1.ts"
import { v2 } from "./v2.ts"
import { orgView } from "./view.ts"

export {
  activateOrganization,
  addOrganization,
  createOrganization,
  deactivateOrganization,
  renameOrganization,
} from "./commands.ts"
export { contextOrg } from "./context.ts"
export { type Org, type OrgEvent, type OrgStatus, org } from "./model.ts"
export { listOrgs } from "./v1.ts"
export { findOrg, type OrgRow, orgs, orgView } from "./view.ts"

/** What this room keeps streams of. */
export const aggregates = [org] as const

/** What this room shows. */
export const views = [orgView] as const

/** What this room answers of the book. */
export const shares = [management, v2] as const

/** What an access rule may hang from, by the name of the resource. */
export const chains = {
  org: (cx: Cx, id: string) =>
    cx.store.receipt(cx, org, id) ? ({ instance: true, org: id } as const) : undefined,
}

/** The organisation whose primary domain this is; undefined where it is nobody's. */
export function orgWithDomain(cx: Cx, text: string): string | undefined {
  const domain = text.toLowerCase()
  const holder = cx.store.log.holder(cx.instance, "org_domain", domain, cx.clock.now())
  if (holder?.stream !== org.stream) return undefined
  return cx.store.state(cx, org, holder.id).primaryDomain === domain ? holder.id : undefined
}

/** Whether an organisation exists and nobody has stopped it. */
export const isOrgActive = (cx: Pick<Cx, "store" | "instance">, id: string): boolean =>
  cx.store.state(cx, org, id).status === "active"
