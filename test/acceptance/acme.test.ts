// The binary gets a certificate from an authority, serves with it, and renews it: by HTTP-01, and
// by TLS-ALPN-01 at the port where people go on being answered.
import { X509Certificate } from "node:crypto"
import { createServer, connect as plain } from "node:net"
import { connect } from "node:tls"
import { afterAll, describe, expect, test } from "vitest"
import { binary, freePort, setUp, temporaryFolder } from "../support/latchkey.ts"
import { type Pebble, startPebble } from "../support/pebble.ts"
import { needs } from "../support/prerequisite.ts"
import { asked, validated } from "../support/tls-alpn.ts"
import { pause, until } from "../support/wait.ts"

const host = "id.example.com"
const folder = temporaryFolder()
afterAll(() => folder.remove())

/** What is shown to who asks for the name, and whether the authority's root vouches for it. */
const shown = (port: number, ca?: string): Promise<X509Certificate | undefined> =>
  new Promise((done) => {
    const trust = ca === undefined ? { rejectUnauthorized: false } : { ca }
    const socket = connect({ host: "127.0.0.1", port, servername: host, ...trust }, () => {
      const certificate = socket.getPeerX509Certificate()
      socket.destroy()
      done(certificate && new X509Certificate(certificate.raw))
    })
    socket.once("error", () => done(undefined))
    // Where the port changes hands, a connection may end without a word.
    socket.once("close", () => done(undefined))
    socket.setTimeout(20_000, () => socket.destroy())
  })

const untilShown = (
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

/** What the page of an unknown host says of who sent it, by their address. */
const senders = [
  ["127.0.0.5", "from a trusted proxy"],
  ["127.0.0.1", "the sender is not a trusted proxy"],
] as const
const forwarded = ["host: elsewhere.example.com", "accept: text/html", `x-forwarded-host: ${host}`]

/** Asks as people do: again where the port was just changing hands, and not for long. */
async function patiently(ask: () => Promise<string>): Promise<string> {
  for (let tries = 0; ; tries++) {
    try {
      return await ask()
    } catch (cause) {
      if (tries === 5) throw cause
      await pause(50, "people try again after a moment, and not for long")
    }
  }
}

/** A port that leads to another one; whoever comes waits until what is done first is over. */
async function gate(to: number, first: () => Promise<void>) {
  const wrong = Promise.withResolvers<never>()
  // Whether somebody waits for it or not: the test's own look tells.
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

type Served = {
  readonly data: string
  readonly https: number
  readonly grpc: number
  readonly authority: Pebble
  readonly args: readonly string[]
}

const serve = ({ data, https, grpc, authority, args }: Served) =>
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

describe.runIf(needs("pebble"))("an authority that speaks ACME", () => {
  // Both wait half a minute for a certificate to be due.
  const patient = { timeout: 240_000, concurrent: true }

  test("gives one, and the next in time; a restart keeps it", patient, async () => {
    const [https, http, grpc] = [await freePort(), await freePort(), await freePort()]
    const data = `${folder.path}/data`
    await setUp(data, `https://${host}`)
    // With a third left a new one is due, and somebody looks each ten seconds.
    const authority = await startPebble({ httpPort: http, life: 29 })
    const args = ["--redirect-listen", `127.0.0.1:${http}`]
    const served = { data, https, grpc, authority, args }
    let server = serve(served)
    try {
      const root = await authority.trusted()
      const look = () => shown(https, root)
      const first = await untilShown(look, () => true)
      expect(first.subjectAltName).toBe(`DNS:${host}`)
      const answer = await fetch(`https://127.0.0.1:${https}/.well-known/openid-configuration`, {
        headers: { host },
        tls: { ca: root, serverName: host, checkServerIdentity: () => undefined },
      })
      expect((await answer.json()).issuer).toBe(`https://${host}`)
      const second = await untilShown(
        look,
        ({ serialNumber }) => serialNumber !== first.serialNumber,
      )
      expect(Date.now()).toBeLessThan(new Date(first.validTo).getTime() + 1000)

      server.kill()
      await server.exited
      server = serve(served)
      // It is shown at once: nobody was asked for another one.
      const third = await untilShown(look, () => true)
      expect(third.serialNumber).toBe(second.serialNumber)
    } finally {
      server.kill()
      await server.exited
      await authority.stop()
    }
  })

  test("looks by TLS, too, and all are answered meanwhile", patient, async () => {
    const [https, grpc] = [await freePort(), await freePort()]
    const data = `${folder.path}/tls`
    await setUp(data, `https://${host}`)
    let looks = 0
    /** Has all asked while the authority looks, which gets its answer after them. */
    const atLook = async () => {
      expect(await validated(https, host)).toBe("acme-tls/1")
      // It is one proxy's address, and not another's; who can't be told from them fails here.
      for (const [from, words] of senders) {
        const answer = await patiently(() => asked(https, "/", from, forwarded))
        expect(answer).toContain(words)
      }
      looks++
    }
    const way = await gate(https, atLook)
    const authority = await startPebble({ tlsPort: way.port, life: 29 })
    const args = ["--acme-challenge", "tls-alpn-01", "--trusted-proxies", "127.0.0.5"]
    const server = serve({ data, https, grpc, authority, args })
    try {
      const root = await authority.trusted()
      const look = () => Promise.race([shown(https, root), way.failed])
      const first = await untilShown(look, () => true)
      expect(first.subjectAltName).toBe(`DNS:${host}`)
      const before = looks
      expect(before).toBeGreaterThan(0)
      const second = await untilShown(
        look,
        ({ serialNumber }) => serialNumber !== first.serialNumber,
      )
      expect(Date.now()).toBeLessThan(new Date(first.validTo).getTime() + 1000)
      expect(second.subjectAltName).toBe(`DNS:${host}`)
      // A slow machine may have seen the look for the second before it saw the first.
      await until(() => looks > before, { what: "another look", limitMs: 60_000 })
      expect(await validated(https, host)).toBe("none")
    } finally {
      server.kill()
      await server.exited
      await authority.stop()
      await way.close()
    }
  })
})
