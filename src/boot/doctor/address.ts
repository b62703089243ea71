import { isIP } from "node:net"
import { checkServerIdentity, connect, type TLSSocket } from "node:tls"
import type { Network } from "../../runtime/network.ts"
import { systemCode } from "../start-error.ts"
import { type Finding, ok, warning, wrong } from "./finding.ts"

/** What the server saw of a request that we sent to its public address. */
export type Arrived = {
  readonly host: string
  /** The other end: a proxy, where there is one. */
  readonly peer: string
  /** It says that it passes the request on for somebody, and is not trusted. */
  readonly isRelayed: boolean
  /** Whether it came with the header of a self-check; older servers don't say. */
  readonly isSelfCheck?: boolean | undefined
}

export type Reach = {
  readonly publicUrl: string
  readonly network: Pick<Network, "resolve" | "send">
  /** ms UTC. */
  readonly now: number
  /** Has the server wait for a request to a path, once. */
  readonly awaitRequest: () => Promise<Awaited>
}

/** `arrived` tells afterwards what came to the path. */
export type Awaited = {
  readonly path: string
  readonly arrived: () => Promise<Arrived | undefined>
}

/** Goes the way that people come: name, certificate, proxy, and the server itself. */
export async function checkAddress(reach: Reach): Promise<Finding[]> {
  const { hostname, protocol, port } = new URL(reach.publicUrl)
  const host = hostname.replace(/^\[|\]$/g, "")
  const name = await checkName(reach, host)
  if (name.state === "wrong") return [name]
  const tls =
    protocol === "https:"
      ? [await checkCertificate(host, Number(port || 443), reach.now)]
      : [plainHttp(hostname)]
  return [name, ...tls, ...(await checkWay(reach)), ...(await checkOtherScheme(reach))]
}

/**
 * An http address where https leads here, too: a proxy with TLS is in front, and browsers that come
 * through it are sent to an address that may not answer.
 */
async function checkOtherScheme(reach: Reach): Promise<Finding[]> {
  const { publicUrl, network } = reach
  const { protocol, hostname } = new URL(publicUrl)
  if (protocol !== "http:" || isThisMachine(hostname)) return []
  const secure = `https://${hostname}`
  const { path, arrived } = await reach.awaitRequest()
  const signal = AbortSignal.timeout(5000)
  const sent = network.send(`${secure}${path}`, { redirect: "manual", signal })
  const isAnswered = await sent.then(
    () => true,
    () => false,
  )
  const found = await arrived()
  if (!isAnswered || !found) return []
  const said = `${secure} leads here, too, and the public address is ${publicUrl}`
  return [wrong("scheme", said, `start with --public-url ${secure}`)]
}

async function checkName({ network }: Reach, host: string): Promise<Finding> {
  try {
    const addresses = await network.resolve(host)
    if (addresses.length > 0) return ok("name", `${host} is ${addresses.join(", ")}`)
  } catch (cause) {
    if (!systemCode(cause)) throw cause
  }
  return wrong("name", `nobody knows where ${host} is`, `make a DNS record for ${host}`)
}

const isThisMachine = (host: string): boolean => /^(localhost$|127\.|\[::1\])/.test(host)

const plainHttp = (host: string): Finding =>
  isThisMachine(host)
    ? ok("tls", "none, which is right for this machine alone")
    : warning("tls", "none: whoever is on the way reads passwords", "put a proxy with TLS in front")

const dayMs = 86_400_000
const daysMin = 14

function checkCertificate(host: string, port: number, now: number): Promise<Finding> {
  return new Promise((done) => {
    // RFC 6066 §3: an address is no name to ask for.
    const named = isIP(host) ? {} : { servername: host }
    const socket = connect({ host, port, ...named, rejectUnauthorized: false, timeout: 5000 })
    const give = (finding: Finding) => {
      socket.destroy()
      done(finding)
    }
    const todo = "see that the proxy listens there and has a certificate for this name"
    socket.once("timeout", () => give(wrong("tls", `${host}:${port} does not answer`, todo)))
    socket.once("error", (cause) =>
      give(wrong("tls", `${host}:${port} does not speak TLS (${systemCode(cause)})`, todo)),
    )
    socket.once("secureConnect", () => {
      give(judged(socket, host, now))
    })
  })
}

/** The end, the host and the chain of a certificate; the first that is wrong. */
function judged(socket: TLSSocket, host: string, now: number): Finding {
  const certificate = socket.getPeerCertificate()
  const days = Math.floor((Date.parse(certificate.valid_to) - now) / dayMs)
  const renew = "see why the proxy does not renew it"
  if (days < 0) return wrong("tls", `the certificate has expired (${certificate.valid_to})`, renew)
  const isOther = checkServerIdentity(host, certificate) !== undefined
  if (isOther) {
    const names = certificate.subjectaltname ?? certificate.subject?.CN ?? "no host"
    const todo = `have the proxy use a certificate for ${host}`
    return wrong("tls", `the certificate is for ${names}`, todo)
  }
  if (!socket.authorized) {
    const because = String(socket.authorizationError ?? "unknown")
    const trust = "get one from a public authority, or have every device trust yours"
    return wrong("tls", `this machine does not trust the certificate (${because})`, trust)
  }
  const said = `the certificate is good for ${days} days`
  return days < daysMin ? warning("tls", said, renew) : ok("tls", said)
}

/** The server looks at what comes to it, and we at what comes back. */
async function checkWay(reach: Reach): Promise<Finding[]> {
  const { publicUrl, network } = reach
  const { path, ...awaited } = await reach.awaitRequest()
  try {
    const signal = AbortSignal.timeout(5000)
    const answer = await network.send(`${publicUrl}${path}`, { redirect: "manual", signal })
    const arrived = await awaited.arrived()
    if (arrived) return [compared(publicUrl, arrived), trusted(arrived)]
    const said = `${publicUrl} leads to something else (it answered ${answer.status})`
    return [wrong("proxy", said, "have the proxy pass everything on to the address of --listen")]
  } catch (cause) {
    const because = systemCode(cause) || (cause instanceof Error ? cause.name : String(cause))
    const todo = "see that the proxy runs and that the firewall lets this machine through"
    return [wrong("proxy", `${publicUrl} can't be reached from here (${because})`, todo)]
  }
}

function compared(publicUrl: string, { host }: Arrived): Finding {
  const expected = new URL(publicUrl).host
  if (host.toLowerCase() === expected) return ok("proxy", `requests arrive for ${host}`)
  const said = `requests arrive for ${host}, and people use ${expected}`
  return wrong("proxy", said, `have the proxy keep the Host header, or set --public-url`)
}

function trusted({ isRelayed, peer }: Arrived): Finding {
  if (!isRelayed) return ok("addresses", "each visitor counts by their own address")
  const said = `requests come through ${peer}, which is not trusted: all visitors count as one`
  return warning("addresses", said, `trusted_proxies = ["${peer}"]`)
}
