// Properties that all responses share, tested through the listener of the complete server.
import { once } from "node:events"
import { writeFile } from "node:fs/promises"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { brotliCompressSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { claimFolder } from "../../src/boot/folder/claim.ts"
import { readConfig } from "../../src/boot/settings.ts"
import { setUp } from "../../src/domain/setup/index.ts"
import { systemClock } from "../../src/kernel/clock.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { loginPaths } from "../../src/login/path.ts"
import { paths as oauthPaths } from "../../src/oauth/issuer.ts"
import { paths as samlPaths } from "../../src/saml/path.ts"
import { type App, createApp } from "../../src/server/app.ts"
import { type Listener, listenHttp } from "../../src/server/listener.ts"
import { openServices, type ServerServices } from "../../src/server/services.ts"
import { createToken } from "../../src/server/setup/setup-token.ts"
import { owner, temporaryFolder } from "../support/latchkey.ts"
import { loopTurns, pause, until } from "../support/wait.ts"

// The bundler puts files of the console there, which only the binary contains.
vi.mock("../../src/gen/ui-assets.ts", async () => {
  const br = join(tmpdir(), `kit-${process.pid}.css.br`)
  await writeFile(br, brotliCompressSync("main {}"))
  const at = (name: string) => `/ui/assets/${name}`
  return {
    uiEntry: { css: at("kit.css"), pageJs: at("page.js"), icon: at("mark.svg") },
    uiAssets: { "/ui/assets/kit.css": { type: "text/css", br } },
  }
})
vi.mock("../../src/gen/openapi.ts", () => import("../support/openapi-texts.ts"))

const httpsHost = "id.example.com"
const httpHost = "plain.example.com"

let app: App
let listener: Listener
let close: () => Promise<void>
beforeAll(async () => {
  const folder = temporaryFolder()
  const config = readConfig({ flags: { "--data": folder.path, "--log-level": "fatal" }, env: {} })
  const claim = await claimFolder(config, systemRandom)
  const opened = openServices({ config, folder: claim.folder, master: claim.master, started: 0 })
  const broken = (): never => {
    throw new Error("broken on purpose")
  }
  const services: ServerServices = {
    ...opened,
    get secrets() {
      return isBroken ? broken() : opened.secrets
    },
  }
  for (const [instance, publicUrl] of [
    ["1", `https://${httpsHost}`],
    ["2", `http://${httpHost}`],
  ] as const) {
    const person = { ...owner, firstName: "Ada", lastName: "Blom" }
    const input = { publicUrl, organization: "Acme", owner: person, serviceKey: undefined }
    await setUp(services.call(instance, "setup"), input)
  }
  const setupToken = createToken(systemRandom, { open: () => false, closed: () => undefined })
  app = createApp({ services, setupToken, upstream: "http://localhost" })
  listener = listenHttp(
    app,
    { place: { host: "127.0.0.1", port: 0 }, certificates: [] },
    systemClock,
  )
  close = async () => {
    await listener.stop()
    await opened.store.close()
    claim.release()
    folder.remove()
  }
})
afterAll(() => close())

let isBroken = false

const fetchPath = (path: string, init: RequestInit = {}, host = httpsHost) =>
  fetch(`http://127.0.0.1:${listener.port}${path}`, {
    redirect: "manual",
    ...init,
    headers: { host, ...Object(init.headers) },
  })

const pageRequest = { headers: { accept: "text/html" } }
const postRequest = (type: string, body: BodyInit = ""): RequestInit => ({
  method: "POST",
  headers: { "content-type": type },
  body,
})
const apiCall = "/core.user.v2.UserService/ListUsers"
const formType = "application/x-www-form-urlencoded"

type EndpointCase = [name: string, status: number, path: string, init?: RequestInit]

const pageCases: readonly EndpointCase[] = [
  ["the console", 200, "/ui/console/", pageRequest],
  ["the reader of the description", 200, "/openapi", pageRequest],
  ["a page that is not there", 404, "/nowhere", pageRequest],
  ["set-up that is done", 404, "/setup", pageRequest],
]
const popupCases: readonly EndpointCase[] = [
  ["a sign-in", 400, "/ui/login/loginname?authRequest=1&cookie-sent", pageRequest],
  ["a sign-in that was begun wrongly", 400, "/oauth/v2/authorize", pageRequest],
  ["a sign-out", 400, "/oidc/v1/end_session?id_token_hint=x", pageRequest],
]
const otherCases: readonly EndpointCase[] = [
  ["an asset", 200, "/ui/assets/kit.css"],
  ["the start page", 302, "/", pageRequest],
  ["the settings of the console", 200, "/ui/console/environment.json"],
  ["discovery", 200, "/.well-known/openid-configuration"],
  ["the keys", 200, "/oauth/v2/keys"],
  ["the keys, asked for their head", 200, "/oauth/v2/keys", { method: "HEAD" }],
  ["userinfo", 401, "/oidc/v1/userinfo"],
  ["the token endpoint", 400, "/oauth/v2/token", postRequest(formType, "grant_type=x")],
  ["a preflight", 204, "/oauth/v2/token", { method: "OPTIONS" }],
  ["an endpoint asked the wrong way", 405, "/oauth/v2/token"],
  ["a form that is too large", 413, "/oauth/v2/token", postRequest(formType, "x".repeat(100_000))],
  ["REST", 200, "/healthz"],
  ["REST without a token", 401, "/management/v1/iam"],
  ["Connect in JSON", 401, apiCall, postRequest("application/json", "{}")],
  ["Connect in binary", 401, apiCall, postRequest("application/proto")],
  ["gRPC-Web", 200, apiCall, postRequest("application/grpc-web+proto", new Uint8Array(5))],
  ["gRPC-Web in base64", 200, apiCall, postRequest("application/grpc-web-text", "AAAAAAA=")],
  ["an operation asked the wrong way", 405, apiCall],
  ["a type that nobody reads", 415, apiCall, postRequest("text/plain", "x")],
  ["a path that is not there", 404, "/nowhere"],
  ["the description of REST", 200, "/openapi/json"],
  ["liveness", 200, "/debug/healthz"],
  ["readiness", 200, "/debug/ready"],
]

describe("an embedded file", () => {
  test.each(["br", "gzip", "identity"])("has the same headers in %s", async (encoding) => {
    const got = await fetchPath("/ui/assets/kit.css", { headers: { "accept-encoding": encoding } })
    expect(await got.text()).toBe("main {}")
    expect(got.headers.get("vary")).toBe("accept-encoding")
  })
})

describe("every response has the security headers, with HSTS over TLS only:", () => {
  test.each<EndpointCase>([...pageCases, ...popupCases, ...otherCases])(
    "%s",
    async (_, status, path, init) => {
      const { status: answered, headers } = await fetchPath(path, init)
      expect(answered).toBe(status)
      expect(headers.get("x-content-type-options")).toBe("nosniff")
      expect(headers.get("strict-transport-security")).toBe("max-age=31536000")
    },
  )

  test("including failures", async () => {
    isBroken = true
    const answers = [
      await fetchPath("/nowhere"),
      await fetchPath("/oauth/v2/token", postRequest(formType)),
    ]
    isBroken = false
    for (const { status, headers } of answers) {
      expect([status, headers.get("x-content-type-options")]).toEqual([500, "nosniff"])
      expect(headers.get("strict-transport-security")).toBe("max-age=31536000")
    }
  })

  test("but not HSTS if the public address is http or another host", async () => {
    for (const host of [httpHost, "nobody.example.com"]) {
      for (const path of ["/oauth/v2/keys", "/healthz", "/nowhere"]) {
        const { headers } = await fetchPath(path, {}, host)
        expect(headers.get("x-content-type-options")).toBe("nosniff")
        expect(headers.has("strict-transport-security"), `${host}${path}`).toBe(false)
      }
    }
  })
})

describe("a page in a window of its own", () => {
  const openerOf = async (path: string, init?: RequestInit, host?: string) =>
    (await fetchPath(path, init, host)).headers.get("cross-origin-opener-policy")

  test("omits headers that browsers would only warn about", async () => {
    const trusted = { headers: { ...pageRequest.headers, "sec-fetch-dest": "document" } }
    for (const host of [httpHost, "nobody.example.com"]) {
      expect(await openerOf("/ui/console/", pageRequest, host)).toBeNull()
      expect(await openerOf("/ui/console/", trusted, host)).toBe("same-origin")
    }
  })

  test.each<EndpointCase>(pageCases)(
    "is isolated from its opener: %s",
    async (_, __, path, init) => {
      expect(await openerOf(path, init)).toBe("same-origin")
    },
  )

  test.each<EndpointCase>(popupCases)(
    "can access the application that opened it: %s",
    async (_, __, path, init) => {
      expect(await openerOf(path, init)).toBe("unsafe-none")
    },
  )

  test("is the only page with this header", async () => {
    for (const [name, , path, init] of otherCases) {
      expect(await openerOf(path, init), name).toBeNull()
    }
  })
})

/** Sends bytes and reads until the server closes the connection. */
async function sendRaw(sent: string): Promise<string> {
  const socket = connect(listener.port, "127.0.0.1")
  const chunks: Buffer[] = []
  socket.on("data", (chunk) => chunks.push(Buffer.from(chunk)))
  socket.write(sent)
  await once(socket, "close")
  return Buffer.concat(chunks).toString()
}

const statusOf = (answer: string) => {
  const [head = "", content = ""] = answer.split("\r\n\r\n")
  // A response that waits for the rest of its request is sent in chunks.
  const body = content.replace(/^[0-9a-f]+\r\n/, "").replace(/\r\n0$/, "")
  expect(head.toLowerCase()).toContain("x-content-type-options: nosniff")
  const { code, message, details } = JSON.parse(body)
  return [Number(head.split(" ")[1]), code, details[0].id, message]
}

const formatRequest = (...lines: readonly string[]) =>
  `${lines.join("\r\n")}\r\nConnection: close\r\n\r\n`

describe("rejected with a message before the request is processed:", () => {
  test.each([
    [`Host: ${httpsHost}`, "Host: other.example.com"],
    [`Host: ${httpsHost}`, `Host: ${httpsHost}`],
    [`host: ${httpsHost}`, "Accept: */*", `HOST: ${httpHost}`],
    [`Host: ${httpsHost}, ${httpHost}`],
    ["Host: a b"],
  ])("more or less than one Host header (RFC 9112 §3.2): %s %s", async (...lines) => {
    const documents = ["/.well-known/openid-configuration", "/oauth/v2/keys", "/openapi/json"]
    for (const path of ["/healthz", "/ui/console/", "/management/v1/iam", ...documents]) {
      const answer = await sendRaw(formatRequest(`GET ${path} HTTP/1.1`, ...lines))
      expect(statusOf(answer)).toMatchObject([400, 3, "request.host_malformed", expect.anything()])
    }
  })

  test("no Host header, except for HTTP/1.0 health checks of load balancers", async () => {
    for (const path of ["/debug/ready", "/debug/healthz", "/healthz"]) {
      expect(await sendRaw(`GET ${path} HTTP/1.0\r\n\r\n`)).toMatch(/^HTTP\/1\.1 200 /)
    }
    const answer = await sendRaw("GET /ui/console/ HTTP/1.0\r\n\r\n")
    expect(statusOf(answer)).toMatchObject([400, 3, "request.host_malformed", expect.anything()])
  })

  test("a body with a huge Content-Length, without reading it", async () => {
    for (const path of ["/healthz", "/oauth/v2/token", apiCall, "/nowhere"]) {
      const lines = [`POST ${path} HTTP/1.1`, `Host: ${httpsHost}`, "Content-Length: 100000000"]
      const answer = await sendRaw(`${lines.join("\r\n")}\r\n\r\n{`)
      expect(statusOf(answer)).toMatchObject([413, 8, "request.too_large", expect.anything()])
    }
  })

  test.each([
    ["a header", "/healthz", "x".repeat(17_000)],
    ["an address", `/healthz?${"x".repeat(17_000)}`, ""],
  ])("%s above 16 kB", async (_, path, value) => {
    const lines = [`GET ${path} HTTP/1.1`, `Host: ${httpsHost}`, `Cookie: ${value}`]
    const answer = await sendRaw(formatRequest(...lines))
    expect(statusOf(answer)).toMatchObject([431, 8, "request.head_too_large", expect.anything()])
    expect((await fetchPath("/healthz", { headers: { cookie: "x".repeat(15_000) } })).status).toBe(
      200,
    )
  })
})

test.each([
  ["a header", "/healthz", "x".repeat(33_000)],
  ["an address", `/healthz?${"x".repeat(33_000)}`, ""],
])("%s above 32 kB is rejected by the runtime, without a message", async (_, path, value) => {
  const lines = [`GET ${path} HTTP/1.1`, `Host: ${httpsHost}`, `Cookie: ${value}`]
  expect(await sendRaw(formatRequest(...lines))).toMatch(/^HTTP\/1\.1 431 [^{]*$/)
})

test("an absolute request target is routed by its path, at the host in Host", async () => {
  // RFC 9112 §3.2.2 requires the other host, which the runtime does not expose.
  for (const host of [httpsHost, "other.example.com"]) {
    const keys = formatRequest(`GET http://${host}/oauth/v2/keys HTTP/1.1`, `Host: ${httpsHost}`)
    expect(await sendRaw(keys)).toMatch(/^HTTP\/1\.1 200 .*"kid"/s)
  }
  const second = formatRequest(
    `GET http://${httpsHost}/healthz HTTP/1.1`,
    `Host: ${httpsHost}`,
    "Host: a.b",
  )
  expect(statusOf(await sendRaw(second))).toMatchObject([
    400,
    3,
    "request.host_malformed",
    expect.anything(),
  ])
})

/** A connection that sends a body in chunks for as long as the server accepts them. */
function openChunked(path: string, type: string) {
  const socket = connect(listener.port, "127.0.0.1")
  let answer = ""
  const errors: Error[] = []
  socket.on("data", (data) => (answer += data))
  socket.on("error", (error) => errors.push(error))
  const closed = new Promise<void>((done) => socket.once("close", () => done()))
  const lines = [`POST ${path} HTTP/1.1`, `Host: ${httpsHost}`, `Content-Type: ${type}`]
  socket.write(`${lines.join("\r\n")}\r\nTransfer-Encoding: chunked\r\n\r\n`)
  const chunk = Buffer.from(`10000\r\n${"x".repeat(65_536)}\r\n`)
  return {
    answer: () => answer,
    errors,
    closed,
    end: () => socket.end("0\r\n\r\n"),
    destroy: () => socket.destroy(),
    /** Returns the number of chunks sent before the server closed the connection. */
    send: async (count: number) => {
      for (let sent = 0; sent < count; sent++) {
        if (socket.destroyed) return sent
        const drained = new Promise<void>((done) => socket.once("drain", () => done()))
        if (!socket.write(chunk)) await Promise.race([drained, closed])
        else await loopTurns(1)
      }
      return count
    },
  }
}

describe("a request that is answered before its body has arrived", () => {
  /** A path of every kind of endpoint. */
  const bodies = async (): Promise<readonly (readonly [string, string])[]> => {
    const own = Object.values({ ...oauthPaths, ...samlPaths, ...loginPaths })
    const external = ["/idps/callback", "/idps/1/callback", "/idps/jwt", "/idps/1/saml/acs"]
    const unserved = ["/nowhere", "/setup", "/debug/ready", "/openapi/json", "/ui/assets/kit.css"]
    const forms = [...own, ...external, ...unserved].map((path) => [path, formType] as const)
    const { entries } = await app.api()
    const services = new Map(entries.map(({ name }) => [name.split("/")[0], `/${name}`]))
    const calls = [...services.values()].flatMap((path) =>
      ["application/json", "application/grpc-web+proto"].map((type) => [path, type] as const),
    )
    return [...forms, ...calls, ["/management/v1/projects", "application/json"]]
  }

  test("is read only up to a limit, at every endpoint", async () => {
    const endless: string[] = []
    const all = await bodies()
    expect(all.length).toBeGreaterThan(100)
    for (const [path, type] of all) {
      const sender = openChunked(path, type)
      const sent = await sender.send(endlessChunks)
      if (sent === endlessChunks || !sender.answer().startsWith("HTTP/1.1 ")) endless.push(path)
      sender.destroy()
    }
    expect(endless).toEqual([])
  })
  const endlessChunks = 160

  test.each([
    [401, apiCall, "application/json"],
    [415, apiCall, "text/plain"],
    [404, "/nowhere", formType],
    [405, "/oauth/v2/keys", formType],
    [413, "/oauth/v2/token", formType],
    [400, "/ui/login/loginname", formType],
  ])("receives its %d immediately from %s, and may send the rest", async (status, path, type) => {
    const sender = openChunked(path, type)
    await sender.send(2)
    await until(() => sender.answer() !== "")
    expect(sender.answer()).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(sender.answer()).toMatch(/\r\nconnection: close\r\n/i)
    for (let count = 0; count < 5; count++) {
      await pause(20, "the sender is slower than the answer")
      expect(await sender.send(2)).toBe(2)
    }
    sender.end()
    await sender.closed
    expect(sender.errors).toEqual([])
    expect(sender.answer()).toMatch(/\r\n0\r\n\r\n$|\r\ncontent-length: 0\r\n/i)
  })

  test("is closed after a while if the rest does not arrive", async () => {
    const sender = openChunked(apiCall, "application/json")
    await sender.closed
    expect(sender.answer()).toMatch(/^HTTP\/1.1 401 .*\r\n0\r\n\r\n$/s)
  })

  test("keeps its connection if its body is read to the end", async () => {
    const sender = openChunked("/oauth/v2/token", formType)
    sender.end()
    await until(() => sender.answer() !== "")
    expect(sender.answer()).toMatch(/^HTTP\/1.1 400 /)
    expect(sender.answer()).not.toMatch(/\r\nconnection: close/i)
  })
})
