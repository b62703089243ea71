import { networkInterfaces } from "node:os"

/** Network interfaces of containers, which other machines can't reach. */
const virtualInterface = /^(docker|br-|veth|virbr|cni|flannel|podman)/

/** IPv4 addresses at which other machines reach this one, without link-local ones. */
export const listLanAddresses = (interfaces = networkInterfaces()): readonly string[] =>
  Object.entries(interfaces).flatMap(([name, addresses = []]) =>
    addresses
      .filter(
        ({ family, internal }) => family === "IPv4" && !internal && !virtualInterface.test(name),
      )
      .map(({ address }) => address)
      .filter((address) => !address.startsWith("169.254.")),
  )
