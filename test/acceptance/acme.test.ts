// The binary obtains a certificate from an ACME authority, serves with it, and renews it, by
// HTTP-01 and by TLS-ALPN-01 on the port that keeps answering clients.
import { X509Certificate } from "node:crypto"
import { createServer, connect as plain } from "node:net"
import { connect } from "node:tls"
import { afterAll, describe, expect, test } from "vitest"
import { binary, freePort, setUp, temporaryFolder } from "../support/latchkey.ts"
import { type Pebble, startPebble } from "../support/pebble.ts"
import { needs } from "../support/prerequisite.ts"
import { requestOnce, validateHost } from "../support/tls-alpn.ts"
import { pause, until } from "../support/wait.ts"

const host = "id.example.com"
const folder = temporaryFolder()
afterAll(() => folder.remove())

/**
 * The certificate presented for the host; `ca` also verifies the chain against the authority's
 * root.
 */
const presentedCertificate = (port: number, ca?: string): Promise<X509Certificate | undefined> =>
  new Promise((done) => {
    const trust = ca === undefined ? { rejectUnauthorized: false } : { ca }
    const socket = connect({ host: "127.0.0.1", port, servername: host, ...trust }, () => {
      const certificate = socket.getPeerX509Certificate()
      socket.destroy()
      done(certificate && new X509Certificate(certificate.raw))
    })
    socket.once("error", () => done(undefined))
    // While the port changes hands, a connection may close without an error.
    socket.once("close", () => done(undefined))
    socket.setTimeout(20_000, () => socket.destroy())
  })

const waitForCertificate = (
  look: () => Promise<X509Certificate | undefined>,
  isRight: (seen: X509Certificate) => boolean,
): Promise<X509Certificate> =>
  until(
    async () => {
      const seen = await look()
      return seen && isRight(seen) ? seen : undefined
    },
    { what: "such a certificate", limitMs: 90_000, intervalMs: 200 },
  )

/** The address of each sender, with the text that the page for unknown hosts shows about it. */
const senders = [
  ["127.0.0.5", "from a trusted proxy"],
  ["127.0.0.1", "the sender is not a trusted proxy"],
] as const
const forwardedHeaders = [
  "host: elsewhere.example.com",
  "accept: text/html",
  `x-forwarded-host: ${host}`,
]

/** Retries briefly, because the port may be changing hands. */
async function withRetries(ask: () => Promise<string>): Promise<string> {
  for (let tries = 0; ; tries++) {
    try {
      return await ask()
    } catch (cause) {
      if (tries === 5) throw cause
      await pause(50, "people try again after a moment, and not for long")
    }
  }
}

/** A port forwarder that completes `first` before it connects a client. */
async function startForwarder(to: number, first: () => Promise<void>) {
  const wrong = Promise.withResolvers<never>()
  // Avoids an unhandled rejection; the test checks the result itself.
  wrong.promise.catch(() => undefined)
  const server = createServer({ pauseOnConnect: true }, (near) => {
    near.on("error", () => near.destroy())
    first().then(() => {
      const far = plain({ host: "127.0.0.1", port: to })
      far.on("error", () => near.destroy())
      near.pipe(far).pipe(near)
    }, wrong.reject)
  })
  const port = await freePort()
  await new Promise<void>((done) => server.listen(port, "127.0.0.1", done))
  const close = () => new Promise<void>((done) => server.close(() => done()))
  return { port, failed: wrong.promise, close }
}

type ServeOptions = {
  readonly data: string
  readonly https: number
  readonly grpc: number
  readonly authority: Pebble
  readonly args: readonly string[]
}

const serve = ({ data, https, grpc, authority, args }: ServeOptions) =>
  Bun.spawn(
    [
      binary,
      "serve",
      "--data",
      data,
      "--listen",
      `127.0.0.1:${https}`,
      "--grpc-listen",
      `127.0.0.1:${grpc}`,
      "--outbound-allow",
      "127.0.0.0/8",
      "--tls",
      "acme",
      "--acme-terms",
      "agreed",
      "--acme-email",
      "ada@example.com",
      "--acme-directory",
      authority.directory,
      "--acme-root",
      authority.root,
      ...args,
    ],
    { env: {}, stdout: "ignore", stderr: "ignore" },
  )

