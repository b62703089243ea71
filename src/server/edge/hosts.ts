import { domainsOf, instanceIds, requireInstance } from "../../domain/instance/index.ts"
import type { ServerServices } from "../services.ts"

/** The maximum number of hosts with automatic certificates. */
export const hostsMax = 200

/** The hosts without a certificate because the limit is exceeded; normally empty. */
export const hostsBeyond = (services: Served, most = hostsMax): readonly string[] =>
  allHosts(services).slice(most)

/**
 * The https hosts of the server without ports: those of public URLs and domains of instances, and
 * before the setup that of the configuration.
 */
export const secureHosts = (services: Served): readonly string[] =>
  allHosts(services).slice(0, hostsMax)

type Served = Pick<ServerServices, "store" | "call" | "publicUrl">

function allHosts({ store, call, publicUrl }: Served): readonly string[] {
  const instances = instanceIds(store)
  const hosts = instances.flatMap((instance) => {
    const cx = call(instance, "certificates")
    if (!isSecure(requireInstance(cx).publicUrl)) return []
    return domainsOf(cx, 0).map(({ domain }) => domain)
  })
  const configuredHosts =
    publicUrl !== undefined && isSecure(publicUrl) ? [new URL(publicUrl).hostname] : []
  const all = instances.length === 0 ? configuredHosts : hosts
  return [...new Set(all.map((host) => host.toLowerCase()))]
}

const isSecure = (url: string): boolean => url.startsWith("https:")
