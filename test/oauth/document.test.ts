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
import { createLimits } from "../../src/kernel/limit.ts"
import type { OutboundReply, OutboundRequest } from "../../src/kernel/port/outbound.ts"
import { isMetadataDocumentUrl } from "../../src/oauth/registration/metadata-document.ts"
import { assertionType } from "./clients.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  openProvider,
  type Provider,
  redirectUri,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"
import { enableRegistration } from "./registration.ts"

const url = "https://tool.example/oauth/client.json"
const clientMetadata = {
  client_id: url,
  client_name: "Tool",
  redirect_uris: [redirectUri],
  grant_types: ["authorization_code", "refresh_token"],
  token_endpoint_auth_method: "none",
}

let provider: Provider
let requests: OutboundRequest[]
/** The current response at the URL. */
let reply: () => Promise<OutboundReply> | OutboundReply

const setDocument = (document: object, more: Partial<OutboundReply> = {}) => {
  reply = () => ({ status: 200, body: JSON.stringify(document), ...more })
}

beforeAll(async () => {
  provider = await openProvider()
})
afterAll(() => provider.close())

beforeEach(async () => {
  const { cx, projectId } = provider
  for (const id of appIdsOf(cx(), projectId, 100)) await removeApplication(cx(), id)
  requests = []
  setDocument(clientMetadata)
  await enableRegistration(provider, { mode: "off", metadataDocuments: true })
})
const send: Provider["send"] = (path, init, more) => {
  const outside = {
    ...provider.cx().outside,
    send: async (request: OutboundRequest) => {
      requests.push(request)
      return reply()
    },
  }
  return provider.send(path, init, { outside, ...more })
}
const openAuthorize = (changes: Record<string, string> = {}, clientId = url) =>
  send(authorizePath(clientId, changes))
const showsSignIn = async (response: Promise<Response>) => {
  const { status, headers } = await response
  return [status, headers.get("location")?.startsWith("/ui/login") ?? false]
}

describe("a client ID that is a document URL", () => {
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
    expect(isMetadataDocumentUrl(clientId)).toBe(is)
  })

  test("is announced in discovery if the instance accepts such clients", async () => {
    const told = async () =>
      JSON.parse(await (await send("/.well-known/openid-configuration")).text())
    expect(await told()).toMatchObject({ client_id_metadata_document_supported: true })
    expect(await told()).not.toHaveProperty("registration_endpoint")
    await enableRegistration(provider, { mode: "open" })
    expect(await told()).not.toHaveProperty("client_id_metadata_document_supported")
  })

  test("signs users in, who consent each time, and shows its host", async () => {
    const browser = browserOf({ send })
    const scope = "openid profile offline_access"
    const at = await browser.signIn(authorizePath(url, { scope }))
    expect(at.page).toContain("Tool is the name that tool.example gave this application")
    expect(at.page).toContain("app.example.com")
    const { code = "" } = responseOf(await browser.post(at, { answer: "allow" }))
    const fields = codeFields(code, { client_id: url })
    const { status, answer } = await sendTokenRequest(provider, fields)
    expect([status, Object.keys(answer)]).toEqual([200, expect.arrayContaining(["refresh_token"])])
    const again = await browser.go(authorizePath(url, { scope }))
    expect(again.page).toContain("Tool is the name that")
    expect(requests).toEqual([expect.objectContaining({ url, method: "GET", sizeMax: 10_240 })])
  })

  test("can push its request, and use the device flow", async () => {
    const search = new URL(authorizePath(url), issuer).searchParams
    expect((await send("/oauth/v2/par", { method: "POST", body: search })).status).toBe(201)
    setDocument({
      ...clientMetadata,
      grant_types: ["urn:ietf:params:oauth:grant-type:device_code"],
    })
    provider.clock.advance(2 * 3_600_000)
    const body = new URLSearchParams({ client_id: url, scope: "openid" })
    const path = "/oauth/v2/device_authorization"
    expect((await send(path, { method: "POST", body })).status).toBe(200)
  })

  test("authenticates with the keys of its document", async () => {
    const { publicKey, privateKey } = await generateKeyPair("ES256")
    const keys = [{ ...(await exportJWK(publicKey)), kid: "k", alg: "ES256" }]
    const method = { token_endpoint_auth_method: "private_key_jwt" }
    setDocument({ ...clientMetadata, ...method, jwks: { keys } })
    expect(await showsSignIn(openAuthorize())).toEqual([303, true])
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
    const { answer } = await sendTokenRequest(provider, { ...codeFields("x"), ...proof })
    expect(answer.error).toBe("invalid_grant")
    const bare = await sendTokenRequest(provider, codeFields("x", { client_id: url }))
    expect(bare.answer.error).toBe("invalid_client")
  })
})

