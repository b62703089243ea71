import type { Cx } from "../../store/index.ts"
import { instanceHostView, instanceView } from "./host.ts"
import { instance } from "./model.ts"

export { claimClientId, claimClientUrl, clientClaim, releaseClientId } from "./client-id.ts"
export {
  addInstance,
  addInstanceMember,
  bestOwnerAbility,
  changeInstanceMember,
  findInstance,
  internalFilter,
  isLastOwner,
  parseOrigin as publicOriginOf,
  removeInstanceMember,
  requireInstance,
  requireOwner,
  requireRemainingOwner,
  type SignInAbility,
  setDefaultLanguage,
  setDefaultOrg,
  setOwnResources,
  setPublicUrl,
  signInAbilities,
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
export { parseDomain } from "./name.ts"
export {
  type ClientRegistration,
  consentLifetimeOf,
  type KeyRotation,
  type OidcSettings,
} from "./setting.ts"
export {
  addOidcSettings,
  changeOidcSettings,
  noKeyError,
  signedLifetimeMax,
  validateLifetimes,
} from "./setting-change.ts"

/** The ID under which data of all instances is stored, like an instance that can't be reached. */
export const systemInstance = "system"

/** The registration of this module. */
export const module = {
  aggregates: [instance],
  views: [instanceHostView, instanceView],
  chains: {
    /** `true` means "the instance" in requests that can't contain its ID. */
    instance: (cx: Cx, id: string) =>
      (id === cx.instance || id === "true") &&
      cx.store.state(cx, instance, cx.instance).status === "active"
        ? ({ instance: true } as const)
        : undefined,
  },
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
