import { isIP } from "node:net"
import { checkServerIdentity, connect, type TLSSocket } from "node:tls"
import type { Network } from "../../runtime/network.ts"
import { systemCode } from "../start-error.ts"
import { type Finding, ok, problem, warning } from "./finding.ts"

/** What the server observed about a request to its public URL. */
export type ObservedRequest = {
  readonly host: string
  /** The peer: the proxy, if there is one. */
  readonly peer: string
  /** Whether the peer has forwarding headers but is not a trusted proxy. */
  readonly isRelayed: boolean
  /** Whether the request had the header of a self-check; older servers don't report it. */
  readonly isSelfCheck?: boolean | undefined
}

export type AddressCheck = {
  readonly publicUrl: string
  readonly network: Pick<Network, "resolve" | "send">
  /** In ms since the epoch. */
  readonly now: number
  /** Makes the server wait for one request to a path. */
  readonly awaitRequest: () => Promise<AwaitedRequest>
}

/** `arrived` returns the observed request, if there was one. */
export type AwaitedRequest = {
  readonly path: string
  readonly arrived: () => Promise<ObservedRequest | undefined>
}

/** Checks the path that users take: DNS, certificate, proxy and server. */
export async function checkAddress(check: AddressCheck): Promise<Finding[]> {
  const { hostname, protocol, port } = new URL(check.publicUrl)
  const host = hostname.replace(/^\[|\]$/g, "")
  const name = await checkName(check, host)
  if (name.state === "wrong") return [name]
  const tls =
    protocol === "https:"
      ? [await checkCertificate(host, Number(port || 443), check.now)]
      : [httpFinding(hostname)]
  return [name, ...tls, ...(await checkRoundTrip(check)), ...(await checkOtherScheme(check))]
}

/**
 * Warns about an http public URL whose https URL also leads here: users who open the https URL are
 * redirected to an address that may not work.
 */
async function checkOtherScheme(check: AddressCheck): Promise<Finding[]> {
  const { publicUrl, network } = check
  const { protocol, hostname } = new URL(publicUrl)
  if (protocol !== "http:" || isThisMachine(hostname)) return []
  const secure = `https://${hostname}`
  const { path, arrived } = await check.awaitRequest()
  const signal = AbortSignal.timeout(5000)
  const sent = network.send(`${secure}${path}`, { redirect: "manual", signal })
  const isAnswered = await sent.then(
    () => true,
    () => false,
  )
  const found = await arrived()
  if (!isAnswered || !found) return []
  const message = `${secure} also leads here, but the public URL is ${publicUrl}`
  return [problem("scheme", message, `start with --public-url ${secure}`)]
}

async function checkName({ network }: AddressCheck, host: string): Promise<Finding> {
  try {
    const addresses = await network.resolve(host)
    if (addresses.length > 0) return ok("name", `${host} resolves to ${addresses.join(", ")}`)
  } catch (cause) {
    if (!systemCode(cause)) throw cause
  }
  return problem("name", `${host} does not resolve`, `create a DNS record for ${host}`)
}

const isThisMachine = (host: string): boolean => /^(localhost$|127\.|\[::1\])/.test(host)

const httpFinding = (host: string): Finding =>
  isThisMachine(host)
    ? ok("tls", "none, which is fine for this machine only")
    : warning(
        "tls",
        "none: passwords can be intercepted",
        "run a proxy with TLS in front of the server",
      )

const dayMs = 86_400_000
const warningDays = 14

function checkCertificate(host: string, port: number, now: number): Promise<Finding> {
  return new Promise((done) => {
    // RFC 6066 §3: an IP address can't be sent as the server name.
    const named = isIP(host) ? {} : { servername: host }
    const socket = connect({ host, port, ...named, rejectUnauthorized: false, timeout: 5000 })
    const give = (finding: Finding) => {
      socket.destroy()
      done(finding)
    }
    const todo = "check that the proxy listens there and has a certificate for this name"
    socket.once("timeout", () => give(problem("tls", `${host}:${port} does not respond`, todo)))
    socket.once("error", (cause) =>
      give(problem("tls", `${host}:${port} does not support TLS (${systemCode(cause)})`, todo)),
    )
    socket.once("secureConnect", () => {
      give(checkCertificateOf(socket, host, now))
    })
  })
}

/** Checks the expiry, the host and the chain of a certificate; reports the first problem. */
function checkCertificateOf(socket: TLSSocket, host: string, now: number): Finding {
  const certificate = socket.getPeerCertificate()
  const days = Math.floor((Date.parse(certificate.valid_to) - now) / dayMs)
  const renew = "check why the proxy does not renew it"
  if (days < 0)
    return problem("tls", `the certificate has expired (${certificate.valid_to})`, renew)
  const isOther = checkServerIdentity(host, certificate) !== undefined
  if (isOther) {
    const names = certificate.subjectaltname ?? certificate.subject?.CN ?? "no host"
    const todo = `make the proxy use a certificate for ${host}`
    return problem("tls", `the certificate is for ${names}`, todo)
  }
  if (!socket.authorized) {
    const reason = String(socket.authorizationError ?? "unknown")
    const trust = "get a certificate from a public authority, or install your root on every device"
    return problem("tls", `this machine does not trust the certificate (${reason})`, trust)
  }
  const message = `the certificate is valid for ${days} days`
  return days < warningDays ? warning("tls", message, renew) : ok("tls", message)
}

/** Checks both the request that the server receives and the response that comes back. */
async function checkRoundTrip(check: AddressCheck): Promise<Finding[]> {
  const { publicUrl, network } = check
  const { path, ...awaited } = await check.awaitRequest()
  try {
    const signal = AbortSignal.timeout(5000)
    const answer = await network.send(`${publicUrl}${path}`, { redirect: "manual", signal })
    const arrived = await awaited.arrived()
    if (arrived) return [checkHost(publicUrl, arrived), checkProxyTrust(arrived)]
    const message = `${publicUrl} leads to another server (status ${answer.status})`
    return [
      problem("proxy", message, "make the proxy forward all requests to the address of --listen"),
    ]
  } catch (cause) {
    const reason = systemCode(cause) || (cause instanceof Error ? cause.name : String(cause))
    const todo = "check that the proxy runs and that the firewall allows this machine"
    return [problem("proxy", `${publicUrl} is not reachable from here (${reason})`, todo)]
  }
}

function checkHost(publicUrl: string, { host }: ObservedRequest): Finding {
  const expected = new URL(publicUrl).host
  if (host.toLowerCase() === expected) return ok("proxy", `requests arrive for ${host}`)
  const message = `requests arrive for ${host}, but the public URL uses ${expected}`
  return problem("proxy", message, "make the proxy keep the Host header, or set --public-url")
}

function checkProxyTrust({ isRelayed, peer }: ObservedRequest): Finding {
  if (!isRelayed) return ok("addresses", "each client has its own address")
  const message =
    `requests come from ${peer}, which is not a trusted proxy: all clients have ` +
    "the same address"
  return warning("addresses", message, `trusted_proxies = ["${peer}"]`)
}
