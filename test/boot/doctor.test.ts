import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { createServer as createTlsServer } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { checkAddress } from "../../src/boot/doctor/address.ts"
import { blockedFindings, ownerFinding } from "../../src/boot/doctor/doctor.ts"
import { type Finding, findingsText } from "../../src/boot/doctor/finding.ts"
import { checkClock, checkFolder, checkLimits, checkPort } from "../../src/boot/doctor/machine.ts"
import { folderAt } from "../../src/boot/folder/folder.ts"
import { writeCertificate } from "../support/certificate.ts"
import { temporaryFolder } from "../support/latchkey.ts"

const now = 1_795_000_000_000
const brief = (findings: readonly Finding[]) =>
  findings.map(({ check, state, said }) => `${state} ${check}: ${said}`)

describe("the public address", () => {
  const arrived = { host: "id.example.com", peer: "10.0.0.7", isRelayed: false }
  const look = (how: {
    readonly publicUrl?: string
    readonly addresses?: readonly string[]
    readonly send?: (url: string) => Promise<Response>
    readonly arrived?: Partial<typeof arrived>
  }) =>
    checkAddress({
      publicUrl: how.publicUrl ?? "http://id.example.com",
      now,
      network: {
        resolve: async () => how.addresses ?? ["192.0.2.1"],
        send: Object.assign((url: string) => (how.send ?? plainOnly)(url), {
          preconnect: () => {},
        }) as typeof fetch,
      },
      awaitRequest: async () => ({
        path: "/debug/doctor/x",
        arrived: async () => (how.arrived ? { ...arrived, ...how.arrived } : undefined),
      }),
    })
  const refused = () => Object.assign(new Error("refused"), { code: "ECONNREFUSED" })
  const plainOnly = async (url: string) => {
    if (url.startsWith("https:")) throw refused()
    return new Response()
  }

  test("is right where what is sent there arrives", async () => {
    expect(brief(await look({ arrived: {} }))).toEqual([
      "ok name: id.example.com is 192.0.2.1",
      "warning tls: none: whoever is on the way reads passwords",
      "ok proxy: requests arrive for id.example.com",
      "ok addresses: each visitor counts by their own address",
    ])
  })

  test("is nobody's name", async () => {
    const said = brief(await look({ addresses: [] }))
    expect(said).toEqual(["wrong name: nobody knows where id.example.com is"])
  })

  test("loses its name at the proxy, which isn't trusted either", async () => {
    const found = await look({ arrived: { host: "127.0.0.1:8080", isRelayed: true } })
    expect(brief(found).slice(2)).toEqual([
      "wrong proxy: requests arrive for 127.0.0.1:8080, and people use id.example.com",
      "warning addresses: requests come through 10.0.0.7, which is not trusted: " +
        "all visitors count as one",
    ])
    expect(findingsText(found)).toContain('→ trusted_proxies = ["10.0.0.7"]')
  })

  test("is http although a proxy answers for https, too", async () => {
    const found = await look({ arrived: {}, send: async () => new Response() })
    expect(brief(found).at(-1)).toBe(
      "wrong scheme: https://id.example.com leads here, too, and the public address is " +
        "http://id.example.com",
    )
    expect(findingsText(found)).toContain("→ start with --public-url https://id.example.com")
    const local = { publicUrl: "http://localhost:8080", send: async () => new Response() }
    expect(
      brief(await look({ arrived: { host: "localhost:8080" }, ...local })).join(),
    ).not.toContain("scheme")
  })

  test("leads elsewhere, or nowhere", async () => {
    expect(brief(await look({})).at(-1)).toMatch(/^wrong proxy: .* leads to something else/)
    const nowhere = await look({ send: () => Promise.reject(refused()) })
    expect(brief(nowhere).at(-1)).toMatch(/^wrong proxy: .* can't be reached .*\(ECONNREFUSED\)/)
  })

  test.each([
    ["expired", ["127.0.0.1.nip.io"], -2, /^wrong tls: the certificate has expired \(/],
    ["of another host", ["mail.example.com"], 9, /^wrong tls: the certificate is for .*mail\.exam/],
    ["from a stranger", ["localhost"], 9, /^wrong tls: this machine does not trust the cert/],
  ])("has a certificate that is %s", async (_, names, days, expected) => {
    const folder = temporaryFolder()
    const { certFile, keyFile } = await writeCertificate(join(folder.path, "a"), names, days)
    const tls = { cert: readFileSync(certFile), key: readFileSync(keyFile) }
    const server = createTlsServer(tls).listen(0, "127.0.0.1")
    await new Promise((done) => server.once("listening", done))
    const address = server.address()
    const port = typeof address === "object" && address ? address.port : 0
    const reach = {
      publicUrl: `https://localhost:${port}`,
      now: Date.now(),
    }
    const awaitRequest = async () => ({
      path: "/debug/doctor/x",
      arrived: async () => undefined,
    })
    const resolve = async () => ["127.0.0.1"]
    const send = Object.assign(async () => new Response(), { preconnect: () => {} })
    const network = { resolve, send }
    const found = await checkAddress({ ...reach, network, awaitRequest })
    server.close()
    folder.remove()
    expect(brief(found)[1]).toMatch(expected)
  })

  test("speaks no TLS where it must", async () => {
    const plain: Server = createServer().listen(0, "127.0.0.1")
    await new Promise((done) => plain.once("listening", done))
    const address = plain.address()
    const port = typeof address === "object" && address ? address.port : 0
    const found = await look({ publicUrl: `https://127.0.0.1:${port}`, arrived: {} })
    plain.close()
    expect(brief(found)[1]).toMatch(/^wrong tls: 127\.0\.0\.1:\d+ does not/)
  })
})

describe("the machine", () => {
  let path: string
  beforeAll(() => {
    path = mkdtempSync(join(tmpdir(), "latchkey-doctor-"))
  })
  afterAll(() => rmSync(path, { recursive: true, force: true }))

  test("has a folder that others may look into, or none", () => {
    chmodSync(path, 0o700)
    expect(brief(checkFolder(folderAt(path)))).toEqual([`ok folder: ${path} is its owner's alone`])
    chmodSync(path, 0o755)
    expect(brief(checkFolder(folderAt(path)))[0]).toMatch(/^warning folder: others may look/)
    expect(brief(checkFolder(folderAt(join(path, "none"))))[0]).toMatch(
      /^wrong folder: there is no/,
    )
  })

  test("has a clock that went back", async () => {
    expect((await checkClock(now, null)).state).not.toBe("wrong")
    expect((await checkClock(now, now + 3_600_000)).state).toBe("wrong")
  })

  test("lets so many files be open, and a port be listened on", async () => {
    expect(checkLimits(undefined).said).toMatch(/open files$/)
    const taken = createServer().listen(0, "127.0.0.1")
    await new Promise((done) => taken.once("listening", done))
    const address = taken.address()
    const port = typeof address === "object" && address ? address.port : 0
    const found = await checkPort("--listen", { host: "127.0.0.1", port })
    taken.close()
    expect([found.state, found.said]).toEqual(["wrong", expect.stringMatching(/EADDRINUSE/)])
    expect((await checkPort("--listen", { host: "127.0.0.1", port: 0 })).state).toBe("ok")
  })
})

test("an instance that nobody can administer for good is named, with what to do", () => {
  const found = ["now", "when their keys, tokens and invitations expire"].map(ownerFinding)
  expect(brief(found)).toEqual([
    "warning owner: nobody can administer it now",
    "warning owner: nobody can administer it when their keys, tokens and invitations expire",
  ])
  expect(found[0]?.remedy).toMatch(/give one of its owners a password/)
  expect(ownerFinding(undefined).state).toBe("ok")
})

test("executions whose authors are gone are named, with what to do", () => {
  const id = "request//core.user.v2.UserService/CreateUser"
  const [finding] = blockedFindings([{ id, targetName: "CRM" }])
  expect(finding).toMatchObject({ state: "warning", check: "executions" })
  expect(JSON.stringify(finding)).toContain(`the target CRM can't change anything at ${id}`)
  expect(JSON.stringify(finding)).toContain("set the execution again")
  expect(blockedFindings([])).toEqual([])
})
