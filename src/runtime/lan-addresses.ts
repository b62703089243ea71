import { networkInterfaces } from "node:os"

/** Bridges and other interfaces of containers, which nobody else reaches. */
const virtual = /^(docker|br-|veth|virbr|cni|flannel|podman)/

/** IPv4 addresses by which other machines reach this one, without those that it gave itself. */
export const lanAddresses = (interfaces = networkInterfaces()): readonly string[] =>
  Object.entries(interfaces).flatMap(([name, addresses = []]) =>
    addresses
      .filter(({ family, internal }) => family === "IPv4" && !internal && !virtual.test(name))
      .map(({ address }) => address)
      .filter((address) => !address.startsWith("169.254.")),
  )
