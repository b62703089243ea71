import {
  findServiceProvider,
  findServiceProviderByApp,
  isAppActive,
  type RegisteredServiceProvider,
} from "../../domain/app/index.ts"
import type { AuthorizationRequest } from "../../domain/grant/index.ts"
import type { Cx } from "../../store/index.ts"
import type { Binding } from "../../xml/names.ts"

/** The endpoint for the response, which must be in the metadata. */
export type ResponseTarget = {
  readonly appId: string
  readonly entityId: string
  readonly url: string
  readonly binding: Binding
  /** Absent if the identity provider initiated the sign-in. */
  readonly requestId?: string
  readonly relayState: string
}

/** The service provider with this entity ID; undefined if no response can be sent to it. */
export async function findUsableProvider(
  cx: Cx,
  entityId: string,
): Promise<RegisteredServiceProvider | undefined> {
  const found = await findServiceProvider(cx, entityId)
  return found && isUsable(cx, found) ? found : undefined
}

function isUsable(cx: Cx, { appId, provider }: RegisteredServiceProvider): boolean {
  const { validUntil = Infinity } = provider
  return isAppActive(cx, appId) && cx.clock.now() < validUntil
}

/** The endpoint for the response to a stored request. */
export function responseTargetOf(authorizationRequest: AuthorizationRequest): ResponseTarget {
  const { appId, redirectUri: url, saml, state: relayState = "" } = authorizationRequest
  if (!saml) throw new Error("the request is not a SAML request")
  const { entityId, binding, requestId } = saml
  return { appId, entityId, url, binding, ...(requestId && { requestId }), relayState }
}

/** Whether an administrator has removed the endpoint meanwhile. */
export async function isTargetRemoved(
  cx: Cx,
  authorizationRequest: AuthorizationRequest,
): Promise<boolean> {
  const found = await findServiceProviderByApp(cx, authorizationRequest.appId)
  if (
    !found ||
    !isUsable(cx, found) ||
    found.provider.entityId !== authorizationRequest.saml?.entityId
  ) {
    return true
  }
  const { consumers } = found.provider
  return !consumers.some(
    ({ url, binding }) =>
      url === authorizationRequest.redirectUri && binding === authorizationRequest.saml?.binding,
  )
}
