// Certificates of the built-in authority: a root for each host, and the page that distributes it.
import { X509Certificate } from "node:crypto"
import { readFileSync } from "node:fs"
import { connect } from "node:tls"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { checkManagedCertificates } from "../../src/boot/doctor/certificate.ts"
import { readCertificateFile } from "../../src/boot/edge/certificate-file.ts"
import { folderAt } from "../../src/boot/folder/folder.ts"
import { parseConfig } from "../../src/kernel/config.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { createShowPage } from "../../src/login/index.ts"
import { hostsBeyond, secureHosts } from "../../src/server/edge/hosts.ts"
import { createInternalIssuer } from "../../src/server/edge/internal-issuer.ts"
import {
  manageCertificates,
  openCertificateStore,
} from "../../src/server/edge/managed-certificates.ts"
import { trustRoutes } from "../../src/server/edge/trust.ts"
import { type CertificatePair, createLeaf, createRoot } from "../../src/server/edge/x509.ts"
import { openServices } from "../../src/server/services.ts"
import { setUpByRequest } from "../../src/server/setup/setup.ts"
import { routeBy } from "../http/answering.ts"
import { owner, temporaryFolder } from "../support/latchkey.ts"

const dayMs = 86_400_000
const validity = { from: Date.now() - dayMs, to: Date.now() + 30 * dayMs }

/** The reason why a device with `root` rejects `leaf` as `host`; "" if it accepts it. */
async function rejectionReason(
  root: CertificatePair,
  leaf: CertificatePair,
  host: string,
): Promise<string> {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response(),
    tls: leaf,
  })
  try {
    return await handshake(server.port ?? 0, host, root.cert)
  } finally {
    await server.stop(true)
  }
}

const handshake = (port: number, host: string, ca: string): Promise<string> =>
  new Promise((done) => {
    const socket = connect({ port, host: "127.0.0.1", servername: host, ca }, () => {
      done("")
      socket.end()
    })
    socket.once("error", (cause) => done("code" in cause ? String(cause.code) : cause.message))
  })

/** The runtime's code for a name outside the root's constraints (RFC 5280 §4.2.1.10). */
const nameConstraintError = "UNSPECIFIED"

describe("a root", () => {
  test.each([
    ["nas.lan", "nas.lan", ""],
    ["nas.lan", "www.nas.lan", ""],
    ["nas.lan", "bank.example.com", nameConstraintError],
    ["nas.lan", "lan", nameConstraintError],
    ["192.168.1.5", "nas.lan", nameConstraintError],
  ])("of %s is valid for %s: %s", async (of, host, code) => {
    const root = await createRoot(of, validity, systemRandom)
    const leaf = await createLeaf(root, { host, random: systemRandom, ...validity })
    expect(await rejectionReason(root, leaf, host)).toContain(code)
    if (code === "") expect(await rejectionReason(root, leaf, "other.lan")).not.toBe("")
  })

  test.each(["192.168.1.5", "[fd00::5]"])("of an address certifies it: %s", async (host) => {
    const root = await createRoot(host, validity, systemRandom)
    const leaf = await createLeaf(root, { host, random: systemRandom, ...validity })
    const [above, below] = [new X509Certificate(root.cert), new X509Certificate(leaf.cert)]
    expect(below.checkIP(host.replace(/[[\]]/g, ""))).toBeDefined()
    expect(below.verify(above.publicKey)).toBe(true)
  })
})

describe("the page that distributes a root", () => {
  const place = temporaryFolder()
  const folder = folderAt(place.path)
  const config = parseConfig({
    flags: { "--tls": "internal", "--log-level": "fatal" },
    env: {},
    file: {},
  })
  const master = new Uint8Array(32)
  const services = openServices({ config, folder, master, started: 0 })
  const shelf = openCertificateStore(folder, services)
  const assets = { css: "/kit.css", pageJs: "/page.js", icon: "/mark.svg" }
  const router = routeBy(
    [trustRoutes(services, shelf, createShowPage(assets))],
    async () => undefined,
  )
  const asked = async (path: string, headers: Record<string, string> = {}, host = "nas.lan") => {
    const request = new Request(`https://${host}${path}`, { headers: { host, ...headers } })
    const visit = { request, url: new URL(request.url), peer: () => "192.168.1.9" }
    return (await router(visit)) ?? new Response("beneath")
  }
  let beforeSetUp: Response
  beforeAll(async () => {
    const issuer = createInternalIssuer({ ...services, shelf })
    const hosts = () => secureHosts({ ...services, publicUrl: "https://nas.lan" })
    const own = await manageCertificates(services, shelf, { issuer, hosts })
    await new Promise<void>((done) => {
      const keeping = own.keep(() => void keeping.stop().then(done))
    })
    beforeSetUp = await asked("/ui/trust")
    await setUpByRequest(services, {
      publicUrl: "https://nas.lan",
      org: "Acme",
      owner: owner.loginName,
      ownerEmail: owner.email,
      ownerPassword: owner.password,
    })
  })
  afterAll(async () => {
    await services.store.close()
    place.remove()
  })

  test("exists before setup, and also over https", async () => {
    expect(beforeSetUp.status).toBe(200)
    expect(await beforeSetUp.text()).toContain("/ui/trust/root.crt")
  })

  test("reports hosts above the limit", () => {
    expect(hostsBeyond(services)).toEqual([])
    expect(hostsBeyond(services, 0)).toEqual(["nas.lan"])
  })

  test("contains the host and fingerprint in the visitor's language", async () => {
    const [root] = readCertificateFile(folder).roots
    const { fingerprint256, raw } = new X509Certificate(root?.cert ?? "")
    const html = await (await asked("/ui/trust")).text()
    expect(html).toContain(fingerprint256)
    expect(html).toContain("/ui/trust/root.crt")
    const german = await asked("/ui/trust", { "accept-language": "de" })
    expect(await german.text()).toContain("Lass dieses Gerät nas.lan vertrauen")
    const file = await asked("/ui/trust/root.crt")
    expect(file.headers.get("content-type")).toBe("application/x-x509-ca-cert")
    expect(Buffer.from(await file.arrayBuffer()).equals(raw)).toBe(true)
    expect((await asked("/ui/trust", {}, "else.lan")).status).toBe(404)
    expect(await (await asked("/ui/trusted")).text()).toBe("beneath")
    expect(readFileSync(folder.certificates, "utf8")).not.toContain("PRIVATE KEY")
    const findings = checkManagedCertificates(folder, config, Date.now())
    expect(findings.map(({ state }) => state)).toEqual(["ok", "ok"])
    expect(findings.at(-1)?.said).toContain(fingerprint256)
  })

  test("and its root outlives its certificates: the next one has the same root", async () => {
    const [before] = readCertificateFile(folder).roots
    const again = openCertificateStore(folder, services)
    const leaf = await createInternalIssuer({ ...services, shelf: again }).issue("nas.lan")
    expect(again.content().roots).toEqual([before])
    const root = { cert: before?.cert ?? "", key: "" }
    expect(await rejectionReason(root, leaf, "nas.lan")).toBe("")
  })
})