describe("a document", () => {
  test.each<[string, object]>([
    ["of another address", { ...clientMetadata, client_id: `${url}2` }],
    ["without an address", { ...clientMetadata, client_id: undefined }],
    ["with a secret", { ...clientMetadata, client_secret: "s" }],
    [
      "with a secret for its method",
      { ...clientMetadata, token_endpoint_auth_method: "client_secret_post" },
    ],
    ["with redirects by http", { ...clientMetadata, redirect_uris: ["http://app.example.com/cb"] }],
    ["with redirects of script", { ...clientMetadata, redirect_uris: ["javascript:alert(1)"] }],
    ["without redirects", { ...clientMetadata, redirect_uris: [] }],
    ["with keys at an address", { ...clientMetadata, jwks_uri: "http://169.254.169.254/" }],
    ["that is a list", []],
  ])("%s is rejected, and nothing is stored", async (_, document) => {
    setDocument(document)
    const { status, headers } = await openAuthorize()
    expect([status, headers.get("location")]).toEqual([400, null])
    expect(findClient(provider.cx(), url)).toBeUndefined()
  })

  test.each<[string, () => Promise<OutboundReply> | OutboundReply]>([
    ["that moved", () => ({ status: 302, body: JSON.stringify(clientMetadata) })],
    ["that is not there", () => ({ status: 404, body: JSON.stringify(clientMetadata) })],
    ["that is no JSON", () => ({ status: 200, body: "<html>" })],
    ["of a place that is none of the internet", () => Promise.reject(new Error("10.0.0.1: no"))],
  ])("%s discloses no reason, and is requested again", async (_, answer) => {
    reply = answer
    const { status, page } = await browserOf({ send })
      .go(authorizePath(url))
      .then((at) => ({
        status: at.response.status,
        page: at.page,
      }))
    expect([status, page.includes("10.0.0.1")]).toEqual([400, false])
    setDocument(clientMetadata)
    expect(await showsSignIn(openAuthorize())).toEqual([303, true])
  })

  test("is cached as long as its server says, within bounds, then requested again", async () => {
    for (const [cacheControl, seconds] of [
      ["max-age=0", 300],
      ["no-store, max-age=9999", 300],
      ["public, max-age=1200", 1200],
      ["max-age=99999999", 86_400],
      [undefined, 3600],
    ] as const) {
      setDocument(clientMetadata, cacheControl === undefined ? {} : { cacheControl })
      provider.clock.advance(86_400_000)
      requests = []
      await openAuthorize()
      provider.clock.advance(seconds * 1000 - 1)
      await openAuthorize()
      expect(requests).toHaveLength(1)
      provider.clock.advance(1)
      await openAuthorize()
      expect(requests, String(cacheControl)).toHaveLength(2)
    }
  })

  test("that changes loses its old redirect URIs", async () => {
    await openAuthorize()
    const moved = "https://new.example/callback"
    setDocument({ ...clientMetadata, redirect_uris: [moved] })
    provider.clock.advance(3_600_000)
    expect((await openAuthorize()).status).toBe(400)
    expect(await showsSignIn(openAuthorize({ redirect_uri: moved }))).toEqual([303, true])
  })

  test("needs a new consent once its name, key or method changes, otherwise not", async () => {
    const consentLifetimeSeconds = 30 * 86_400
    await enableRegistration(provider, {
      mode: "off",
      metadataDocuments: true,
      consentLifetimeSeconds,
    })
    const browser = browserOf({ send })
    await browser.post(await browser.signIn(authorizePath(url)), { answer: "allow" })
    const isRemembered = async () => {
      provider.clock.advance(3_600_000)
      const before = requests.length
      const at = await browser.go(authorizePath(url))
      expect(requests).toHaveLength(before + 1)
      if (at.path.startsWith(redirectUri)) return true
      await browser.post(at, { answer: "allow" })
      return false
    }
    expect(await isRemembered()).toBe(true)
    const more = { ...clientMetadata, redirect_uris: [redirectUri, "https://tool.example/more"] }
    setDocument({ ...more, logo_uri: "https://tool.example/logo.png" })
    expect(await isRemembered()).toBe(true)
    setDocument({ ...more, client_name: "Bank" })
    expect(await isRemembered()).toBe(false)
    expect(await isRemembered()).toBe(true)
    const { publicKey } = await generateKeyPair("ES256")
    const keys = [{ ...(await exportJWK(publicKey)), kid: "k", alg: "ES256" }]
    const named = { ...more, client_name: "Bank", jwks: { keys } }
    setDocument(named)
    expect(await isRemembered()).toBe(false)
    setDocument({ ...named, token_endpoint_auth_method: "private_key_jwt" })
    expect(await isRemembered()).toBe(false)
    expect(await isRemembered()).toBe(true)
    reply = () => ({ status: 410, body: "" })
    provider.clock.advance(3_600_000)
    expect((await browser.go(authorizePath(url))).response.status).toBe(400)
    setDocument({ ...named, token_endpoint_auth_method: "private_key_jwt" })
    expect((await browser.go(authorizePath(url))).path.startsWith(redirectUri)).toBe(true)
  })

  test("that was removed rejects sign-ins", async () => {
    await openAuthorize()
    reply = () => ({ status: 410, body: "" })
    provider.clock.advance(3_600_000)
    expect((await openAuthorize()).status).toBe(400)
  })

  test("is not requested for addresses beyond their limit", async () => {
    reply = () => ({ status: 404, body: "" })
    const allowance = createLimits(provider.clock, 1)({ address: "203.0.113.7" })
    const statuses: number[] = []
    for (let count = 0; count < 31; count++) {
      const path = authorizePath(`https://tool.example/${count}`)
      statuses.push((await send(path, {}, { allowance })).status)
    }
    expect([statuses[29], statuses[30], requests.length]).toEqual([400, 429, 30])
  })
})

