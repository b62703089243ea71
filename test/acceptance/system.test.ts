import { createPrivateKey } from "node:crypto"
import { SignJWT } from "jose"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { claimFolder } from "../../src/boot/folder/claim.ts"
import { readConfig } from "../../src/boot/settings.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { createSigningPair } from "../../src/kernel/crypto/signing-key.ts"
import { createApp } from "../../src/server/app.ts"
import { startPurging } from "../../src/server/background/purging.ts"
import { type Listener, listenGrpc } from "../../src/server/listener.ts"
import { openServices, type ServerServices } from "../../src/server/services.ts"
import { setUpByRequest } from "../../src/server/setup/setup.ts"
import { createToken } from "../../src/server/setup/setup-token.ts"
import { owner, temporaryFolder } from "../support/latchkey.ts"
import { openGrpc } from "./grpc.ts"
import { bearer, methodOf, parseReply, pathOf, type Reply } from "./service.ts"

// The compiled binary embeds these files; a test runner would execute them.
vi.mock("../../src/gen/ui-assets.ts", () => ({
  uiAssets: {},
  uiEntry: { css: "/ui/assets/kit.css", pageJs: "/ui/assets/page.js", icon: "/ui/mark.svg" },
}))

const home = "http://localhost:8080"

type SystemServer = {
  readonly services: ServerServices
  /** Sends a request to a host of the process. */
  readonly send: (host: string, path: string, init?: RequestInit, peer?: string) => Promise<Reply>
  readonly page: (host: string, path: string) => Promise<Response>
  readonly grpc: Listener
  readonly close: () => Promise<void>
}

let pair: Awaited<ReturnType<typeof createSigningPair>>
let systemServer: SystemServer

/** A complete server on its own data directory, set up, with a user who can manage instances. */
async function openSystemServer(): Promise<SystemServer> {
  const folder = temporaryFolder()
  const users = [{ name: "ops", public_key: pair.publicKey }]
  const config = readConfig({
    flags: { "--data": folder.path, "--log-level": "fatal" },
    env: {
      LATCHKEY_SYSTEM_USERS: JSON.stringify(users),
      LATCHKEY_TRUSTED_PROXIES: "127.0.0.1",
    },
  })
  const claim = await claimFolder(config, systemRandom)
  const services = openServices({ config, folder: claim.folder, master: claim.master, started: 0 })
  await setUpByRequest(services, {
    publicUrl: home,
    org: "Home",
    owner: owner.loginName,
    ownerEmail: owner.email,
    ownerPassword: owner.password,
    serviceKey: undefined,
  })
  const setupToken = createToken(systemRandom, { open: () => false, closed: () => undefined })
  const app = createApp({ services, setupToken, upstream: "http://localhost" })
  const grpc = await listenGrpc(app, { host: "localhost", port: 0 })
  const ask = (host: string, path: string, init: RequestInit = {}, peer = "127.0.0.1") => {
    const headers = { host, ...Object(init.headers) }
    const request = new Request(`http://${host}${path}`, { ...init, headers })
    return app.publishedDocument(request) ?? app.answer(request, () => peer)
  }
  return {
    services,
    grpc,
    send: async (...description) => parseReply(await ask(...description)),
    page: async (host, path) => ask(host, path, { headers: { accept: "text/html" } }),
    close: async () => {
      await grpc.stop()
      await services.store.close()
      claim.release()
      folder.remove()
    },
  }
}

beforeAll(async () => {
  pair = await createSigningPair()
  systemServer = await openSystemServer()
})
afterAll(() => systemServer?.close())

const tokenFor = (audience: string, name = "ops") =>
  new SignJWT({})
    .setProtectedHeader({ alg: "RS256" })
    .setIssuer(name)
    .setSubject(name)
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime("5m")
    .sign(createPrivateKey(pair.privateKey))

const homeHost = new URL(home).host

