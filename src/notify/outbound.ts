import { isIP } from "node:net"
import { networkInterfaces } from "node:os"
import type { Clock } from "../kernel/clock.ts"
import { createMatcher, isLoopback } from "../kernel/net/address.ts"
import type { Outbound, OutboundRequest, Reach } from "../kernel/port/outbound.ts"
import type { AllowedOutbound } from "../kernel/setting/allow-list.ts"
import type { Network } from "../runtime/network.ts"
import { trace } from "../runtime/trace.ts"
import { isInternalAddress, isPublicAddress } from "./address-kind.ts"
import { forbiddenAddress } from "./mail-cause.ts"

export type OutboundParts = Pick<Network, "resolve" | "send"> & {
  readonly clock: Clock
  readonly allow: readonly AllowedOutbound[]
}

type WebParts = OutboundParts & {
  /** The ports of this process; a permission for a private network excludes them. */
  readonly ownPorts?: readonly number[]
}

/**
 * The only client for user-configured URLs: users must not be able to reach internal hosts. A name
 * is resolved once, its address is checked, and the connection uses exactly that address. Redirects
 * are never followed.
 */
export function createOutbound(parts: WebParts): Outbound {
  const isReachable = createAddressCheck(parts.allow)
  const sent: Outbound = async (request) => {
    const { signal, stop } = createDeadline(parts.clock, request)
    try {
      return await Promise.race([
        send(parts, request, { mayReach: isReachable, signal }),
        waitForAbort(signal),
      ])
    } finally {
      stop()
    }
  }
  return (request) => trace("http", () => sent(request))
}

/** Returns a function that classifies the destination of a URL without a request. */
export function createReachCheck({ resolve, clock, allow, ownPorts = [] }: Omit<WebParts, "send">) {
  const isReachable = createAddressCheck(allow)
  return async (text: string): Promise<Reach> => {
    const url = webUrl(text)
    const host = hostOf(url)
    const { signal, stop } = createDeadline(clock, {})
    const found = isIP(host) === 0 ? Promise.race([resolve(host), waitForAbort(signal)]) : [host]
    // The name does not exist, or no name server responds.
    const addresses = await Promise.resolve(found).catch(() => [])
    stop()
    if (addresses.length === 0) return "unknown_host"
    if (addresses.some((address) => isReachable(host, address))) return "open"
    const isInside = addresses.some((address) => mayBeAllowed(address, url, ownPorts))
    return isInside ? "private_network" : "forbidden"
  }
}

/** Whether an administrator can allow an address, at the port of a URL. */
const mayBeAllowed = (address: string, url: URL, ownPorts: readonly number[]): boolean =>
  isInternalAddress(address) && !(ownPorts.includes(portOf(url)) && isOwnAddress(address))

const portOf = ({ port, protocol }: URL): number =>
  port === "" ? (protocol === "https:" ? 443 : 80) : Number(port)

const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "")

const isOwnAddress = (address: string): boolean =>
  isLoopback(address) ||
  Object.values(networkInterfaces()).some((all) => all?.some((own) => own.address === address))

export type ReachCheck = (host: string, address: string) => boolean

/** Returns whether a user-configured host can be reached at an address. */
export function createAddressCheck(allow: readonly AllowedOutbound[]): ReachCheck {
  const isAllowed = createMatcher(allow.flatMap((each) => ("host" in each ? [] : [each])))
  const hosts = new Set(allow.flatMap((each) => ("host" in each ? [each.host] : [])))
  return (host, address) =>
    isPublicAddress(address) || isAllowed(address) || (isIP(address) !== 0 && hosts.has(host))
}

/** The allowed address of a host; the connection uses exactly this address. */
export async function resolveAddress(
  resolve: OutboundParts["resolve"],
  host: string,
  isReachable: ReachCheck,
  setting = "outbound_allow",
): Promise<string> {
  const addresses = isIP(host) === 0 ? await resolve(host) : [host]
  const address = addresses.find((each) => isReachable(host, each))
  if (address !== undefined) return address
  throw addresses.length === 0
    ? Object.assign(new Error(`${host} has no address`), { code: "ENOTFOUND" })
    : Object.assign(
        new Error(`${host} is not a host on the internet; allow it with the setting ${setting}`),
        { code: forbiddenAddress },
      )
}

type SendBounds = { readonly mayReach: ReachCheck; readonly signal: AbortSignal }

async function send(
  { resolve, send, ownPorts = [] }: WebParts,
  request: OutboundRequest,
  { mayReach: isReachable, signal }: SendBounds,
) {
  const url = webUrl(request.url)
  const host = hostOf(url)
  const isAllowed: ReachCheck = (name, address) =>
    isReachable(name, address) ||
    (request.isPrivate === true && mayBeAllowed(address, url, ownPorts))
  const address = await resolveAddress(resolve, host, isAllowed)
  const authority = url.host
  url.hostname = isIP(address) === 6 ? `[${address}]` : address
  const response = await send(url, {
    method: request.method,
    headers: { ...request.headers, host: authority, "accept-encoding": "identity" },
    body: request.body ?? null,
    redirect: "manual",
    // Connections are not reused, because the next request to the same address can be for another
    // name.
    keepalive: false,
    decompress: false,
    signal,
    ...(url.protocol === "https:" && isIP(host) === 0 && { tls: { serverName: host } }),
  })
  const cacheControl = response.headers.get("cache-control")
  return {
    status: response.status,
    body: await readBody(response, request.sizeMax ?? sizeMax),
    ...(cacheControl !== null && { cacheControl }),
    ...(request.told && { headers: pickHeaders(response, request.told) }),
  }
}

const pickHeaders = (
  response: Response,
  headerNames: readonly string[],
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    headerNames.flatMap((name) => {
      const value = response.headers.get(name)
      return value === null ? [] : [[name, value]]
    }),
  )

/** Names of this machine, in any spelling, are checked by their address. */
function webUrl(text: string): URL {
  const url = URL.parse(text)
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:"
  if (!isWeb) throw new Error("the URL must start with https:// or http://")
  if (url.username !== "" || url.password !== "") {
    throw new Error("the URL must not contain a user name or password")
  }
  return url
}

const sizeMax = 65_536

async function readBody(response: Response, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > bytesMax) throw new Error(`the response is larger than ${bytesMax} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

const defaultTimeoutMs = 5_000
const timeoutMsMax = 270_000

function createDeadline(
  clock: Clock,
  { timeoutMs = defaultTimeoutMs }: Pick<OutboundRequest, "timeoutMs">,
) {
  const ms = Math.min(timeoutMs, timeoutMsMax)
  const controller = new AbortController()
  const timer = clock.after(ms, () =>
    controller.abort(new Error(`no response within ${ms / 1000} seconds`)),
  )
  return { signal: controller.signal, stop: timer.stop }
}

const waitForAbort = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true })
  })
