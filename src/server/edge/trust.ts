import { X509Certificate } from "node:crypto"
import { instanceIds } from "../../domain/instance/index.ts"
import { originOf } from "../../http/origin.ts"
import { createArea } from "../../http/route.ts"
import type { Visit } from "../../http/visit.ts"
import type { ShowPage } from "../../login/index.ts"
import { createAnonymousCall } from "../caller.ts"
import type { ServerServices } from "../services.ts"
import { createSetupCall } from "../setup/routes.ts"
import { findRoot } from "./internal-issuer.ts"
import type { CertificateStore } from "./managed-certificates.ts"

const pagePath = "/ui/trust"
const downloadPath = `${pagePath}/root.crt`

/** The page that explains how a device can trust this server, and the root to install. */
export function trustRoutes(
  services: ServerServices,
  shelf: Pick<CertificateStore, "content">,
  show: ShowPage,
) {
  const answer = async ({ request, peer, url }: Visit): Promise<Response | undefined> => {
    if (request.method !== "GET") return undefined
    const origin = originOf(services, request, peer)
    const { hostname } = new URL(`https://${origin.host}`)
    const root = findRoot(shelf, hostname)
    // The setup also uses https and needs the root first.
    const cx =
      instanceIds(services.store).length === 0
        ? createSetupCall(services, request, origin)
        : createAnonymousCall(services, request.headers, origin)
    if (!root || !cx) return new Response("no root certificate for this host\n", { status: 404 })
    const certificate = new X509Certificate(root.cert)
    if (url.pathname === downloadPath) return downloadResponse(certificate.raw, hostname)
    const pageProps = { host: hostname, fingerprint: certificate.fingerprint256 }
    return show(cx, (ui, shared) =>
      ui.TrustPage({ ...shared, ...pageProps, downloadHref: downloadPath }),
    )
  }
  return createArea("console", {
    [pagePath]: { anyHost: answer },
    [downloadPath]: { anyHost: answer },
  })
}

/** DER, which all systems support (RFC 5280 §4.2.1.13 defines the type). */
function downloadResponse(bytes: Uint8Array, host: string): Response {
  const name = host.replace(/[^\w.-]/g, "-")
  return new Response(new Uint8Array(bytes), {
    headers: {
      "content-type": "application/x-x509-ca-cert",
      "content-disposition": `attachment; filename="latchkey-${name}.crt"`,
      "cache-control": "no-store",
    },
  })
}
