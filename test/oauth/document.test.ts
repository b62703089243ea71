import { exportJWK, generateKeyPair, SignJWT } from "jose"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { createApplication } from "../../src/domain/app/commands.ts"
import {
  addApplication,
  deactivateApplication,
  findClient,
  registerApplication,
  removeApplication,
} from "../../src/domain/app/index.ts"
import { appIdsOf } from "../../src/domain/app/view.ts"
import { limitsOf } from "../../src/kernel/limit.ts"
import type { OutboundReply, OutboundRequest } from "../../src/kernel/port/outbound.ts"
import { isDocument } from "../../src/oauth/registration/document.ts"
import { assertionType } from "./clients.ts"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  openProvider,
  type Provider,
  redirectUri,
} from "./provider.ts"
import { letRegister } from "./registering.ts"

const url = "https://tool.example/oauth/client.json"
const described = {
  client_id: url,
  client_name: "Tool",
  redirect_uris: [redirectUri],
  grant_types: ["authorization_code", "refresh_token"],
  token_endpoint_auth_method: "none",
}

let provider: Provider
let asked: OutboundRequest[]
/** What stands at the address now. */
let reply: () => Promise<OutboundReply> | OutboundReply

const says = (document: object, more: Partial<OutboundReply> = {}) => {
  reply = () => ({ status: 200, body: JSON.stringify(document), ...more })
}

beforeAll(async () => {
  provider = await openProvider()
})
afterAll(() => provider.close())

beforeEach(async () => {
  const { cx, projectId } = provider
  for (const id of appIdsOf(cx(), projectId, 100)) await removeApplication(cx(), id)
  asked = []
  says(described)
  await letRegister(provider, { mode: "off", metadataDocuments: true })
})
const send: Provider["send"] = (path, init, more) => {
  const outside = {
    ...provider.cx().outside,
    send: async (request: OutboundRequest) => {
      asked.push(request)
      return reply()
    },
  }
  return provider.send(path, init, { outside, ...more })
}
const open = (changes: Record<string, string> = {}, clientId = url) =>
  send(authorizePath(clientId, changes))
const isAsking = async (response: Promise<Response>) => {
  const { status, headers } = await response
  return [status, headers.get("location")?.startsWith("/ui/login") ?? false]
}

describe("a client id that is the address of a document", () => {
  test.each([
    [url, true],
    ["https://tool.example:8443/c", true],
    ["https://tool.example/c?v=2", true],
    ["http://tool.example/c", false],
    ["https://tool.example", false],
    ["https://tool.example/", false],
    ["https://tool.example/c#part", false],
    ["https://user@tool.example/c", false],
    ["https://user:pass@tool.example/c", false],
    ["https://tool.example/a/../c", false],
    ["https://tool.example/./c", false],
    ["https://tool.example/%2e%2e/c", false],
    ["https://TOOL.example/c", false],
    ["https://tool.example:443/c", false],
    ["https:/tool.example/c", false],
    ["https://tool.example/ c", false],
    [`https://tool.example/${"c".repeat(200)}`, false],
    ["123456", false],
  ])("%s: %s", (clientId, is) => {
    expect(isDocument(clientId)).toBe(is)
  })

  test("is told in discovery, where the instance takes such clients", async () => {
    const told = async () =>
      JSON.parse(await (await send("/.well-known/openid-configuration")).text())
    expect(await told()).toMatchObject({ client_id_metadata_document_supported: true })
    expect(await told()).not.toHaveProperty("registration_endpoint")
    await letRegister(provider, { mode: "open" })
    expect(await told()).not.toHaveProperty("client_id_metadata_document_supported")
  })

  test("signs people in who are asked each time, and see where it says so", async () => {
    const browser = browserOf({ send })
    const scope = "openid profile offline_access"
    const at = await browser.signIn(authorizePath(url, { scope }))
    expect(at.page).toContain("Tool is the name that tool.example gave this application")
    expect(at.page).toContain("app.example.com")
    const { code = "" } = answerOf(await browser.post(at, { answer: "allow" }))
    const fields = codeFields(code, { client_id: url })
    const { status, answer } = await askToken(provider, fields)
    expect([status, Object.keys(answer)]).toEqual([200, expect.arrayContaining(["refresh_token"])])
    const again = await browser.go(authorizePath(url, { scope }))
    expect(again.page).toContain("Tool is the name that")
    expect(asked).toEqual([expect.objectContaining({ url, method: "GET", sizeMax: 10_240 })])
  })

  test("may push its request, and be a device", async () => {
    const search = new URL(authorizePath(url), issuer).searchParams
    expect((await send("/oauth/v2/par", { method: "POST", body: search })).status).toBe(201)
    says({ ...described, grant_types: ["urn:ietf:params:oauth:grant-type:device_code"] })
    provider.clock.advance(2 * 3_600_000)
    const body = new URLSearchParams({ client_id: url, scope: "openid" })
    const path = "/oauth/v2/device_authorization"
    expect((await send(path, { method: "POST", body })).status).toBe(200)
  })

  test("proves itself with the keys of its document", async () => {
    const { publicKey, privateKey } = await generateKeyPair("ES256")
    const keys = [{ ...(await exportJWK(publicKey)), kid: "k", alg: "ES256" }]
    const method = { token_endpoint_auth_method: "private_key_jwt" }
    says({ ...described, ...method, jwks: { keys } })
    expect(await isAsking(open())).toEqual([303, true])
    const seconds = provider.clock.now() / 1000
    const client_assertion = await new SignJWT({ jti: "1" })
      .setProtectedHeader({ alg: "ES256", kid: "k" })
      .setIssuer(url)
      .setSubject(url)
      .setAudience(issuer)
      .setIssuedAt(seconds)
      .setExpirationTime(seconds + 60)
      .sign(privateKey)
    const proof = { client_assertion_type: assertionType, client_assertion }
    const { answer } = await askToken(provider, { ...codeFields("x"), ...proof })
    expect(answer.error).toBe("invalid_grant")
    const bare = await askToken(provider, codeFields("x", { client_id: url }))
    expect(bare.answer.error).toBe("invalid_client")
  })
})

