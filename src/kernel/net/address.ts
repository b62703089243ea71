import { BlockList, isIP } from "node:net"

/** Where to listen. */
export type Address = { readonly host: string; readonly port: number }

/** A socket in the file system, and who may use it, as chmod has it. */
export type SocketFile = { readonly path: string; readonly mode: number }

/** Where HTTP is served: at a port, or for programs of the same machine at a socket. */
export type Place = Address | SocketFile

/**
 * Reads what `addressOf` reads, or "unix:PATH", with who may use it behind a bar: "unix:PATH|660",
 * which is for its owner and their group, and holds where nothing is said.
 */
export function placeOf(text: string): Place | undefined {
  const [, path, mode = "660"] = /^unix:([^|\0]+)(?:\|0?([0-7]{3}))?$/.exec(text) ?? []
  return path === undefined ? addressOf(text) : { path, mode: Number.parseInt(mode, 8) }
}

/** Tells the address of the other end of a connection; "" where that has gone. */
export type Peer = () => string

/** What stands for the address of whoever comes by a socket: a proxy of this machine. */
export const socketPeer = "unix:"

/** Reads "HOST:PORT", "[IPv6]:PORT" or ":PORT" (every interface); undefined for anything else. */
export function addressOf(text: string): Address | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]*)):(\d{1,5})$/i.exec(text)
  const port = Number(match?.[3])
  if (!match || port > 65_535) return undefined
  const [, v6, name] = match
  if (v6 !== undefined) return isIP(v6) === 6 ? { host: v6, port } : undefined
  return { host: name || "0.0.0.0", port }
}

/** Writes an address the way `addressOf` reads it. */
export function addressText({ host, port }: Address): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`
}

/** Where a browser on the same machine finds what listens on `address`. */
export function localOrigin({ host, port }: Address, scheme: "http" | "https" = "http"): string {
  const local = ["0.0.0.0", "::", "127.0.0.1", "::1"].includes(host)
  const authority = addressText({ host: local ? "localhost" : host, port })
  const usual = scheme === "http" ? 80 : 443
  return `${scheme}://${port === usual ? authority.slice(0, -`:${usual}`.length) : authority}`
}

/** Whether a listener there takes connections to every address of the machine. */
export const isEveryAddress = (host: string): boolean => host === "0.0.0.0" || host === "::"

/** An address or a block of addresses: "10.0.0.1", "10.0.0.0/8", "fd00::/8". */
export type Range = { readonly address: string; readonly bits: number; readonly family: 4 | 6 }

/** Reads a range; undefined for anything else. */
export function rangeOf(text: string): Range | undefined {
  const match = /^([0-9a-f:.]+)(?:\/(\d{1,3}))?$/i.exec(text)
  const address = match?.[1] ?? ""
  const version = isIP(address)
  if (version !== 4 && version !== 6) return undefined
  const most = version === 4 ? 32 : 128
  const bits = Number(match?.[2] ?? most)
  return bits <= most ? { address, bits, family: version } : undefined
}

/** Whether an address lies in one of the ranges. */
export function matcherOf(ranges: readonly Range[]): (address: string) => boolean {
  // Made when the first address is asked for, which is not at start.
  let list: BlockList | undefined
  return (address) => {
    list ??= blockListOf(ranges)
    const plain = plainOf(address)
    const version = isIP(plain)
    return version !== 0 && list.check(plain, version === 6 ? "ipv6" : "ipv4")
  }
}

function blockListOf(ranges: readonly Range[]): BlockList {
  const list = new BlockList()
  for (const { address, bits, family } of ranges) list.addSubnet(address, bits, `ipv${family}`)
  return list
}

/** The same of ranges that stand in the code, which are read with the first address, too. */
export function within(...texts: readonly string[]): (address: string) => boolean {
  let matches: ((address: string) => boolean) | undefined
  return (address) => {
    matches ??= matcherOf(texts.flatMap((text) => rangeOf(text) ?? []))
    return matches(address)
  }
}

/** This machine itself. */
export const isLoopback = within("127.0.0.0/8", "::1")

/** Addresses that are nobody's on the internet: this machine's, and those of a local network. */
export const isLocal = within(
  "127.0.0.0/8",
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "169.254.0.0/16",
  "100.64.0.0/10",
  "::1",
  "fc00::/7",
  "fe80::/10",
)

/**
 * What is counted as one sender: an IPv4 address, or the /64 that a network gives to one customer
 * of IPv6. Proxies may write a port to it; what is no address counts as it stands.
 */
export function networkOf(address: string): string {
  const groups = groupsOf(address)
  return typeof groups === "string" ? groups : `${groups.join(":")}::/64`
}

/**
 * The networks that an address is counted in, the narrowest first: of IPv6 also the /56 and the /48
 * that one customer may have been given, and in which each new /64 costs nothing.
 */
export function networksOf(address: string): readonly string[] {
  const groups = groupsOf(address)
  if (typeof groups === "string") return [groups]
  const [a = "0", b = "0", c = "0", d = "0"] = groups
  const wide = (Number.parseInt(d, 16) & 0xff00).toString(16)
  return [`${groups.join(":")}::/64`, `${[a, b, c, wide].join(":")}::/56`, `${a}:${b}:${c}::/48`]
}

/** The first four groups of an IPv6 address; of anything else the whole text. */
function groupsOf(address: string): readonly string[] | string {
  const [, bracketed, dotted] = /^(?:\[(.*)\](?::\d+)?|([\d.]+):\d+)$/.exec(address) ?? []
  const plain = plainOf(bracketed ?? dotted ?? address)
  if (isIP(plain) !== 6) return plain.slice(0, addressMax)
  const [head = "", tail] = plain.replace(/%.*/, "").toLowerCase().split("::")
  const groups = head.split(":").filter((group) => group !== "")
  const after = tail?.split(":").filter((group) => group !== "") ?? []
  // A tail may end in a dotted IPv4 address, which is two groups; the first four never have it.
  const dots = after.at(-1)?.includes(".") ? 1 : 0
  const missing = tail === undefined ? 0 : 8 - groups.length - after.length - dots
  const all = [...groups, ...Array.from({ length: missing }, () => "0"), ...after]
  return all.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16))
}

const addressMax = 64

/** An IPv4 peer of a socket for both may come as "::ffff:10.0.0.1". */
const plainOf = (address: string) => address.replace(/^::ffff:(?=\d+\.)/i, "")