describe.runIf(needs("pebble"))("an ACME authority", () => {
  // Both wait 30 seconds for the certificate to become due.
  const patient = { timeout: 240_000, concurrent: true }

  test("issues a certificate and renews it in time; a restart keeps it", patient, async () => {
    const [https, http, grpc] = [await freePort(), await freePort(), await freePort()]
    const data = `${folder.path}/data`
    await setUp(data, `https://${host}`)
    // Renewal is due when a third of the lifetime remains; the server checks every 10 seconds.
    const authority = await startPebble({ httpPort: http, life: 29 })
    const args = ["--redirect-listen", `127.0.0.1:${http}`]
    const served = { data, https, grpc, authority, args }
    let server = serve(served)
    try {
      const root = await authority.trusted()
      const look = () => presentedCertificate(https, root)
      const first = await waitForCertificate(look, () => true)
      expect(first.subjectAltName).toBe(`DNS:${host}`)
      const answer = await fetch(`https://127.0.0.1:${https}/.well-known/openid-configuration`, {
        headers: { host },
        tls: { ca: root, serverName: host, checkServerIdentity: () => undefined },
      })
      expect((await answer.json()).issuer).toBe(`https://${host}`)
      const second = await waitForCertificate(
        look,
        ({ serialNumber }) => serialNumber !== first.serialNumber,
      )
      expect(Date.now()).toBeLessThan(new Date(first.validTo).getTime() + 1000)

      server.kill()
      await server.exited
      server = serve(served)
      // The stored certificate is presented immediately; no new one is ordered.
      const third = await waitForCertificate(look, () => true)
      expect(third.serialNumber).toBe(second.serialNumber)
    } finally {
      server.kill()
      await server.exited
      await authority.stop()
    }
  })

  test("validates by TLS-ALPN-01 while clients are answered", patient, async () => {
    const [https, grpc] = [await freePort(), await freePort()]
    const data = `${folder.path}/tls`
    await setUp(data, `https://${host}`)
    let looks = 0
    /** Makes each validation wait until all concurrent requests are answered. */
    const atLook = async () => {
      expect(await validateHost(https, host)).toBe("acme-tls/1")
      // One proxy address is trusted and the other is not, so a mix-up of peer addresses fails
      // here.
      for (const [from, words] of senders) {
        const answer = await withRetries(() => requestOnce(https, "/", from, forwardedHeaders))
        expect(answer).toContain(words)
      }
      looks++
    }
    const way = await startForwarder(https, atLook)
    const authority = await startPebble({ tlsPort: way.port, life: 29 })
    const args = ["--acme-challenge", "tls-alpn-01", "--trusted-proxies", "127.0.0.5"]
    const server = serve({ data, https, grpc, authority, args })
    try {
      const root = await authority.trusted()
      const look = () => Promise.race([presentedCertificate(https, root), way.failed])
      const first = await waitForCertificate(look, () => true)
      expect(first.subjectAltName).toBe(`DNS:${host}`)
      const before = looks
      expect(before).toBeGreaterThan(0)
      const second = await waitForCertificate(
        look,
        ({ serialNumber }) => serialNumber !== first.serialNumber,
      )
      expect(Date.now()).toBeLessThan(new Date(first.validTo).getTime() + 1000)
      expect(second.subjectAltName).toBe(`DNS:${host}`)
      // On a slow machine the validation of the second order can arrive before the first was
      // counted.
      await until(() => looks > before, { what: "another look", limitMs: 60_000 })
      expect(await validateHost(https, host)).toBe("none")
    } finally {
      server.kill()
      await server.exited
      await authority.stop()
      await way.close()
    }
  })
})
