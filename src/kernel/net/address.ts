import { BlockList, isIP } from "node:net"

/** A host and port to listen on. */
export type Address = { readonly host: string; readonly port: number }

/** A Unix socket and its file mode, as for chmod. */
export type SocketFile = { readonly path: string; readonly mode: number }

/** Where HTTP is served: a port, or a Unix socket for programs on the same machine. */
export type ListenAddress = Address | SocketFile

/**
 * Parses what `addressOf` parses, or "unix:PATH", optionally with a file mode after a bar:
 * "unix:PATH|660", which is the default and allows owner and group.
 */
export function parseListenAddress(text: string): ListenAddress | undefined {
  const [, path, mode = "660"] = /^unix:([^|\0]+)(?:\|0?([0-7]{3}))?$/.exec(text) ?? []
  return path === undefined ? addressOf(text) : { path, mode: Number.parseInt(mode, 8) }
}

/** Returns the address of the other end of a connection; "" after it has closed. */
export type Peer = () => string

/** The peer address of Unix socket connections, which come from a proxy on this machine. */
export const socketPeer = "unix:"

/** Parses "HOST:PORT", "[IPv6]:PORT" or ":PORT" (every interface); undefined for anything else. */
export function addressOf(text: string): Address | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]*)):(\d{1,5})$/i.exec(text)
  const port = Number(match?.[3])
  if (!match || port > 65_535) return undefined
  const [, v6, name] = match
  if (v6 !== undefined) return isIP(v6) === 6 ? { host: v6, port } : undefined
  return { host: name || "0.0.0.0", port }
}

/** Formats an address so that `addressOf` can parse it. */
export function formatAddress({ host, port }: Address): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`
}

/** The URL origin at which a browser on the same machine reaches `address`. */
export function localOrigin({ host, port }: Address, scheme: "http" | "https" = "http"): string {
  const local = ["0.0.0.0", "::", "127.0.0.1", "::1"].includes(host)
  const authority = formatAddress({ host: local ? "localhost" : host, port })
  const defaultPort = scheme === "http" ? 80 : 443
  const isDefault = port === defaultPort
  return `${scheme}://${isDefault ? authority.slice(0, -`:${defaultPort}`.length) : authority}`
}

/** Whether a listener accepts connections to every address of the machine. */
export const isEveryAddress = (host: string): boolean => host === "0.0.0.0" || host === "::"

/** An address or a block of addresses: "10.0.0.1", "10.0.0.0/8", "fd00::/8". */
export type Range = { readonly address: string; readonly bits: number; readonly family: 4 | 6 }

/** Parses a range; undefined for anything else. */
export function parseRange(text: string): Range | undefined {
  const match = /^([0-9a-f:.]+)(?:\/(\d{1,3}))?$/i.exec(text)
  const address = match?.[1] ?? ""
  const version = isIP(address)
  if (version !== 4 && version !== 6) return undefined
  const maxBits = version === 4 ? 32 : 128
  const bits = Number(match?.[2] ?? maxBits)
  return bits <= maxBits ? { address, bits, family: version } : undefined
}

/** Returns a function that checks whether an address is in one of the ranges. */
export function createMatcher(ranges: readonly Range[]): (address: string) => boolean {
  // Created on the first check, not at start.
  let list: BlockList | undefined
  return (address) => {
    list ??= createBlockList(ranges)
    const unmapped = withoutMappedPrefix(address)
    const version = isIP(unmapped)
    return version !== 0 && list.check(unmapped, version === 6 ? "ipv6" : "ipv4")
  }
}

function createBlockList(ranges: readonly Range[]): BlockList {
  const list = new BlockList()
  for (const { address, bits, family } of ranges) list.addSubnet(address, bits, `ipv${family}`)
  return list
}

/** The same for ranges in the code, which are also parsed on the first check. */
export function inRanges(...texts: readonly string[]): (address: string) => boolean {
  let matches: ((address: string) => boolean) | undefined
  return (address) => {
    matches ??= createMatcher(texts.flatMap((text) => parseRange(text) ?? []))
    return matches(address)
  }
}

/** This machine. */
export const isLoopback = inRanges("127.0.0.0/8", "::1")

/** Non-public addresses: this machine's, and those of local networks. */
export const isLocalNetwork = inRanges(
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
 * The unit in which senders are counted: an IPv4 address, or the IPv6 /64 of a customer. Proxies
 * may append a port; anything that is not an address is returned unchanged.
 */
export function networkOf(address: string): string {
  const groups = leadingGroups(address)
  return typeof groups === "string" ? groups : `${groups.join(":")}::/64`
}

/**
 * The networks in which an address is counted, narrowest first: for IPv6 also the /56 and /48 that
 * a customer may have, who can use any /64 in them.
 */
export function networksOf(address: string): readonly string[] {
  const groups = leadingGroups(address)
  if (typeof groups === "string") return [groups]
  const [a = "0", b = "0", c = "0", d = "0"] = groups
  const paddedGroups = (Number.parseInt(d, 16) & 0xff00).toString(16)
  return [
    `${groups.join(":")}::/64`,
    `${[a, b, c, paddedGroups].join(":")}::/56`,
    `${a}:${b}:${c}::/48`,
  ]
}

/** The first four groups of an IPv6 address; the whole text for anything else. */
function leadingGroups(address: string): readonly string[] | string {
  const [, bracketed, dotted] = /^(?:\[(.*)\](?::\d+)?|([\d.]+):\d+)$/.exec(address) ?? []
  const unmapped = withoutMappedPrefix(bracketed ?? dotted ?? address)
  if (isIP(unmapped) !== 6) return unmapped.slice(0, maxAddressLength)
  const [head = "", tail] = unmapped.replace(/%.*/, "").toLowerCase().split("::")
  const groups = head.split(":").filter((group) => group !== "")
  const after = tail?.split(":").filter((group) => group !== "") ?? []
  // The last part can be a dotted IPv4 address, which is two groups, but never one of the first
  // four.
  const dots = after.at(-1)?.includes(".") ? 1 : 0
  const missing = tail === undefined ? 0 : 8 - groups.length - after.length - dots
  const all = [...groups, ...Array.from({ length: missing }, () => "0"), ...after]
  return all.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16))
}

const maxAddressLength = 64

/** The IPv4 peer of a dual-stack socket may appear as "::ffff:10.0.0.1". */
const withoutMappedPrefix = (address: string) => address.replace(/^::ffff:(?=\d+\.)/i, "")