/** A REST call of the system API, to the host of the first instance. */
const callRest = async (method: string, path: string, body?: object) =>
  systemServer.send(homeHost, `/system/v1${path}`, {
    method,
    headers: { ...bearer(await tokenFor(home)), "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  })

const callConnect = async (host: string, name: string, request: object, token: string) =>
  systemServer.send(host, pathOf(methodOf(name)), {
    method: "POST",
    headers: { ...bearer(token), "content-type": "application/json" },
    body: JSON.stringify(request),
  })

const createInstance = async (domain: string) => {
  const machine = { userName: "robot", name: "Robot", personalAccessToken: {} }
  const request = { instanceName: "Acme", customDomain: domain, machine }
  const made = await callRest("POST", "/instances/_create", request)
  expect(made.status, JSON.stringify(made.body)).toBe(200)
  return {
    id: made.body.instanceId as string,
    pat: made.body.pat as string,
    host: `${domain}:8080`,
  }
}

test("an instance created by the system API serves its own host, as own issuer", async () => {
  const { host, pat, id } = await createInstance("acme.localhost")
  const { body } = await systemServer.send(host, "/.well-known/openid-configuration")
  expect(body.issuer).toBe("http://acme.localhost:8080")
  const { body: mine } = await callConnect(host, "GetInstance", {}, pat)
  expect(mine.instance.id).toBe(id)
  const foreign = await callConnect(homeHost, "GetInstance", {}, pat)
  expect(foreign.status).toBe(401)
})

test("the system API is available by Connect, gRPC and REST", async () => {
  const token = await tokenFor(home)
  const byConnect = await callConnect(homeHost, "ListInstances", {}, token)
  const grpc = openGrpc(systemServer.grpc.port, token)
  try {
    const byGrpc = await grpc.call("ListInstances", {})
    expect(byConnect.status).toBe(200)
    expect(byGrpc.instances).toHaveLength(byConnect.body.instances.length)
  } finally {
    grpc.close()
  }
  const exists = await callRest("POST", "/domains/localhost/_exists", {})
  expect(exists.body).toEqual({ exists: true })
  expect(exists.headers.get("deprecation")).toBeTruthy()
})

test("a token for one instance's address is invalid at another's", async () => {
  const { host, id } = await createInstance("other.localhost")
  const there = await tokenFor("http://other.localhost:8080")
  expect((await callConnect(host, "GetInstance", { instanceId: id }, there)).status).toBe(200)
  expect((await callConnect(homeHost, "GetInstance", { instanceId: id }, there)).status).toBe(401)
  expect((await callConnect("nowhere.localhost", "ListInstances", {}, there)).status).toBe(401)
  const unknown = await tokenFor(home, "stranger")
  expect((await callConnect(homeHost, "ListInstances", {}, unknown)).status).toBe(401)
})

test("a blocked instance rejects every caller except the system API", async () => {
  const { host, id, pat } = await createInstance("blocked.localhost")
  const published = "/.well-known/openid-configuration"
  expect((await systemServer.send(host, published)).status).toBe(200)
  await callRest("PUT", `/instances/${id}/limits`, { block: true })
  for (const path of [published, "/oauth/v2/keys", "/oauth/v2/token"]) {
    expect([path, (await systemServer.send(host, path)).status]).toEqual([path, 429])
  }
  expect((await callConnect(host, "GetInstance", {}, pat)).status).toBe(429)
  const page = await systemServer.page(host, "/ui/login/")
  expect(page.status).toBe(429)
  expect(await page.text()).toContain("This service is blocked")
  expect((await systemServer.send(homeHost, published)).status).toBe(200)
  const token = await tokenFor("http://blocked.localhost:8080")
  expect((await callConnect(host, "GetInstance", { instanceId: id }, token)).status).toBe(200)
  expect((await callRest("DELETE", `/instances/${id}/limits`)).status).toBe(200)
  expect((await systemServer.send(host, published)).status).toBe(200)
  expect((await callConnect(host, "GetInstance", {}, pat)).status).toBe(200)
})

test("requests beyond a quota are rejected with Retry-After", async () => {
  const { host, id, pat } = await createInstance("counted.localhost")
  const quota = {
    unit: "UNIT_REQUESTS_ALL_AUTHENTICATED",
    from: "2020-01-01T00:00:00Z",
    resetInterval: "3600s",
    amount: "2",
    limit: true,
  }
  expect((await callRest("POST", `/instances/${id}/quotas`, quota)).status).toBe(200)
  const statuses = []
  for (let each = 0; each < 3; each++) {
    statuses.push((await callConnect(host, "GetInstance", {}, pat)).status)
  }
  expect(statuses).toEqual([200, 200, 429])
  const gone = await callRest("DELETE", `/instances/${id}/quotas/UNIT_REQUESTS_ALL_AUTHENTICATED`)
  expect(gone.status).toBe(200)
  expect((await callConnect(host, "GetInstance", {}, pat)).status).toBe(200)
})

test("pages show the default organization's name once that is enabled", async () => {
  const { host, pat } = await createInstance("branded.localhost")
  const title = async () =>
    /<title>([^<]*)/.exec(await (await systemServer.page(host, "/ui/login/")).text())
  expect((await title())?.[1]).toContain("Latchkey")
  const init = { method: "PUT", headers: bearer(pat) }
  expect((await systemServer.send(host, "/features/login_default_org", init)).status).toBe(200)
  expect((await title())?.[1]).toContain("Acme")
  expect((await systemServer.send(host, "/admin/v1/features/login_default_org", init)).status).toBe(
    400,
  )
})

test("a proxy gets the documents of the instance that it names, under any host name", async () => {
  const { host, id } = await createInstance("behind.localhost")
  const token = await tokenFor(`http://${host}`)
  const request = { instanceId: id, trustedDomain: new URL(home).hostname }
  const added = await callConnect(host, "AddTrustedDomain", request, token)
  expect(added.status, JSON.stringify(added.body)).toBe(200)
  for (const path of ["/.well-known/openid-configuration", "/oauth/v2/keys"]) {
    const own = await systemServer.send(host, path)
    const shown = await systemServer.send(homeHost, path, {
      headers: { "x-core-instance-host": host },
    })
    expect(shown.body).toEqual(own.body)
    expect(shown.body).not.toEqual((await systemServer.send(homeHost, path)).body)
  }
})

test("only a proxy can name the instance of a trusted domain", async () => {
  const { host, pat, id } = await createInstance("hidden.localhost")
  const trusted = "shop.example.com"
  const ask = async (at: string, name: string, peer?: string) => {
    const headers = { ...bearer(pat), "x-core-instance-host": name }
    const init = { method: "GET", headers }
    return (await systemServer.send(at, "/admin/v1/instances/me", init, peer)).status
  }
  expect(await ask(trusted, host)).toBe(401)
  const token = await tokenFor("http://hidden.localhost:8080")
  const request = { instanceId: id, trustedDomain: trusted }
  expect((await callConnect(host, "AddTrustedDomain", request, token)).status).toBe(200)
  expect(await ask(trusted, host)).toBe(200)
  expect(await ask(trusted, host, "203.0.113.7")).toBe(401)
  expect(await ask("other.example.com", host)).toBe(401)
  expect(await ask(trusted, homeHost)).toBe(401)
  expect(await ask(host, homeHost)).toBe(200)
})

test("a deleted instance is unavailable immediately; its data is deleted soon", async () => {
  const { host, id, pat } = await createInstance("gone.localhost")
  const token = await tokenFor(home)
  expect((await callConnect(homeHost, "DeleteInstance", { instanceId: id }, token)).status).toBe(
    200,
  )
  expect((await callConnect(host, "GetInstance", {}, pat)).status).toBe(401)
  expect((await systemServer.send(host, "/.well-known/openid-configuration")).status).toBe(404)
  const left = () =>
    systemServer.services.store.database
      .query<{ n: number }, [string]>(
        "SELECT count(DISTINCT stream || id) AS n FROM event WHERE instance = ?",
      )
      .get(id)?.n
  expect(left()).toBeGreaterThan(1)
  const unseen = startPurging(systemServer.services, () => 0)
  await unseen.stop()
  expect(left()).toBeGreaterThan(1)
  const purging = startPurging(systemServer.services, () => Number.MAX_SAFE_INTEGER)
  await expect.poll(left).toBe(1)
  await purging.stop()
  const { status } = await callConnect(homeHost, "DeleteInstance", { instanceId: "1" }, token)
  expect(status).toBe(400)
})
