import { portHint } from "../../boot/edge/certificate-file.ts"
import type { StartInput } from "../../boot/running.ts"
import { uiEntry } from "../../gen/ui-assets.ts"
import { errorText } from "../../kernel/fault.ts"
import { createShowPage } from "../../login/index.ts"
import type { HttpListener } from "../listener.ts"
import type { ServerServices } from "../services.ts"
import { createHttpChallenge, createTlsChallenge, respondToChallenge } from "./acme/challenge.ts"
import { createAcmeIssuer, isPublicName } from "./acme/issuer.ts"
import { hostsBeyond, hostsMax, secureHosts } from "./hosts.ts"
import { createInternalIssuer } from "./internal-issuer.ts"
import { manageCertificates, openCertificateStore } from "./managed-certificates.ts"
import { trustRoutes } from "./trust.ts"

/** Creates the source of automatic certificates; loaded only if the configuration enables them. */
export async function createManagedSource(
  services: ServerServices,
  { config, folder }: Pick<StartInput, "config" | "folder">,
) {
  const { clock, random } = services
  const shelf = openCertificateStore(folder, services)
  if (config.tls === "internal") {
    const issuer = createInternalIssuer({ clock, random, shelf })
    const hosts = createHostList(services)
    const source = await manageCertificates(services, shelf, { issuer, hosts })
    return {
      first: source.first,
      keep: ({ setCertificates }: HttpListener) => source.keep(setCertificates),
      routes: trustRoutes(services, shelf, createShowPage(uiEntry)),
    }
  }
  const all = createHostList(services)
  const hosts = () => all().filter(isPublicName)
  const challenges = new Map<string, string>()
  const listener = Promise.withResolvers<HttpListener>()
  const lost = (cause: unknown) => {
    const reason = errorText(cause)
    services.log.error("--listen could not be reclaimed, retrying: {because}", { because: reason })
  }
  const proof =
    config.acmeChallenge === "http-01"
      ? createHttpChallenge(challenges)
      : createTlsChallenge({ clock, hint: portHint(config), listener: listener.promise, lost })
  const issuer = createAcmeIssuer(config, { clock, shelf, proof })
  const { first, keep } = await manageCertificates(services, shelf, { issuer, hosts })
  return {
    first,
    keep: (http: HttpListener) => {
      listener.resolve(http)
      return keep(http.setCertificates)
    },
    plain: (request: Request) => respondToChallenge(challenges, request),
  }
}

/** The hosts with automatic certificates; logs when the number of hosts over the limit changes. */
function createHostList(services: ServerServices) {
  let reportedCount = 0
  return () => {
    const excessCount = hostsBeyond(services).length
    if (excessCount > reportedCount) {
      services.log.error(
        "{beyond} hosts get no certificate because there are more than {hostsMax} hosts",
        {
          beyond: excessCount,
          hostsMax,
        },
      )
    }
    reportedCount = excessCount
    return secureHosts(services)
  }
}