describe("a document", () => {
  test.each<[string, object]>([
    ["of another address", { ...described, client_id: `${url}2` }],
    ["without an address", { ...described, client_id: undefined }],
    ["with a secret", { ...described, client_secret: "s" }],
    [
      "with a secret for its method",
      { ...described, token_endpoint_auth_method: "client_secret_post" },
    ],
    ["with redirects by http", { ...described, redirect_uris: ["http://app.example.com/cb"] }],
    ["with redirects of script", { ...described, redirect_uris: ["javascript:alert(1)"] }],
    ["without redirects", { ...described, redirect_uris: [] }],
    ["with keys at an address", { ...described, jwks_uri: "http://169.254.169.254/" }],
    ["that is a list", []],
  ])("%s is refused, and nothing is kept", async (_, document) => {
    says(document)
    const { status, headers } = await open()
    expect([status, headers.get("location")]).toEqual([400, null])
    expect(findClient(provider.cx(), url)).toBeUndefined()
  })

  test.each<[string, () => Promise<OutboundReply> | OutboundReply]>([
    ["that moved", () => ({ status: 302, body: JSON.stringify(described) })],
    ["that is not there", () => ({ status: 404, body: JSON.stringify(described) })],
    ["that is no JSON", () => ({ status: 200, body: "<html>" })],
    ["of a place that is none of the internet", () => Promise.reject(new Error("10.0.0.1: no"))],
  ])("%s tells nobody why, and is asked for again", async (_, answer) => {
    reply = answer
    const { status, page } = await browserOf({ send })
      .go(authorizePath(url))
      .then((at) => ({
        status: at.response.status,
        page: at.page,
      }))
    expect([status, page.includes("10.0.0.1")]).toEqual([400, false])
    says(described)
    expect(await isAsking(open())).toEqual([303, true])
  })

  test("is kept as long as its server says, within bounds, and then read again", async () => {
    for (const [cacheControl, seconds] of [
      ["max-age=0", 300],
      ["no-store, max-age=9999", 300],
      ["public, max-age=1200", 1200],
      ["max-age=99999999", 86_400],
      [undefined, 3600],
    ] as const) {
      says(described, cacheControl === undefined ? {} : { cacheControl })
      provider.clock.advance(86_400_000)
      asked = []
      await open()
      provider.clock.advance(seconds * 1000 - 1)
      await open()
      expect(asked).toHaveLength(1)
      provider.clock.advance(1)
      await open()
      expect(asked, String(cacheControl)).toHaveLength(2)
    }
  })

  test("that changes takes its old redirects away", async () => {
    await open()
    const moved = "https://new.example/callback"
    says({ ...described, redirect_uris: [moved] })
    provider.clock.advance(3_600_000)
    expect((await open()).status).toBe(400)
    expect(await isAsking(open({ redirect_uri: moved }))).toEqual([303, true])
  })

  test("is allowed anew once its name, key or method is another, and else remembered", async () => {
    const consentLifetimeSeconds = 30 * 86_400
    await letRegister(provider, { mode: "off", metadataDocuments: true, consentLifetimeSeconds })
    const browser = browserOf({ send })
    await browser.post(await browser.signIn(authorizePath(url)), { answer: "allow" })
    const isRemembered = async () => {
      provider.clock.advance(3_600_000)
      const before = asked.length
      const at = await browser.go(authorizePath(url))
      expect(asked).toHaveLength(before + 1)
      if (at.path.startsWith(redirectUri)) return true
      await browser.post(at, { answer: "allow" })
      return false
    }
    expect(await isRemembered()).toBe(true)
    const more = { ...described, redirect_uris: [redirectUri, "https://tool.example/more"] }
    says({ ...more, logo_uri: "https://tool.example/logo.png" })
    expect(await isRemembered()).toBe(true)
    says({ ...more, client_name: "Bank" })
    expect(await isRemembered()).toBe(false)
    expect(await isRemembered()).toBe(true)
    const { publicKey } = await generateKeyPair("ES256")
    const keys = [{ ...(await exportJWK(publicKey)), kid: "k", alg: "ES256" }]
    const named = { ...more, client_name: "Bank", jwks: { keys } }
    says(named)
    expect(await isRemembered()).toBe(false)
    says({ ...named, token_endpoint_auth_method: "private_key_jwt" })
    expect(await isRemembered()).toBe(false)
    expect(await isRemembered()).toBe(true)
    reply = () => ({ status: 410, body: "" })
    provider.clock.advance(3_600_000)
    expect((await browser.go(authorizePath(url))).response.status).toBe(400)
    says({ ...named, token_endpoint_auth_method: "private_key_jwt" })
    expect((await browser.go(authorizePath(url))).path.startsWith(redirectUri)).toBe(true)
  })

  test("that is gone lets nobody in any more", async () => {
    await open()
    reply = () => ({ status: 410, body: "" })
    provider.clock.advance(3_600_000)
    expect((await open()).status).toBe(400)
  })

  test("is not read for the addresses of those who ask too often", async () => {
    reply = () => ({ status: 404, body: "" })
    const allowance = limitsOf(provider.clock, 1)({ address: "203.0.113.7" })
    const statuses: number[] = []
    for (let count = 0; count < 31; count++) {
      const path = authorizePath(`https://tool.example/${count}`)
      statuses.push((await send(path, {}, { allowance })).status)
    }
    expect([statuses[29], statuses[30], asked.length]).toEqual([400, 429, 30])
  })
})

