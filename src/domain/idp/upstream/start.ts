import { createHash } from "node:crypto"
import type { Cx } from "../../../store/index.ts"
import { requireInstance } from "../../instance/index.ts"
import type { OwnedIdp } from "../commands.ts"
import type { ProviderRequest } from "../intent/flow-state.ts"
import { createSignOnUrl } from "../saml/request.ts"
import { serviceProviderFor } from "../saml/service-provider.ts"
import { forwardedParameters } from "./forward.ts"
import { upstreamError } from "./identity.ts"
import { getServer } from "./server.ts"
import { createTokenUrl, tokenPath } from "./token.ts"
import { findUpstream } from "./vendor.ts"

/** Callback path of instance providers; those of organizations are below it. */
export const callbackPath = "/idps/callback"

/**
 * The redirect URI to register at a provider. Each provider of an organization has its own, so that
 * answers of different providers can be told apart even without an issuer parameter (RFC 9700
 * §4.4.2.2).
 */
export function redirectUriOf(cx: Cx, { idp, place: owner }: OwnedIdp): string {
  if (idp.settings.kind === "saml") return serviceProviderFor(cx, idp.id).acs
  const own = owner === undefined ? callbackPath : `/idps/${idp.id}/callback`
  // A token is verified with the keys of its provider, so mix-up is not possible.
  const path = idp.settings.kind === "jwt" ? tokenPath : own
  return `${requireInstance(cx).publicUrl}${path}`
}

/** The URL to send the browser to (RFC 6749 §4.1.1, OpenID Connect Core §3.1.2.1). */
export async function createAuthorizationUrl(
  cx: Cx,
  ownedIdp: OwnedIdp,
  { state, flow, requested = {} }: ProviderRequest,
): Promise<string> {
  const { settings } = ownedIdp.idp
  if (settings.kind === "saml") return createSignOnUrl(cx, ownedIdp, { state, flow: flow })
  if (settings.kind === "jwt") return createTokenUrl(settings, state)
  const upstream = findUpstream(settings)
  if (!upstream) throw upstreamError("answer_refused")
  const server = await getServer(cx, upstream)
  const url = URL.parse(server.authorization_endpoint ?? "")
  if (!url) throw upstreamError("answer_refused")
  const parameters: Readonly<Record<string, string>> = {
    response_type: "code",
    client_id: upstream.clientId,
    redirect_uri: redirectUriOf(cx, ownedIdp),
    scope: upstream.scopes.join(" "),
    state,
    ...(upstream.protocol === "oidc" && { nonce: flow.nonce }),
    ...(upstream.protocol === "oidc" && upstream.isFormPost && { response_mode: "form_post" }),
    ...(upstream.usePkce && {
      code_challenge: createHash("sha256").update(flow.verifier).digest("base64url"),
      code_challenge_method: "S256",
    }),
    ...forwardedParameters(ownedIdp.idp, requested),
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}
