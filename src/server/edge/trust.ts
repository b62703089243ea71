import { X509Certificate } from "node:crypto"
import { instanceIds } from "../../domain/instance/index.ts"
import { originOf } from "../../http/origin.ts"
import { areaOf } from "../../http/route.ts"
import type { Visit } from "../../http/visit.ts"
import type { ShowPage } from "../../login/index.ts"
import { anonymousCall } from "../caller.ts"
import type { ServerServices } from "../services.ts"
import { visitorBefore } from "../setup/routes.ts"
import { rootOf } from "./internal.ts"
import type { Shelf } from "./own-certificates.ts"

const pagePath = "/ui/trust"
const downloadPath = `${pagePath}/root.crt`

/** The page that says how a device comes to trust us, and what it needs. */
export function trustRoutes(services: ServerServices, shelf: Pick<Shelf, "kept">, show: ShowPage) {
  const answer = async ({ request, peer, url }: Visit): Promise<Response | undefined> => {
    if (request.method !== "GET") return undefined
    const origin = originOf(services, request, peer)
    const { hostname } = new URL(`https://${origin.host}`)
    const root = rootOf(shelf, hostname)
    // Who sets up comes by https, too, and needs it first of all.
    const cx =
      instanceIds(services.store).length === 0
        ? visitorBefore(services, request, origin)
        : anonymousCall(services, request.headers, origin)
    if (!root || !cx)
      return new Response("there is no root certificate for this host\n", { status: 404 })
    const certificate = new X509Certificate(root.cert)
    if (url.pathname === downloadPath) return download(certificate.raw, hostname)
    const shown = { host: hostname, fingerprint: certificate.fingerprint256 }
    return show(cx, (ui, shared) =>
      ui.TrustPage({ ...shared, ...shown, downloadHref: downloadPath }),
    )
  }
  return areaOf("console", {
    [pagePath]: { anywhere: answer },
    [downloadPath]: { anywhere: answer },
  })
}

/** DER, which every system takes (RFC 5280 §4.2.1.13 names the type). */
function download(bytes: Uint8Array, host: string): Response {
  const name = host.replace(/[^\w.-]/g, "-")
  return new Response(new Uint8Array(bytes), {
    headers: {
      "content-type": "application/x-x509-ca-cert",
      "content-disposition": `attachment; filename="latchkey-${name}.crt"`,
      "cache-control": "no-store",
    },
  })
}
