import { decodeJwt } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createApplication } from "../../src/domain/app/commands.ts"
import { removeApplication, updateApplication } from "../../src/domain/app/index.ts"
import { createProject, deactivateProject } from "../../src/domain/project/index.ts"
import { addServiceAccount, encodeBasic } from "./clients.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"

let provider: Provider
let api: string
let other: string
let web: NewClient
beforeAll(async () => {
  provider = await openProvider()
  const cx = provider.cx()
  const add = async (name: string) => {
    const id = cx.ids.next()
    await createProject(cx, id, { orgId: provider.setup.orgId, name })
    return id
  }
  api = await add("Api")
  other = await add("Other")
  web = await provider.addClient({ tokenType: "jwt" }, other)
})
afterAll(() => provider.close())

const urn = (id: string) => `urn:core:iam:org:project:id:${id}:aud`
const withResources = (path: string, ...uris: readonly string[]) =>
  uris.reduce((all, uri) => `${all}&resource=${encodeURIComponent(uri)}`, path)

async function codeFor(...uris: readonly string[]) {
  const path = withResources(authorizePath(web.id), ...uris)
  return responseOf(await browserOf(provider).signIn(path)).code ?? ""
}

const redeemCode = (code: string, fields: Readonly<Record<string, string>> = {}) =>
  sendTokenRequest(provider, codeFields(code, fields), `${web.id}:${web.secret}`)

describe("resource (RFC 8707)", () => {
  test("puts projects into the audience, however many", async () => {
    const { answer } = await redeemCode(await codeFor(urn(api), urn(other)))
    expect(decodeJwt(String(answer.access_token)).aud).toEqual([web.id, other, api])
  })

  test("narrows the token at the token endpoint", async () => {
    const { answer } = await redeemCode(await codeFor(urn(api)), { resource: urn(api) })
    expect(decodeJwt(String(answer.access_token)).aud).toEqual([web.id, api])
  })

  test("that was not granted issues no token", async () => {
    const { status, answer } = await redeemCode(await codeFor(), { resource: urn(api) })
    expect([status, answer.error]).toEqual([400, "invalid_target"])
  })

  const unknown = [
    "https://api.example.com/",
    "api",
    "urn:core:iam:org:project:id:0:aud",
    "urn:core:iam:org:project:id:x:aud#part",
    "urn:a urn:b",
  ]
  test.each(unknown)("that is invalid is rejected at both endpoints: %s", async (resource) => {
    const response = await provider.send(authorizePath(web.id, { resource }))
    expect(responseOf({ path: response.headers.get("location") ?? "" } as never).error).toBe(
      "invalid_target",
    )
    const { answer } = await redeemCode(await codeFor(), { resource })
    expect(answer.error).toBe("invalid_target")
  })

  test("that was not granted consumes neither the code nor the refresh token", async () => {
    const grantTypes = ["authorization_code", "refresh_token"] as const
    const keeping = await provider.addClient({ grantTypes }, other)
    const as = `${keeping.id}:${keeping.secret}`
    const browser = browserOf(provider)
    const path = authorizePath(keeping.id, { scope: "openid offline_access" })
    let end = await browser.signIn(path)
    if (!end.path.startsWith("https://app.")) end = await browser.post(end, { answer: "allow" })
    const { code = "" } = responseOf(end)
    const resource = urn(api)
    const early = await sendTokenRequest(provider, codeFields(code, { resource }), as)
    expect(early.answer.error).toBe("invalid_target")
    const { answer } = await sendTokenRequest(provider, codeFields(code), as)
    const fields = { grant_type: "refresh_token", refresh_token: String(answer.refresh_token) }
    const bad = await sendTokenRequest(provider, { ...fields, resource }, as)
    expect(bad.answer.error).toBe("invalid_target")
    provider.clock.advance(20_000)
    expect((await sendTokenRequest(provider, fields, as)).status).toBe(200)
  })

  test("reveals nothing to unauthenticated callers at the token endpoint", async () => {
    const answers = [urn(api), urn("0")].map(async (resource) => {
      const fields = { grant_type: "client_credentials", client_id: "x", resource }
      return (await sendTokenRequest(provider, fields)).answer.error
    })
    expect(await Promise.all(answers)).toEqual(["invalid_client", "invalid_client"])
  })

  test("of a deactivated project is invalid", async () => {
    const cx = provider.cx()
    const off = cx.ids.next()
    await createProject(cx, off, { orgId: provider.setup.orgId, name: "Off" })
    await deactivateProject(cx, off)
    const response = await provider.send(authorizePath(web.id, { resource: urn(off) }))
    expect(response.headers.get("location")).toContain("error=invalid_target")
  })

  test("of a service account becomes the token's only audience", async () => {
    const robot = await addServiceAccount(provider, "jwt")
    const ask = (fields: Readonly<Record<string, string>>) =>
      sendTokenRequest(
        provider,
        { grant_type: "client_credentials", ...fields },
        encodeBasic(robot.id, robot.secret),
      )
    const audience = async (fields: Readonly<Record<string, string>>) =>
      decodeJwt(String((await ask(fields)).answer.access_token)).aud
    expect([await audience({ resource: urn(api) })].flat()).toEqual([api])
    expect([await audience({ scope: urn(other), resource: urn(api) })].flat()).toEqual([api])
    expect([await audience({ scope: `${urn(other)} ${urn(api)}` })].flat()).toEqual([other, api])
    expect((await ask({ resource: "https://x.example" })).answer.error).toBe("invalid_target")
  })

  test("for the management API requires the user's consent, as the scope does", async () => {
    const browser = browserOf(provider)
    await browser.signIn(authorizePath(web.id))
    const path = authorizePath(web.id, { resource: urn("core"), prompt: "none" })
    expect(responseOf(await browser.go(path)).error).toBe("consent_required")
  })
})

