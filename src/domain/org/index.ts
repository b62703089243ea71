import type { Call } from "../../kernel/context.ts"
import type { Cx } from "../../store/index.ts"
import { org } from "./model.ts"

export {
  activateOrganization,
  addOrganization,
  createOrganization,
  deactivateOrganization,
  renameOrganization,
} from "./commands.ts"
export { type Org, type OrgEvent, type OrgStatus, org } from "./model.ts"
export { type OrgRow, orgRow, orgs, orgView } from "./view.ts"

/** What an access rule may hang from, by the name of the resource. */
export const chains = {
  org: (cx: Cx, id: string) =>
    cx.store.receipt(cx, org, id) ? ({ instance: true, org: id } as const) : undefined,
}

/** Whether an organisation exists and nobody has stopped it. */
export const isOrgActive = (cx: Pick<Cx, "store" | "instance">, id: string): boolean =>
  cx.store.state(cx, org, id).status === "active"

/** The organisation of a v1 call: the one it names, else the caller's own. */
export const contextOrg = (cx: Pick<Call, "orgId" | "caller">): string =>
  cx.orgId ?? (cx.caller.kind === "user" ? cx.caller.orgId : "")
