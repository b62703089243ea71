import { requireInstance } from "../domain/instance/index.ts"
import { callbackPaths } from "../login/index.ts"
import { isLoopback } from "../protocol/redirect-uri.ts"
import { cacheQuery } from "../store/index.ts"

/** Paths of the SAML endpoints. */
export const paths = {
  metadata: "/saml/v2/metadata",
  certificate: "/saml/v2/certificate",
  sso: "/saml/v2/SSO",
  callback: callbackPaths.saml,
  slo: "/saml/v2/SLO",
} as const

/** The entity ID and endpoints of the identity provider. */
export type SamlEntity = {
  readonly entityId: string
  readonly sso: string
  readonly slo: string
  readonly certificate: string
  /** Whether users reach it by https. */
  readonly secure: boolean
}

/** Derived from the configured public URL, never from a request. */
export const entityOfInstance = cacheQuery(
  (cx): SamlEntity => {
    const { publicUrl } = requireInstance(cx)
    const urlOf = (path: string) => `${publicUrl}${path}`
    return {
      entityId: urlOf(paths.metadata),
      sso: urlOf(paths.sso),
      slo: urlOf(paths.slo),
      certificate: urlOf(paths.certificate),
      secure: publicUrl.startsWith("https:") || isLoopback(new URL(publicUrl).hostname),
    }
  },
  ["instance"],
)
