import {
  type FoundProvider,
  findServiceProvider,
  isAppActive,
  serviceProviderOf,
} from "../../domain/app/index.ts"
import type { Requested } from "../../domain/grant/index.ts"
import type { Cx } from "../../store/index.ts"
import type { Binding } from "../../xml/names.ts"

/** Where an answer goes that nobody else may get: to an address that the metadata names. */
export type Back = {
  readonly appId: string
  readonly entityId: string
  readonly url: string
  readonly binding: Binding
  /** Absent where nobody has asked. */
  readonly requestId?: string
  readonly relayState: string
}

/** The service provider that says who it is; undefined for one that may not be answered (now). */
export async function usableProvider(cx: Cx, entityId: string): Promise<FoundProvider | undefined> {
  const found = await findServiceProvider(cx, entityId)
  return found && isUsable(cx, found) ? found : undefined
}

function isUsable(cx: Cx, { appId, provider }: FoundProvider): boolean {
  const { validUntil = Infinity } = provider
  return isAppActive(cx, appId) && cx.clock.now() < validUntil
}

/** Where the answer to a request goes that was kept meanwhile. */
export function backOf(asked: Requested): Back {
  const { appId, redirectUri: url, saml, state: relayState = "" } = asked
  if (!saml) throw new Error("a request that did not come by SAML")
  const { entityId, binding, requestId } = saml
  return { appId, entityId, url, binding, ...(requestId && { requestId }), relayState }
}

/** Whether an administrator has taken away meanwhile where an answer was to go. */
export async function isGone(cx: Cx, asked: Requested): Promise<boolean> {
  const found = await serviceProviderOf(cx, asked.appId)
  if (!found || !isUsable(cx, found) || found.provider.entityId !== asked.saml?.entityId) {
    return true
  }
  const { consumers } = found.provider
  return !consumers.some(
    ({ url, binding }) => url === asked.redirectUri && binding === asked.saml?.binding,
  )
}
