import { existsSync } from "node:fs"
import type { Config } from "../../kernel/config.ts"
import { isEveryAddress } from "../../kernel/net/address.ts"
import { lanAddresses } from "../../runtime/lan-addresses.ts"

/** What Docker and Podman put into every container. */
const containerMarks = ["/.dockerenv", "/run/.containerenv"]
const isInContainer = () => containerMarks.some((file) => existsSync(file))

/**
 * A link by every address of this machine, the best first, where it listens on all of them and none
 * is the public one: a VM has no browser of its own. A container's own addresses lead nobody to it.
 */
export function setupLinks(
  link: string,
  { listen, publicUrl }: Pick<Config, "listen" | "publicUrl">,
  { isContained = isInContainer(), addresses = lanAddresses } = {},
): readonly string[] {
  const isEverywhere = !("path" in listen) && isEveryAddress(listen.host)
  if (publicUrl !== undefined || !isEverywhere || isContained) return [link]
  return [...addresses().map((host) => link.replace("//localhost", `//${host}`)), link]
}
