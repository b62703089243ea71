import { Fault, fieldError } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import type { Settings } from "../model.ts"
import { sendRequest } from "./server.ts"

/** The issuer in the discovery document of a provider; empty if the kind has a fixed one. */
export const issuerOf = (settings: Settings): string =>
  settings.kind === "oidc" || settings.kind === "gitlab_self_hosted" ? settings.issuer : ""

/**
 * OpenID Connect Discovery §4.3: the discovery document must state exactly this issuer. Rejects a
 * mismatch, often a trailing slash, because no one could sign in. Accepts a provider that is not
 * reachable yet.
 */
export async function requireMatchingIssuer(cx: Cx, settings: Settings): Promise<void> {
  const issuer = issuerOf(settings)
  const stated = issuer === "" ? undefined : await fetchStatedIssuer(cx, issuer)
  if (stated === undefined || stated === issuer) return
  const statedIssuer = stated.slice(0, issuerLengthMax)
  const expected = `must be ${statedIssuer}, as stated in the discovery document`
  throw fieldError("idp.issuer_differs", "issuer", expected)
}

const issuerLengthMax = 500

/** Returns undefined if there is no document or it states no issuer. */
async function fetchStatedIssuer(cx: Cx, issuer: string): Promise<string | undefined> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`
  const headers = { accept: "application/json" }
  try {
    const response = await sendRequest(cx, url, { method: "GET", headers })
    if (!response.ok) return undefined
    const document: unknown = await response.json()
    const stated = document instanceof Object ? Reflect.get(document, "issuer") : undefined
    return typeof stated === "string" ? stated : undefined
  } catch (cause) {
    if (cause instanceof Fault || cause instanceof SyntaxError) return undefined
    throw cause
  }
}
