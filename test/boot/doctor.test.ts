import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { createServer as createTlsServer } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { checkAddress } from "../../src/boot/doctor/address.ts"
import { blockedFindings, ownerFinding } from "../../src/boot/doctor/doctor.ts"
import { type Finding, formatFindings } from "../../src/boot/doctor/finding.ts"
import { checkClock, checkFolder, checkLimits, checkPort } from "../../src/boot/doctor/machine.ts"
import { folderAt } from "../../src/boot/folder/folder.ts"
import { writeCertificate } from "../support/certificate.ts"
import { temporaryFolder } from "../support/latchkey.ts"

const now = 1_795_000_000_000
const summarizeFindings = (findings: readonly Finding[]) =>
  findings.map(({ check, state, said }) => `${state} ${check}: ${said}`)

describe("the public address", () => {
  const arrived = { host: "id.example.com", peer: "10.0.0.7", isRelayed: false }
  const look = (options: {
    readonly publicUrl?: string
    readonly addresses?: readonly string[]
    readonly send?: (url: string) => Promise<Response>
    readonly arrived?: Partial<typeof arrived>
  }) =>
    checkAddress({
      publicUrl: options.publicUrl ?? "http://id.example.com",
      now,
      network: {
        resolve: async () => options.addresses ?? ["192.0.2.1"],
        send: Object.assign((url: string) => (options.send ?? plainOnly)(url), {
          preconnect: () => {},
        }) as typeof fetch,
      },
      awaitRequest: async () => ({
        path: "/debug/doctor/x",
        arrived: async () => (options.arrived ? { ...arrived, ...options.arrived } : undefined),
      }),
    })
  const refused = () => Object.assign(new Error("refused"), { code: "ECONNREFUSED" })
  const plainOnly = async (url: string) => {
    if (url.startsWith("https:")) throw refused()
    return new Response()
  }

  test("passes if requests to it arrive", async () => {
    expect(summarizeFindings(await look({ arrived: {} }))).toEqual([
      "ok name: id.example.com resolves to 192.0.2.1",
      "warning tls: none: passwords can be intercepted",
      "ok proxy: requests arrive for id.example.com",
      "ok addresses: each client has its own address",
    ])
  })

  test("fails if the name does not resolve", async () => {
    const said = summarizeFindings(await look({ addresses: [] }))
    expect(said).toEqual(["wrong name: id.example.com does not resolve"])
  })

  test("fails if the proxy drops the host and isn't trusted", async () => {
    const found = await look({ arrived: { host: "127.0.0.1:8080", isRelayed: true } })
    expect(summarizeFindings(found).slice(2)).toEqual([
      "wrong proxy: requests arrive for 127.0.0.1:8080, but the public URL uses id.example.com",
      "warning addresses: requests come from 10.0.0.7, which is not a trusted proxy: " +
        "all clients have the same address",
    ])
    expect(formatFindings(found)).toContain('→ trusted_proxies = ["10.0.0.7"]')
  })

  test("fails if it is http although a proxy serves https", async () => {
    const found = await look({ arrived: {}, send: async () => new Response() })
    expect(summarizeFindings(found).at(-1)).toBe(
      "wrong scheme: https://id.example.com also leads here, but the public URL is " +
        "http://id.example.com",
    )
    expect(formatFindings(found)).toContain("→ start with --public-url https://id.example.com")
    const local = { publicUrl: "http://localhost:8080", send: async () => new Response() }
    expect(
      summarizeFindings(await look({ arrived: { host: "localhost:8080" }, ...local })).join(),
    ).not.toContain("scheme")
  })

  test("fails if it leads elsewhere or nowhere", async () => {
    expect(summarizeFindings(await look({})).at(-1)).toMatch(
      /^wrong proxy: .* leads to another server \(status 200\)$/,
    )
    const nowhere = await look({ send: () => Promise.reject(refused()) })
    expect(summarizeFindings(nowhere).at(-1)).toMatch(
      /^wrong proxy: .* is not reachable from here \(ECONNREFUSED\)/,
    )
  })

  test.each([
    ["expired", ["127.0.0.1.nip.io"], -2, /^wrong tls: the certificate has expired \(/],
    ["of another host", ["mail.example.com"], 9, /^wrong tls: the certificate is for .*mail\.exam/],
    ["from a stranger", ["localhost"], 9, /^wrong tls: this machine does not trust the cert/],
  ])("fails with a certificate that is %s", async (_, names, days, expected) => {
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
    expect(summarizeFindings(found)[1]).toMatch(expected)
  })

  test("fails without TLS", async () => {
    const plain: Server = createServer().listen(0, "127.0.0.1")
    await new Promise((done) => plain.once("listening", done))
    const address = plain.address()
    const port = typeof address === "object" && address ? address.port : 0
    const found = await look({ publicUrl: `https://127.0.0.1:${port}`, arrived: {} })
    plain.close()
    expect(summarizeFindings(found)[1]).toMatch(/^wrong tls: 127\.0\.0\.1:\d+ does not/)
  })
})

describe("the machine", () => {
  let path: string
  beforeAll(() => {
    path = mkdtempSync(join(tmpdir(), "latchkey-doctor-"))
  })
  afterAll(() => rmSync(path, { recursive: true, force: true }))

  test("fails if the data directory is readable by others or missing", () => {
    chmodSync(path, 0o700)
    expect(summarizeFindings(checkFolder(folderAt(path)))).toEqual([
      `ok folder: only its owner can access ${path}`,
    ])
    chmodSync(path, 0o755)
    expect(summarizeFindings(checkFolder(folderAt(path)))[0]).toMatch(
      /^warning folder: other users can access /,
    )
    expect(summarizeFindings(checkFolder(folderAt(join(path, "none"))))[0]).toMatch(
      /^wrong folder: directory .*none not found$/,
    )
  })

  test("fails if the clock went back", async () => {
    expect((await checkClock(now, null)).state).not.toBe("wrong")
    expect((await checkClock(now, now + 3_600_000)).state).toBe("wrong")
  })

  test("reports the limit of open files, and whether a port can be opened", async () => {
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

test("reports an instance without an administrator who can sign in, with the remedy", () => {
  const found = ["now", "when their keys, tokens and invitations expire"].map(ownerFinding)
  expect(summarizeFindings(found)).toEqual([
    "warning owner: no administrator can access the instance now",
    "warning owner: no administrator can access the instance when their keys, " +
      "tokens and invitations expire",
  ])
  expect(found[0]?.remedy).toMatch(/give an owner a password/)
  expect(ownerFinding(undefined).state).toBe("ok")
})

test("reports executions whose authors were deleted, with the remedy", () => {
  const id = "request//core.user.v2.UserService/CreateUser"
  const [finding] = blockedFindings([{ id, targetName: "CRM" }])
  expect(finding).toMatchObject({ state: "warning", check: "executions" })
  expect(JSON.stringify(finding)).toContain(`the target CRM can't change anything at ${id}`)
  expect(JSON.stringify(finding)).toContain("have an active administrator save the execution again")
  expect(blockedFindings([])).toEqual([])
})