describe("the URI of an API (RFC 8707 §2)", () => {
  const mcp = "https://mcp.example.com/mcp"
  let appId: string
  let apiClient: { readonly id: string; readonly secret: string }
  const addApi = async (uris: readonly string[], projectId = api) => {
    const cx = provider.cx()
    const id = cx.ids.next()
    const config = { kind: "api", api: { authMethod: "basic", resources: uris } } as const
    const made = await createApplication(cx, id, { projectId, name: "MCP", config })
    return { appId: id, id: made.clientId, secret: made.secret ?? "" }
  }
  beforeAll(async () => {
    const made = await addApi([mcp])
    appId = made.appId
    apiClient = made
  })

  const tokenFor = async (...uris: readonly string[]) =>
    String((await redeemCode(await codeFor(...uris))).answer.access_token)
  const introspected = async (token: string) => {
    const { id, secret } = apiClient
    const basic = Buffer.from(encodeBasic(id, secret)).toString("base64")
    const response = await provider.send("/oauth/v2/introspect", {
      method: "POST",
      headers: { authorization: `Basic ${basic}` },
      body: new URLSearchParams({ token }),
    })
    return response.json()
  }

  test("is in the audience beside its project, visible at introspection", async () => {
    const token = await tokenFor(mcp)
    expect(decodeJwt(token).aud).toEqual([web.id, other, api, mcp])
    expect(await introspected(token)).toMatchObject({
      active: true,
      aud: [web.id, other, api, mcp],
    })
    expect(await introspected(await tokenFor())).toEqual({ active: false })
  })

  test("narrows a token, and is not added if it was not granted", async () => {
    const { answer } = await redeemCode(await codeFor(mcp), { resource: mcp })
    expect(decodeJwt(String(answer.access_token)).aud).toEqual([web.id, api, mcp])
    const refused = await redeemCode(await codeFor(), { resource: mcp })
    expect(refused.answer.error).toBe("invalid_target")
    // The project alone covers less than the API.
    const wider = await redeemCode(await codeFor(urn(api)), { resource: mcp })
    expect(wider.answer.error).toBe("invalid_target")
  })

  test.each([`${mcp}/`, `${mcp}?a=b`, mcp.toUpperCase(), `${mcp}#part`, "https://mcp.example.com"])(
    "is compared character by character: %s",
    async (resource) => {
      const response = await provider.send(authorizePath(web.id, { resource }))
      expect(response.headers.get("location")).toContain("error=invalid_target")
    },
  )

  test("that is only a host also matches with a trailing slash (RFC 3986 §6.2.3)", async () => {
    await addApi(["https://host.example.com"])
    const token = await tokenFor("https://host.example.com/")
    expect(decodeJwt(token).aud).toEqual([web.id, other, api, "https://host.example.com/"])
  })

  test("belongs to one API, and is available again when removed", async () => {
    await expect(addApi([mcp], other)).rejects.toMatchObject({ id: "app.resource_taken" })
    const passing = await addApi(["https://a.example.com/", "https://b.example.com/"])
    await updateApplication(provider.cx(), passing.appId, {
      api: { resources: ["https://b.example.com/"] },
    })
    const next = await addApi(["https://a.example.com/"], other)
    await removeApplication(provider.cx(), next.appId)
    await addApi(["https://a.example.com/"])
  })

  test("is accepted with and without the slash of an empty path", async () => {
    const taken = { code: "already_exists", id: "app.resource_taken" }
    await addApi(["https://bare.example.com"])
    await expect(addApi(["https://bare.example.com/"], other)).rejects.toMatchObject(taken)
    const { appId: id } = await addApi(["https://slash.example.com/"])
    const bare = "https://slash.example.com"
    await expect(addApi([bare], other)).rejects.toMatchObject(taken)
    await updateApplication(provider.cx(), id, { api: { resources: [bare, `${bare}/`] } })
    await updateApplication(provider.cx(), id, { api: { resources: [bare] } })
  })

  test.each([
    "https://API.example.com/mcp",
    "HTTPS://api.example.com/mcp",
    "https://api.example.com:443/mcp",
    "https://api.example.com./mcp",
    "https://api.example.com/x/../mcp",
    "https://api.example.com/%2e/mcp",
    "http://api.example.com/",
    "https://api.example.com/#x",
    "https://id.example.com/api",
    "https://id.example.com.:443/api",
    "https://api.example.com/a b",
    "urn:core:iam:org:project:id:1:aud",
    "api",
    "",
  ])("can't be %s", async (uri) => {
    await expect(addApi([uri])).rejects.toMatchObject({ id: "app.resources_invalid" })
  })

  test("can't be a project's ID: tokens for a project are not for an API", async () => {
    const orgId = provider.setup.orgId
    await expect(createProject(provider.cx(), mcp, { orgId, name: "Trap" })).rejects.toMatchObject({
      id: "client.id_is_address",
    })
  })

  test("is invalid when its API is deleted", async () => {
    const token = await tokenFor(mcp)
    await removeApplication(provider.cx(), appId)
    const response = await provider.send(authorizePath(web.id, { resource: mcp }))
    expect(response.headers.get("location")).toContain("error=invalid_target")
    expect(await introspected(token)).not.toHaveProperty("aud")
  })
})
