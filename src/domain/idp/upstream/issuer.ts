import { Fault, fieldError } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import type { Settings } from "../model.ts"
import { outgoing } from "./server.ts"

/** The issuer whose discovery document a provider has; empty where its kind has no other issuer. */
export const issuerOf = (settings: Settings): string =>
  settings.kind === "oidc" || settings.kind === "gitlab_self_hosted" ? settings.issuer : ""

/**
 * OpenID Connect Discovery §4.3: the discovery document of an issuer must state this very issuer.
 * Rejects one that states another, most often with or without a slash at the end, for nobody could
 * sign in. A provider that can't be reached yet is accepted.
 */
export async function mustStateIssuer(cx: Cx, settings: Settings): Promise<void> {
  const issuer = issuerOf(settings)
  const stated = issuer === "" ? undefined : await statedIssuer(cx, issuer)
  if (stated === undefined || stated === issuer) return
  const expected = `must be ${stated.slice(0, statedMax)}, as its discovery document states it`
  throw fieldError("idp.issuer_differs", "issuer", expected)
}

const statedMax = 500

/** Undefined where there is no document that states one. */
async function statedIssuer(cx: Cx, issuer: string): Promise<string | undefined> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`
  const headers = { accept: "application/json" }
  try {
    const response = await outgoing(cx, url, { method: "GET", headers })
    if (!response.ok) return undefined
    const document: unknown = await response.json()
    const stated = document instanceof Object ? Reflect.get(document, "issuer") : undefined
    return typeof stated === "string" ? stated : undefined
  } catch (cause) {
    if (cause instanceof Fault || cause instanceof SyntaxError) return undefined
    throw cause
  }
}
