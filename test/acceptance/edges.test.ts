import { type ChildProcess, spawn } from "node:child_process"
import { request } from "node:http"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { writeCertificate } from "../support/certificate.ts"
import { binary, freePort, setUp, temporaryFolder } from "../support/latchkey.ts"
import { until } from "../support/wait.ts"

/** Starts the binary and waits until it is ready. */
async function startServer(args: readonly string[]) {
  const child: ChildProcess = spawn(binary, ["serve", ...args], { env: {} })
  let output = ""
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (more) => (output += more))
  const ended = new Promise<void>((done) => child.once("exit", () => done()))
  const what = () => `the server to start:\n${output}`
  await until(() => output.includes("ready in"), { what, limitMs: 60_000 })
  const stop = () => {
    child.kill("SIGTERM")
    return ended
  }
  return { output: () => output, stop }
}

const folder = temporaryFolder()
afterAll(() => folder.remove())

describe("a server with its own TLS", () => {
  let ports: readonly [https: number, http: number, grpc: number]
  let server: Awaited<ReturnType<typeof startServer>>
  beforeAll(async () => {
    ports = [await freePort(), await freePort(), await freePort()]
    const data = `${folder.path}/tls`
    await setUp(data, `https://localhost:${ports[0]}`)
    const { certFile, keyFile } = await writeCertificate(`${folder.path}/own`, ["localhost"])
    server = await startServer([
      "--data",
      data,
      "--listen",
      `127.0.0.1:${ports[0]}`,
      "--grpc-listen",
      `127.0.0.1:${ports[2]}`,
      "--redirect-listen",
      `127.0.0.1:${ports[1]}`,
      "--tls-cert",
      certFile,
      "--tls-key",
      keyFile,
    ])
  })
  afterAll(() => server?.stop())

  const tls = { rejectUnauthorized: false }
  const plain = (path: string, init: RequestInit = {}) =>
    fetch(`http://localhost:${ports[1]}${path}`, { redirect: "manual", ...init })

  test("serves https, sends HSTS, and prints its address", async () => {
    const url = `https://localhost:${ports[0]}`
    const answer = await fetch(`${url}/.well-known/openid-configuration`, { tls })
    expect((await answer.json()).issuer).toBe(url)
    expect(answer.headers.get("strict-transport-security")).toContain("max-age=")
    expect(server.output()).toContain(url)
  })

  test("redirects plain http for its own host only, and rejects forms there", async () => {
    const answer = await plain("/ui/console/?a=1")
    expect(answer.status).toBe(308)
    expect(answer.headers.get("location")).toBe(`https://localhost:${ports[0]}/ui/console/?a=1`)
    const elsewhere = await plain("/", { headers: { host: "evil.example" } })
    expect([elsewhere.status, elsewhere.headers.get("location")]).toEqual([421, null])
    expect((await plain("/oauth/v2/token", { method: "POST", body: "x" })).status).toBe(403)
  })
})

describe("a server on a Unix socket", () => {
  test("listens on the socket, and on no port", async () => {
    const data = `${folder.path}/socket`
    await setUp(data, "https://id.example.com")
    const path = `${folder.path}/http.sock`
    const grpc = await freePort()
    const server = await startServer([
      "--data",
      data,
      "--listen",
      `unix:${path}`,
      "--grpc-listen",
      `127.0.0.1:${grpc}`,
    ])
    const answer = await new Promise<string>((done, fail) => {
      const asked = { socketPath: path, path: "/.well-known/openid-configuration" }
      const headers = { host: "id.example.com" }
      request({ ...asked, headers }, (response) => {
        let body = ""
        response.on("data", (more) => (body += more)).once("end", () => done(body))
      })
        .once("error", fail)
        .end()
    })
    expect(JSON.parse(answer).issuer).toBe("https://id.example.com")
    expect(server.output()).toContain(`unix:${path}`)
    await server.stop()
  })
})
