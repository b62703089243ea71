import { portHint } from "../../boot/edge/kept.ts"
import type { Start } from "../../boot/running.ts"
import { uiEntry } from "../../gen/ui-assets.ts"
import { reasonText } from "../../kernel/fault.ts"
import { pagesWith } from "../../login/index.ts"
import type { HttpListener } from "../listener.ts"
import type { ServerServices } from "../services.ts"
import { answeredPlain, httpProof, tlsProof } from "./acme/challenge.ts"
import { acmeIssuer, isPublicName } from "./acme/issuer.ts"
import { hostsBeyond, hostsMax, secureHosts } from "./hosts.ts"
import { internalIssuer } from "./internal.ts"
import { openShelf, ownCertificates } from "./own-certificates.ts"
import { trustRoutes } from "./trust.ts"

/** Certificates that come by themselves; read where the configuration wants them. */
export async function ownSource(
  services: ServerServices,
  { config, folder }: Pick<Start, "config" | "folder">,
) {
  const { clock, random } = services
  const shelf = openShelf(folder, services)
  if (config.tls === "internal") {
    const issuer = internalIssuer({ clock, random, shelf })
    const hosts = hostsOf(services)
    const source = await ownCertificates(services, shelf, { issuer, hosts })
    return {
      first: source.first,
      keep: ({ present }: HttpListener) => source.keep(present),
      routes: trustRoutes(services, shelf, pagesWith(uiEntry)),
    }
  }
  const all = hostsOf(services)
  const hosts = () => all().filter(isPublicName)
  const challenges = new Map<string, string>()
  const listener = Promise.withResolvers<HttpListener>()
  const lost = (cause: unknown) => {
    const because = reasonText(cause)
    services.log.error("--listen is tried again and again: {because}", { because })
  }
  const proof =
    config.acmeChallenge === "http-01"
      ? httpProof(challenges)
      : tlsProof({ clock, hint: portHint(config), listener: listener.promise, lost })
  const issuer = acmeIssuer(config, { clock, shelf, proof })
  const { first, keep } = await ownCertificates(services, shelf, { issuer, hosts })
  return {
    first,
    keep: (http: HttpListener) => {
      listener.resolve(http)
      return keep(http.present)
    },
    plain: (request: Request) => answeredPlain(challenges, request),
  }
}

/** The hosts that get certificates; that there are more is said once, and whenever it changes. */
function hostsOf(services: ServerServices) {
  let said = 0
  return () => {
    const beyond = hostsBeyond(services).length
    if (beyond > said) {
      services.log.error("{beyond} hosts get no certificate: more than {hostsMax} are too many", {
        beyond,
        hostsMax,
      })
    }
    said = beyond
    return secureHosts(services)
  }
}
