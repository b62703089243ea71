import { createHash } from "node:crypto"
import type { Cx } from "../../../store/index.ts"
import { requireInstance } from "../../instance/index.ts"
import type { Found } from "../commands.ts"
import type { Asked } from "../intent/kept.ts"
import { signOnUrl } from "../saml/request.ts"
import { samlSelf } from "../saml/self.ts"
import { forwardedParameters } from "./forward.ts"
import { upstreamError } from "./identity.ts"
import { serverOf } from "./server.ts"
import { tokenPath, tokenUrl } from "./token.ts"
import { upstreamOf } from "./vendor.ts"

/** Where every answer of a provider of the instance comes to; those of organisations lie below. */
export const callbackPath = "/idps/callback"

/**
 * Where a provider sends people back to, as it must be registered there. Those of organisations
 * have an address each: what one of them is sent by another's mistake or will is then told apart,
 * also where the provider doesn't say who it is (RFC 9700 §4.4.2.2).
 */
export function redirectUriOf(cx: Cx, { idp, place }: Found): string {
  if (idp.settings.kind === "saml") return samlSelf(cx, idp.id).acs
  const own = place === undefined ? callbackPath : `/idps/${idp.id}/callback`
  // A token is checked by the keys of its provider alone, so that there is no other to mistake.
  const path = idp.settings.kind === "jwt" ? tokenPath : own
  return `${requireInstance(cx).publicUrl}${path}`
}

/** The address that a browser is sent to (RFC 6749 §4.1.1, OpenID Connect Core §3.1.2.1). */
export async function authorizationUrl(
  cx: Cx,
  found: Found,
  { state, kept, requested = {} }: Asked,
): Promise<string> {
  const { settings } = found.idp
  if (settings.kind === "saml") return signOnUrl(cx, found, { state, kept })
  if (settings.kind === "jwt") return tokenUrl(settings, state)
  const upstream = upstreamOf(settings)
  if (!upstream) throw upstreamError("answer_refused")
  const server = await serverOf(cx, upstream)
  const url = URL.parse(server.authorization_endpoint ?? "")
  if (!url) throw upstreamError("answer_refused")
  const parameters: Readonly<Record<string, string>> = {
    response_type: "code",
    client_id: upstream.clientId,
    redirect_uri: redirectUriOf(cx, found),
    scope: upstream.scopes.join(" "),
    state,
    ...(upstream.protocol === "oidc" && { nonce: kept.nonce }),
    ...(upstream.protocol === "oidc" && upstream.isFormPost && { response_mode: "form_post" }),
    ...(upstream.usePkce && {
      code_challenge: createHash("sha256").update(kept.verifier).digest("base64url"),
      code_challenge_method: "S256",
    }),
    ...forwardedParameters(found.idp, requested),
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}
