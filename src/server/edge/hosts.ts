import { domainsOf, instanceIds, requireInstance } from "../../domain/instance/index.ts"
import type { ServerServices } from "../services.ts"

/** More than anybody has; what comes after them has no certificate. */
const hostsMax = 200

/**
 * The hosts that people reach us at by https, without ports: those of the public addresses and the
 * domains of instances, and before set-up the one of the configuration.
 */
export function secureHosts({
  store,
  call,
  publicUrl,
}: Pick<ServerServices, "store" | "call" | "publicUrl">): readonly string[] {
  const instances = instanceIds(store)
  const hosts = instances.flatMap((instance) => {
    const cx = call(instance, "certificates")
    if (!isSecure(requireInstance(cx).publicUrl)) return []
    return domainsOf(cx, 0).map(({ domain }) => domain)
  })
  const told = publicUrl !== undefined && isSecure(publicUrl) ? [new URL(publicUrl).hostname] : []
  const all = instances.length === 0 ? told : hosts
  return [...new Set(all.map((host) => host.toLowerCase()))].slice(0, hostsMax)
}

const isSecure = (url: string): boolean => url.startsWith("https:")
