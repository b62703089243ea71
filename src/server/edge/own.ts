import type { Start } from "../../boot/running.ts"
import { uiEntry } from "../../gen/ui-assets.ts"
import { pagesWith } from "../../login/index.ts"
import type { ServerServices } from "../services.ts"
import { answeredPlain } from "./acme/challenge.ts"
import { acmeIssuer, isPublicName } from "./acme/issuer.ts"
import { hostsBeyond, hostsMax, secureHosts } from "./hosts.ts"
import { internalIssuer } from "./internal.ts"
import { openShelf, ownCertificates } from "./own-certificates.ts"
import { withTrust } from "./trust.ts"

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
    return { ...source, around: withTrust(services, shelf, pagesWith(uiEntry)) }
  }
  const challenges = new Map<string, string>()
  const issuer = acmeIssuer(config, { clock, shelf, challenges })
  const all = hostsOf(services)
  const hosts = () => all().filter(isPublicName)
  return {
    ...(await ownCertificates(services, shelf, { issuer, hosts })),
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
        ...{ beyond, hostsMax },
      })
    }
    said = beyond
    return secureHosts(services)
  }
}
