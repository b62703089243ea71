import type { Cx } from "../../store/index.ts"
import { instance } from "./model.ts"

export { clientClaim, releaseClientId, takeClientId } from "./client-id.ts"
export {
  addInstance,
  addInstanceMember,
  bestStanding,
  changeInstanceMember,
  findInstance,
  keepOwner,
  mustStayOwned,
  removeInstanceMember,
  renameInstance,
  requireInstance,
  type Standing,
  setDefaultOrg,
  setOwnResources,
  setPublicUrl,
  standings,
} from "./commands.ts"
export { hasDomain } from "./domain.ts"
export {
  addDomain,
  addTrustedDomain,
  keepPrimary,
  publicUrlAt,
  removeDomain,
  removeInstance,
  removeTrustedDomain,
} from "./domain-change.ts"
export {
  type Instance,
  type InstanceEvent,
  type InstanceMember,
  instance,
  memberOf,
  ownerRole,
  ownersOf,
} from "./model.ts"

export type { KeyRotation, OidcSettings, SecuritySettings } from "./setting.ts"
export {
  addOidcSettings,
  changeOidcSettings,
  checkLifetimes,
  noKey,
  setSecurity,
  signedLifetimeMax,
} from "./setting-change.ts"

/** What this room keeps streams of. */
export const aggregates = [instance] as const

/** What an access rule may hang from, by the name of the resource. */
export const chains = {
  /** `true` is how a request says "the instance" where it can't name it. */
  instance: (cx: Cx, id: string) =>
    (id === cx.instance || id === "true") &&
    cx.store.state(cx, instance, cx.instance).status === "active"
      ? ({ instance: true } as const)
      : undefined,
}

export {
  grpcHost,
  type InstanceFilter,
  type InstanceSort,
  instanceAt,
  instanceHostView,
  instanceIds,
  instanceView,
  namedInstance,
  removedInstances,
  searchInstances,
} from "./host.ts"
export { domainOf } from "./name.ts"

/** What all instances share is kept as if it were of one more, which nobody can reach. */
export const systemInstance = "system"
