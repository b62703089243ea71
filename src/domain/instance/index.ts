import type { Cx } from "../../store/index.ts"
import { instanceHostView, instanceView } from "./host.ts"
import { instance } from "./model.ts"

export { clientClaim, releaseClientId, takeClientAddress, takeClientId } from "./client-id.ts"
export {
  addInstance,
  addInstanceMember,
  bestStanding,
  changeInstanceMember,
  findInstance,
  internalFilter,
  isLastOwner,
  keepOwner,
  mustStayOwned,
  originOf as publicOriginOf,
  removeInstanceMember,
  requireInstance,
  type Standing,
  setDefaultLanguage,
  setDefaultOrg,
  setOwnResources,
  setPublicUrl,
  standings,
} from "./commands.ts"
export { domainsOf, hasDomain, isKnownHost } from "./domain.ts"
export { keepPrimary, publicUrlAt, removeInstance } from "./domain-change.ts"
export { grpcHost, instanceAt, instanceIds, isOnlyInstance, removedInstances } from "./host.ts"
export {
  type Instance,
  type InstanceEvent,
  instance,
  memberOf,
  ownerRole,
  ownersOf,
} from "./model.ts"
export { domainOf } from "./name.ts"
export {
  type ClientRegistration,
  consentLifetimeOf,
  type KeyRotation,
  type OidcSettings,
} from "./setting.ts"
export {
  addOidcSettings,
  changeOidcSettings,
  checkLifetimes,
  noKeyError,
  signedLifetimeMax,
} from "./setting-change.ts"

/** What all instances share is kept as if it were of one more, which nobody can reach. */
export const systemInstance = "system"

/** What this module is to the whole. */
export const module = {
  aggregates: [instance],
  views: [instanceHostView, instanceView],
  chains: {
    /** `true` is how a request says "the instance" where it can't name it. */
    instance: (cx: Cx, id: string) =>
      (id === cx.instance || id === "true") &&
      cx.store.state(cx, instance, cx.instance).status === "active"
        ? ({ instance: true } as const)
        : undefined,
  },
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
