import { isIP } from "node:net"
import { networkInterfaces } from "node:os"
import type { Clock } from "../kernel/clock.ts"
import { isLoopback, matcherOf } from "../kernel/net/address.ts"
import type { Outbound, OutboundRequest, Reach } from "../kernel/port/outbound.ts"
import type { OutboundAllowed } from "../kernel/setting/allow-list.ts"
import type { Network } from "../runtime/network.ts"
import { traced } from "../runtime/trace.ts"
import { isInternalAddress, isPublicAddress } from "./address-kind.ts"
import { forbiddenAddress } from "./mail-cause.ts"

export type OutboundParts = Pick<Network, "resolve" | "send"> & {
  readonly clock: Clock
  readonly allow: readonly OutboundAllowed[]
}

type WebParts = OutboundParts & {
  /** What this process listens on: a permission for a private network does not lead there. */
  readonly ownPorts?: readonly number[]
}

/**
 * The one way out to addresses that people enter: whoever may enter one must not reach what only
 * this machine can reach. A name is resolved once, its address is judged, and the connection goes
 * to that very address. Redirects are answers, never followed.
 */
export function outboundOf(parts: WebParts): Outbound {
  const mayReach = reachable(parts.allow)
  const sent: Outbound = async (request) => {
    const { signal, stop } = deadline(parts.clock, request)
    try {
      return await Promise.race([send(parts, request, { mayReach, signal }), aborted(signal)])
    } finally {
      stop()
    }
  }
  return (request) => traced("http", () => sent(request))
}

/** Tells where an address leads, without a request to it. */
export function reachOf({ resolve, clock, allow, ownPorts = [] }: Omit<WebParts, "send">) {
  const mayReach = reachable(allow)
  return async (text: string): Promise<Reach> => {
    const url = webUrl(text)
    const host = hostOf(url)
    const { signal, stop } = deadline(clock, {})
    const found = isIP(host) === 0 ? Promise.race([resolve(host), aborted(signal)]) : [host]
    // A name that nobody knows, and one that nobody answers for.
    const addresses = await Promise.resolve(found).catch(() => [])
    stop()
    if (addresses.length === 0) return "unknown_host"
    if (addresses.some((address) => mayReach(host, address))) return "open"
    const isInside = addresses.some((address) => mayBeAllowed(address, url, ownPorts))
    return isInside ? "private_network" : "forbidden"
  }
}

/** Whether an administrator may allow an address, at the port of a URL. */
const mayBeAllowed = (address: string, url: URL, ownPorts: readonly number[]): boolean =>
  isInternalAddress(address) && !(ownPorts.includes(portOf(url)) && isOwnAddress(address))

const portOf = ({ port, protocol }: URL): number =>
  port === "" ? (protocol === "https:" ? 443 : 80) : Number(port)

const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "")

const isOwnAddress = (address: string): boolean =>
  isLoopback(address) ||
  Object.values(networkInterfaces()).some((all) => all?.some((own) => own.address === address))

export type MayReach = (host: string, address: string) => boolean

/** Whether what somebody entered may lead to an address. */
export function reachable(allow: readonly OutboundAllowed[]): MayReach {
  const isAllowed = matcherOf(allow.flatMap((each) => ("host" in each ? [] : [each])))
  const hosts = new Set(allow.flatMap((each) => ("host" in each ? [each.host] : [])))
  return (host, address) =>
    isPublicAddress(address) || isAllowed(address) || (isIP(address) !== 0 && hosts.has(host))
}

/** The address of a host that may be reached; the connection goes to that very one. */
export async function addressOf(
  resolve: OutboundParts["resolve"],
  host: string,
  mayReach: MayReach,
  setting = "outbound_allow",
): Promise<string> {
  const addresses = isIP(host) === 0 ? await resolve(host) : [host]
  const address = addresses.find((each) => mayReach(host, each))
  if (address !== undefined) return address
  throw addresses.length === 0
    ? Object.assign(new Error(`${host} has no address`), { code: "ENOTFOUND" })
    : Object.assign(
        new Error(`${host} is not a host on the internet; allow it by ${setting} if it is meant`),
        { code: forbiddenAddress },
      )
}

type Bounds = { readonly mayReach: MayReach; readonly signal: AbortSignal }

async function send(
  { resolve, send, ownPorts = [] }: WebParts,
  request: OutboundRequest,
  { mayReach, signal }: Bounds,
) {
  const url = webUrl(request.url)
  const host = hostOf(url)
  const isAllowed: MayReach = (name, address) =>
    mayReach(name, address) || (request.isPrivate === true && mayBeAllowed(address, url, ownPorts))
  const address = await addressOf(resolve, host, isAllowed)
  const authority = url.host
  url.hostname = isIP(address) === 6 ? `[${address}]` : address
  const response = await send(url, {
    method: request.method,
    headers: { ...request.headers, host: authority, "accept-encoding": "identity" },
    body: request.body ?? null,
    redirect: "manual",
    // A connection belongs to one name: the next to the same address may be to another.
    keepalive: false,
    decompress: false,
    signal,
    ...(url.protocol === "https:" && isIP(host) === 0 && { tls: { serverName: host } }),
  })
  const cacheControl = response.headers.get("cache-control")
  return {
    status: response.status,
    body: await bodyOf(response, request.sizeMax ?? sizeMax),
    ...(cacheControl !== null && { cacheControl }),
    ...(request.told && { headers: toldIn(response, request.told) }),
  }
}

const toldIn = (response: Response, told: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    told.flatMap((name) => {
      const value = response.headers.get(name)
      return value === null ? [] : [[name, value]]
    }),
  )

/** Names that mean this machine, in whatever spelling, are judged by their address. */
function webUrl(text: string): URL {
  const url = URL.parse(text)
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:"
  if (!isWeb) throw new Error("the address does not begin with https:// or http://")
  if (url.username !== "" || url.password !== "") {
    throw new Error("the address has a user name or a password in it")
  }
  return url
}

const sizeMax = 65_536

async function bodyOf(response: Response, most: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > most) throw new Error(`the answer is larger than ${most} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

const timeoutStandard = 5_000
const timeoutMax = 270_000

function deadline(
  clock: Clock,
  { timeoutMs = timeoutStandard }: Pick<OutboundRequest, "timeoutMs">,
) {
  const ms = Math.min(timeoutMs, timeoutMax)
  const controller = new AbortController()
  const timer = clock.after(ms, () =>
    controller.abort(new Error(`there was no answer within ${ms / 1000} seconds`)),
  )
  return { signal: controller.signal, stop: timer.stop }
}

const aborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true })
  })
