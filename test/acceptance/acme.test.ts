// The binary gets a certificate from an authority by HTTP-01, serves with it, and renews it.
import { X509Certificate } from "node:crypto"
import { connect } from "node:tls"
import { afterAll, describe, expect, test } from "vitest"
import { binary, freePort, setUp, temporaryFolder } from "../support/latchkey.ts"
import { startPebble } from "../support/pebble.ts"
import { needs } from "../support/prerequisite.ts"

const host = "id.example.com"
const folder = temporaryFolder()
afterAll(() => folder.remove())

/** What is shown to who asks for the name, and whether the authority's root vouches for it. */
const shown = (port: number, ca: string): Promise<X509Certificate | undefined> =>
  new Promise((done) => {
    const socket = connect({ host: "127.0.0.1", port, servername: host, ca }, () => {
      const certificate = socket.getPeerX509Certificate()
      socket.destroy()
      done(certificate && new X509Certificate(certificate.raw))
    })
    socket.once("error", () => done(undefined))
  })

async function until(
  look: () => Promise<X509Certificate | undefined>,
  isRight: (seen: X509Certificate) => boolean,
): Promise<X509Certificate> {
  const end = Date.now() + 40_000
  for (;;) {
    const seen = await look()
    if (seen && isRight(seen)) return seen
    if (Date.now() > end) throw new Error("no such certificate came")
    await new Promise((done) => setTimeout(done, 200))
  }
}

describe.runIf(needs("pebble"))("an authority that speaks ACME", () => {
  test("gives a certificate, and the next one before it ends; a restart keeps it", async () => {
    const [https, http, grpc] = [await freePort(), await freePort(), await freePort()]
    const data = `${folder.path}/data`
    await setUp(data, `https://${host}`)
    // With a third left a new one is due, and somebody looks each ten seconds.
    const authority = await startPebble({ httpPort: http, life: 26 })
    const serve = () =>
      Bun.spawn(
        [
          ...[binary, "serve", "--data", data, "--listen", `127.0.0.1:${https}`],
          ...["--grpc-listen", `127.0.0.1:${grpc}`, "--redirect-listen", `127.0.0.1:${http}`],
          ...["--tls", "acme", "--acme-terms", "agreed", "--acme-email", "ada@example.com"],
          ...["--acme-directory", authority.directory, "--acme-root", authority.root],
          ...["--outbound-allow", "127.0.0.0/8"],
        ],
        { env: {}, stdout: "ignore", stderr: "ignore" },
      )
    let server = serve()
    try {
      const root = await authority.trusted()
      const look = () => shown(https, root)
      const first = await until(look, () => true)
      expect(first.subjectAltName).toBe(`DNS:${host}`)
      const answer = await fetch(`https://127.0.0.1:${https}/.well-known/openid-configuration`, {
        headers: { host },
        tls: { ca: root, serverName: host, checkServerIdentity: () => undefined },
      })
      expect((await answer.json()).issuer).toBe(`https://${host}`)
      const second = await until(look, ({ serialNumber }) => serialNumber !== first.serialNumber)
      expect(Date.now()).toBeLessThan(new Date(first.validTo).getTime() + 1000)

      server.kill()
      await server.exited
      server = serve()
      // It is shown at once: nobody was asked for another one.
      const third = await until(look, () => true)
      expect(third.serialNumber).toBe(second.serialNumber)
    } finally {
      server.kill()
      await server.exited
      await authority.stop()
    }
  })
})
