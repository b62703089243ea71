import { requireInstance } from "../domain/instance/index.ts"
import { callbackPaths } from "../login/index.ts"
import { isLoopback } from "../protocol/redirect-uri.ts"
import { cached } from "../store/index.ts"

/** Addresses of what speaks SAML. */
export const paths = {
  metadata: "/saml/v2/metadata",
  certificate: "/saml/v2/certificate",
  sso: "/saml/v2/SSO",
  callback: callbackPaths.saml,
  slo: "/saml/v2/SLO",
} as const

/** What others know us by, and where they send what is for us. */
export type Self = {
  readonly entityId: string
  readonly sso: string
  readonly slo: string
  readonly certificate: string
  /** Whether what people type crosses no network in the open. */
  readonly secure: boolean
}

/** Made of the configured public address, never of what a request calls us. */
export const selfOf = cached(
  (cx): Self => {
    const { publicUrl } = requireInstance(cx)
    const at = (path: string) => `${publicUrl}${path}`
    return {
      entityId: at(paths.metadata),
      sso: at(paths.sso),
      slo: at(paths.slo),
      certificate: at(paths.certificate),
      secure: publicUrl.startsWith("https:") || isLoopback(new URL(publicUrl).hostname),
    }
  },
  ["instance"],
)