describe("an administrator", () => {
  test("turns them off, those that are known, too", async () => {
    await open()
    await letRegister(provider, { mode: "open" })
    expect((await open()).status).toBe(400)
    expect((await open({}, `${url}x`)).status).toBe(400)
    expect(asked).toHaveLength(1)
  })

  test("stops one, whatever its document says", async () => {
    await open()
    const { appId = "" } = findClient(provider.cx(), url) ?? {}
    await deactivateApplication(provider.cx(), appId)
    says({ ...described, client_name: "Other" })
    provider.clock.advance(3_600_000)
    expect((await open()).status).toBe(400)
    await removeApplication(provider.cx(), appId)
    expect(await isAsking(open())).toEqual([303, true])
  })

  test("has an API whose address no client can be", async () => {
    const cx = provider.cx()
    const { projectId } = provider
    const config = { kind: "api", api: { authMethod: "basic", resources: [url] } } as const
    await createApplication(cx, cx.ids.next(), { projectId, name: "API", config })
    expect((await open()).status).toBe(400)
    expect(findClient(cx, url)).toBeUndefined()
    const other = `${url}?v=2`
    says({ ...described, client_id: other })
    expect(await isAsking(open({}, other))).toEqual([303, true])
    const late = { ...config, api: { ...config.api, resources: [other] } }
    const taken = createApplication(cx, cx.ids.next(), { projectId, name: "API", config: late })
    await expect(taken).rejects.toMatchObject({ id: "app.resources_invalid" })
  })

  test("is one or an API, also where neither could see the other", async () => {
    const cx = provider.cx()
    const { projectId } = provider
    const api = { authMethod: "basic", resources: [url] } as const
    // Another process, or another node, had looked before the client was there.
    const addApi = () =>
      cx.store.transact(cx, (tx) =>
        addApplication({ ...tx, holder: () => undefined }, cx.ids.next(), {
          projectId,
          name: "API",
          clientId: cx.ids.next(),
          config: { kind: "api", api },
        }),
      )
    const metadata = { name: "Tool", oidc: { authMethod: "none" }, jwks: [] } as const
    const { appId } = await registerApplication(cx, metadata, url)
    await expect(addApi()).rejects.toMatchObject({ id: "app.resource_taken" })
    await removeApplication(cx, appId)
    await addApi()
    await expect(registerApplication(cx, metadata, url)).rejects.toMatchObject({
      id: "app.client_id_taken",
    })
    expect(findClient(cx, url)).toBeUndefined()
  })
})