describe("an administrator", () => {
  test("turns such clients off, including known ones", async () => {
    await openAuthorize()
    await enableRegistration(provider, { mode: "open" })
    expect((await openAuthorize()).status).toBe(400)
    expect((await openAuthorize({}, `${url}x`)).status).toBe(400)
    expect(requests).toHaveLength(1)
  })

  test("deactivates one, whatever its document says", async () => {
    await openAuthorize()
    const { appId = "" } = findClient(provider.cx(), url) ?? {}
    await deactivateApplication(provider.cx(), appId)
    setDocument({ ...clientMetadata, client_name: "Other" })
    provider.clock.advance(3_600_000)
    expect((await openAuthorize()).status).toBe(400)
    await removeApplication(provider.cx(), appId)
    expect(await showsSignIn(openAuthorize())).toEqual([303, true])
  })

  test("can't use an API's URL as a client", async () => {
    const cx = provider.cx()
    const { projectId } = provider
    const config = { kind: "api", api: { authMethod: "basic", resources: [url] } } as const
    await createApplication(cx, cx.ids.next(), { projectId, name: "API", config })
    expect((await openAuthorize()).status).toBe(400)
    expect(findClient(cx, url)).toBeUndefined()
    const other = `${url}?v=2`
    setDocument({ ...clientMetadata, client_id: other })
    expect(await showsSignIn(openAuthorize({}, other))).toEqual([303, true])
    const late = { ...config, api: { ...config.api, resources: [other] } }
    const taken = createApplication(cx, cx.ids.next(), { projectId, name: "API", config: late })
    await expect(taken).rejects.toMatchObject({ id: "app.resources_invalid" })
  })

  test("is either a client or an API, also with concurrent creation", async () => {
    const cx = provider.cx()
    const { projectId } = provider
    const api = { authMethod: "basic", resources: [url] } as const
    // Another process or node had looked it up before the client existed.
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
