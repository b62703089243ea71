// One host in any spelling: the instance of a request, and the destination of redirects.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { folderAt } from "../../src/boot/folder/folder.ts"
import { addTrustedDomain } from "../../src/domain/instance/domain-change.ts"
import { grpcHost, setPublicUrl } from "../../src/domain/instance/index.ts"
import { firstInstance, setUp } from "../../src/domain/setup/index.ts"
import { parseConfig } from "../../src/kernel/config.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { createApp } from "../../src/server/app.ts"
import { redirectToHttps } from "../../src/server/edge/redirect.ts"
import { resolveInstanceHost } from "../../src/server/instance-host.ts"
import { openServices, type ServerServices } from "../../src/server/services.ts"
import { createToken } from "../../src/server/setup/setup-token.ts"
import { temporaryFolder } from "../support/latchkey.ts"

// The bundler puts files of the console there, which only the binary contains.
vi.mock("../../src/gen/ui-assets.ts", () => ({
  uiEntry: { css: "/ui/assets/kit.css", pageJs: "/ui/assets/page.js", icon: "/ui/mark.svg" },
  uiAssets: new Map(),
}))

const folder = temporaryFolder()
let services: ServerServices
let app: ReturnType<typeof createApp>
beforeAll(async () => {
  const env = { LATCHKEY_LIMITS: "off", LATCHKEY_LOG_LEVEL: "fatal" }
  const config = parseConfig({ flags: { "--trusted-proxies": "10.0.0.1" }, env, file: {} })
  const master = new Uint8Array(32)
  services = openServices({ config, folder: folderAt(folder.path), master, started: 0 })
  await setUp(services.call(firstInstance, "test"), {
    publicUrl: "https://id.example.com.:443/",
    organization: "Acme",
    owner: {
      loginName: "olga",
      email: "olga@example.com",
      firstName: "Olga",
      lastName: "Owner",
      password: "Correct-horse-7",
    },
    serviceKey: undefined,
  })
  const setupToken = createToken(systemRandom, { open: () => false, closed: () => undefined })
  app = createApp({ services, setupToken, upstream: "" })
})
afterAll(async () => {
  await services.store.close()
  folder.remove()
})

const peer = () => "127.0.0.1"
const discovery = "/.well-known/openid-configuration"

async function requestAt(
  host: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
) {
  const request = new Request(`http://${host}${path}`, { headers: { host, ...headers } })
  return app.guarded(request, app.publishedDocument(request) ?? (await app.answer(request, peer)))
}

const spellings = [
  "id.example.com",
  "ID.example.com",
  "id.example.com.",
  "id.example.com:443",
  "id.example.com.:443",
]

describe("the host of the public address (RFC 9110 §4.2.3)", () => {
  test.each(spellings)("is %s", async (host) => {
    for (const path of [discovery, "/oauth/v2/par"]) {
      const answer = await requestAt(host, path)
      expect(answer.status, path).toBe(path === discovery ? 200 : 405)
      expect(answer.headers.has("strict-transport-security"), path).toBe(true)
    }
    const { issuer } = await (await requestAt(host, discovery)).json()
    expect(issuer).toBe("https://id.example.com")
    expect(grpcHost(services.store, host)).toBe("id.example.com")
  })

  test.each([
    "id.example.com:80",
    "id.example.com:8443",
    "id.example.com..",
    "x.id.example.com:443",
    ".",
    ":443",
  ])("is not %s", async (host) => {
    const request = new Request("http://x/oauth/v2/par", { headers: { host } })
    expect((await app.answer(request, peer)).status).toBe(404)
  })

  test("has port 80 if the public address is http", async () => {
    const cx = services.call(firstInstance, "test")
    await setPublicUrl(cx, firstInstance, "http://id.example.com")
    expect((await requestAt("id.example.com.:80", discovery)).status).toBe(200)
    const request = new Request("http://x/oauth/v2/par", {
      headers: { host: "id.example.com:443" },
    })
    expect((await app.answer(request, peer)).status).toBe(404)
    await setPublicUrl(cx, firstInstance, "https://id.example.com")
  })
})

describe("a browser at a host with a trailing dot", () => {
  const accept = "text/html"

  test("is redirected to the host with its cookies and passkeys", async () => {
    const path = "/oauth/v2/authorize?client_id=1&state=%2F"
    const page = await requestAt("id.example.com.", path, { accept })
    expect([page.status, page.headers.get("location")]).toEqual([
      308,
      `https://id.example.com${path}`,
    ])
    expect((await requestAt("id.example.com:443", path, { accept })).status).toBe(400)
    const elsewhere = await requestAt("evil.example.", path, { accept })
    expect([elsewhere.status, elsewhere.headers.has("location")]).toEqual([421, false])
  })

  test("is redirected from http to https without the dot", () => {
    for (const host of ["id.example.com.", "id.example.com.:8080", "id.example.com"]) {
      const answer = redirectToHttps(services, 443, new Request(`http://${host}/a?b`))
      expect(answer.headers.get("location")).toBe("https://id.example.com/a?b")
    }
  })
})

test("a trusted host name of a proxy can have a trailing dot", async () => {
  await addTrustedDomain(services.call(firstInstance, "test"), firstInstance, "login.example.com")
  for (const host of ["login.example.com.:443", "LOGIN.example.com"]) {
    const headers = { host, "x-core-instance-host": "id.example.com." }
    const request = new Request("http://x/", { headers })
    const meant = resolveInstanceHost(services, request, () => "10.0.0.1")
    expect(meant.headers.get("host")).toBe("id.example.com.")
  }
})
