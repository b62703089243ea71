import { type ChildProcess, spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import { writeCertificate } from "./certificate.ts"
import { freePort, temporaryFolder } from "./latchkey.ts"
import { needs } from "./prerequisite.ts"
import { until } from "./wait.ts"

export type Pebble = {
  /** Its directory URL, and the file with the root of its own TLS certificate. */
  readonly directory: string
  readonly root: string
  /** The root of the certificates that it issues, in PEM. */
  readonly trusted: () => Promise<string>
  readonly stop: () => Promise<void>
}

type PebbleOptions = {
  readonly httpPort?: number
  readonly tlsPort?: number
  readonly life?: number
}

/**
 * The ACME authority that Let's Encrypt provides for client tests: it rejects some nonces
 * deliberately. Every name resolves to this machine, on `httpPort` or `tlsPort`. `life` is the
 * lifetime of its certificates, in seconds; each is validated again.
 */
export async function startPebble({
  httpPort = 1,
  tlsPort = 1,
  life,
}: PebbleOptions): Promise<Pebble> {
  const binary = needs("pebble")
  if (!binary) throw new Error("no pebble on this machine")
  const folder = temporaryFolder()
  const [port, management] = [await freePort(), await freePort()]
  const [dns, control] = [await freePort(), await freePort()]
  const { certFile, keyFile } = await writeCertificate(join(folder.path, "tls"), ["localhost"])
  const config = join(folder.path, "config.json")
  const pebble = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${management}`,
    certificate: certFile,
    privateKey: keyFile,
    httpPort,
    tlsPort,
    ...(life && { certificateValidityPeriod: life }),
  }
  writeFileSync(config, JSON.stringify({ pebble }))
  const names = spawn("/usr/bin/pebble-challtestsrv", [
    "-defaultIPv4",
    "127.0.0.1",
    "-defaultIPv6",
    "",
    "-dns01",
    `127.0.0.1:${dns}`,
    "-management",
    `127.0.0.1:${control}`,
    "-http01",
    "",
    "-https01",
    "",
    "-tlsalpn01",
    "",
  ])
  const authority = spawn(binary, ["-config", config, "-dnsserver", `127.0.0.1:${dns}`], {
    env: { PEBBLE_VA_NOSLEEP: "1", PEBBLE_WFE_NONCEREJECT: "10", PEBBLE_AUTHZREUSE: "0" },
  })
  const stop = async () => {
    await Promise.all([waitForExit(names), waitForExit(authority)])
    folder.remove()
  }
  const trusted = async () => {
    const tls = { rejectUnauthorized: false }
    return (await fetch(`https://127.0.0.1:${management}/roots/0`, { tls })).text()
  }
  try {
    const areOpen = async () => (await isOpen(port)) && (await isOpen(control))
    await until(areOpen, { what: "pebble to start", limitMs: 60_000 })
  } catch (cause) {
    await stop()
    throw cause
  }
  return { directory: `https://localhost:${port}/dir`, root: certFile, trusted, stop }
}

const isOpen = (port: number | undefined): Promise<boolean> =>
  new Promise((done) => {
    const socket = connect({ host: "127.0.0.1", port: port ?? 0 }, () => {
      socket.destroy()
      done(true)
    })
    socket.once("error", () => done(false))
  })

const waitForExit = (child: ChildProcess): Promise<void> =>
  new Promise((done) => {
    if (child.exitCode !== null || child.pid === undefined) return done()
    child.once("exit", () => done())
    child.kill("SIGTERM")
  })
