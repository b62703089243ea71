import { existsSync } from "node:fs"
import type { Config } from "../../kernel/config.ts"
import { isEveryAddress } from "../../kernel/net/address.ts"
import { listLanAddresses } from "../../runtime/lan-addresses.ts"

/** Files that Docker and Podman create in every container. */
const containerMarks = ["/.dockerenv", "/run/.containerenv"]
const isInContainer = () => containerMarks.some((file) => existsSync(file))

/**
 * The setup link for each address of this machine, the best first, if the server listens on all of
 * them and the public URL is none of them: a VM has no browser. The addresses of a container are
 * not reachable from outside.
 */
export function setupLinks(
  link: string,
  { listen, publicUrl }: Pick<Config, "listen" | "publicUrl">,
  { isContained = isInContainer(), addresses = listLanAddresses } = {},
): readonly string[] {
  const isEverywhere = !("path" in listen) && isEveryAddress(listen.host)
  if (publicUrl !== undefined || !isEverywhere || isContained) return [link]
  return [...addresses().map((host) => link.replace("//localhost", `//${host}`)), link]
}
