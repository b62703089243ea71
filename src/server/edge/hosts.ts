import { domainsOf, instanceIds, requireInstance } from "../../domain/instance/index.ts"
import type { ServerServices } from "../services.ts"

/** For so many a server gets certificates by itself; what comes after them has none. */
export const hostsMax = 200

/** Which hosts have no certificate because there are too many of them; empty, nearly always. */
export const hostsBeyond = (services: Served, most = hostsMax): readonly string[] =>
  allHosts(services).slice(most)

/**
 * The hosts that people reach us at by https, without ports: those of the public addresses and the
 * domains of instances, and before set-up the one of the configuration.
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
  const told = publicUrl !== undefined && isSecure(publicUrl) ? [new URL(publicUrl).hostname] : []
  const all = instances.length === 0 ? told : hosts
  return [...new Set(all.map((host) => host.toLowerCase()))]
}

const isSecure = (url: string): boolean => url.startsWith("https:")
