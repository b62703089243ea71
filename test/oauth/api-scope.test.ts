import { decodeJwt } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createApplication, reactivateApplication } from "../../src/domain/app/commands.ts"
import {
  type ApiScope,
  deactivateApplication,
  removeApplication,
  updateApplication,
} from "../../src/domain/app/index.ts"

import { createOrganization } from "../../src/domain/org/commands.ts"
import { createProject, updateProject } from "../../src/domain/project/index.ts"
import { addServiceAccount, encodeBasic } from "./clients.ts"
import { credentialsOf, exchangeGrant, typeOf } from "./exchange.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  password,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"
import { enableRegistration, managementOf, nativeMetadata, sendMetadata } from "./registration.ts"

/** Scopes defined by APIs: granted only together with their audience. */
const ordersUri = "https://orders.example.com/"
const [local] = nativeMetadata.redirect_uris
const urn = (id: string) => `urn:core:iam:org:project:id:${id}:aud`
const scope = (text: string, name = "", description = ""): ApiScope => ({
  scope: text,
  name,
  description,
})

let provider: Provider
/** An API of another organization, and one of the application's own. */
let orders: NewClient & { readonly projectId: string }
let stock: NewClient & { readonly projectId: string }
let web: NewClient
let desk: string
beforeAll(async () => {
  provider = await openProvider()
  const cx = provider.cx()
  await createOrganization(cx, "globex", { name: "Globex" })
  const addApi = async (name: string, orgId: string, api: object) => {
    const projectId = cx.ids.next()
    await createProject(cx, projectId, { orgId, name: `${name} project` })
    const appId = cx.ids.next()
    const config = { kind: "api", api: { authMethod: "basic", ...api } } as const
    const made = await createApplication(cx, appId, { projectId, name, config })
    return { appId, id: made.clientId, secret: made.secret ?? "", projectId }
  }
  orders = await addApi("Orders", "globex", {
    resources: [ordersUri],
    scopes: [scope("read:orders", "Read orders", "Also of past years"), scope("write:orders")],
  })
  stock = await addApi("Stock", provider.setup.orgId, { scopes: [scope("read:stock")] })
  const grantTypes = ["authorization_code", "refresh_token"] as const
  web = await provider.addClient({ grantTypes, tokenType: "jwt", plainOauth: true })
  await enableRegistration(provider)
  const { answer } = await sendMetadata(provider, nativeMetadata)
  desk = String(answer.client_id)
})
afterAll(() => provider.close())

type Fields = Readonly<Record<string, string>>

async function requestTokens(fields: Fields, client: NewClient = web) {
  const browser = browserOf(provider)
  const asked = await browser.signIn(authorizePath(client.id, fields))
  const isAsked = asked.page.includes("Allow")
  const end = isAsked ? await browser.post(asked, { answer: "allow" }) : asked
  const { code = "" } = responseOf(end)
  const own = client.secret === "" ? { client_id: client.id } : {}
  const redirect = fields.redirect_uri ? { redirect_uri: fields.redirect_uri } : {}
  const credentials = client.secret === "" ? undefined : credentialsOf(client)
  const { answer } = await sendTokenRequest(
    provider,
    codeFields(code, { ...own, ...redirect }),
    credentials,
  )
  return { answer, page: asked.page }
}

const grantedScope = async (fields: Fields) => String((await requestTokens(fields)).answer.scope)

const refreshTokens = async (token: unknown, fields: Fields = {}) => {
  const all = { grant_type: "refresh_token", refresh_token: String(token), ...fields }
  const { answer } = await sendTokenRequest(provider, all, credentialsOf(web))
  return answer
}

const changeScopes = (api: NewClient, scopes: readonly ApiScope[]) =>
  updateApplication(provider.cx(), api.appId, { api: { scopes } })

const introspectToken = async (api: NewClient, token: unknown) => {
  const basic = Buffer.from(credentialsOf(api)).toString("base64")
  const headers = { authorization: `Basic ${basic}` }
  const body = new URLSearchParams({ token: String(token) })
  const init = { method: "POST", headers, body }
  return (await provider.send("/oauth/v2/introspect", init)).json()
}

describe("a scope of an API", () => {
  test("is granted together with the API's audience, by scope or by resource", async () => {
    const byScope = { scope: `openid read:orders ${urn(orders.projectId)}` }
    expect(await grantedScope(byScope)).toBe(byScope.scope)
    expect(await grantedScope({ scope: "openid read:orders", resource: ordersUri })).toBe(
      "openid read:orders",
    )
    expect(await grantedScope({ scope: "read:orders", resource: ordersUri })).toBe("read:orders")
  })

  test("is in the access token and at introspection", async () => {
    const fields = { scope: "read:orders", resource: ordersUri }
    const { answer } = await requestTokens(fields)
    const claims = decodeJwt(String(answer.access_token))
    expect(claims.scope).toBe("read:orders")
    expect(claims.aud).toContain(ordersUri)
    expect(await introspectToken(orders, answer.access_token)).toMatchObject({
      active: true,
      scope: "read:orders",
    })
  })

  const without = [
    ["without its audience", {}],
    ["with the audience of another API", { resource: "stock" }],
  ] as const
  test.each(without)("is not granted %s", async (_, { resource = "" }: { resource?: string }) => {
    const more = resource === "" ? {} : { resource: urn(stock.projectId) }
    expect(await grantedScope({ scope: "openid read:orders", ...more })).toBe("openid")
  })

  const smuggled = [
    "READ:ORDERS",
    "read:orders\t",
    "\u00a0read:orders",
    "read:orders,write:orders",
    "read:order",
    "read:*",
    "constructor",
    "__proto__",
  ]
  test.each(smuggled)("must match exactly: not %j", async (text) => {
    expect(await grantedScope({ scope: `openid ${text}`, resource: ordersUri })).toBe("openid")
  })

  test("is requested in a single scope parameter", async () => {
    const path = authorizePath(web.id, { scope: "openid", resource: ordersUri })
    const response = await provider.send(`${path}&scope=read:orders`)
    expect(response.headers.get("location")).toContain("error=invalid_request")
  })

  test("differs from a scope of the same name in the application's own project", async () => {
    const cx = provider.cx()
    const appId = cx.ids.next()
    const { projectId } = provider
    const api = { authMethod: "basic", scopes: [scope("read:same")] } as const
    const config = { kind: "api", api } as const
    await createApplication(cx, appId, { projectId, name: "Same", config })
    expect(await grantedScope({ scope: "openid read:same" })).toBe("openid read:same")
    await deactivateApplication(cx, appId)
    expect(await grantedScope({ scope: "openid read:same" })).toBe("openid")
    await reactivateApplication(cx, appId)
    await removeApplication(cx, appId)
    expect(await grantedScope({ scope: "openid read:same" })).toBe("openid")
  })

  test("is removed with its audience when a token is narrowed or exchanged", async () => {
    const fields = {
      scope: `openid read:orders read:stock offline_access ${urn(stock.projectId)}`,
      resource: ordersUri,
    }
    const { answer } = await requestTokens(fields)
    expect(answer.scope).toBe(fields.scope)
    const narrowed = await refreshTokens(answer.refresh_token, { resource: ordersUri })
    expect(narrowed.scope).toBe("openid read:orders offline_access")
    const gateway = await provider.addClient({ grantTypes: ["token_exchange"] })
    const exchange = (more: Fields) =>
      sendTokenRequest(
        provider,
        {
          grant_type: exchangeGrant,
          subject_token: String(answer.access_token),
          subject_token_type: typeOf("access_token"),
          ...more,
        },
        credentialsOf(gateway),
      )
    const only = await exchange({ audience: stock.projectId })
    expect(only.answer.scope).toBe(`openid read:stock ${urn(stock.projectId)}`)
    const more = await exchange({ scope: "openid write:orders" })
    expect(more.answer.error).toBe("invalid_scope")
  })

  test("omitted at a refresh keeps the audience of the others", async () => {
    const scopes = "openid read:orders write:orders offline_access"
    const { answer } = await requestTokens({ scope: scopes, resource: ordersUri })
    const less = await refreshTokens(answer.refresh_token, { scope: "openid read:orders" })
    expect(less.scope).toBe("openid read:orders")
    // RFC 6749 §6: applies to this response only; the next refresh has all scopes again.
    expect((await refreshTokens(less.refresh_token)).scope).toBe(scopes)
    const more = await refreshTokens(less.refresh_token, { scope: "openid read:stock" })
    expect(more.error).toBe("invalid_scope")
  })

  test("that was deleted is in no token anymore, also by refresh", async () => {
    const scopes = "openid read:orders write:orders offline_access"
    const { answer } = await requestTokens({ scope: scopes, resource: ordersUri })
    const read = scope("read:orders", "Read orders", "Also of past years")
    await changeScopes(orders, [read])
    // A client that repeats its originally granted scopes is not rejected for it.
    const again = await refreshTokens(answer.refresh_token, { scope: scopes })
    expect(again.scope).toBe("openid read:orders offline_access")
    expect(decodeJwt(String(again.access_token)).scope).toBe("openid read:orders offline_access")
    const { scope: now } = await introspectToken(orders, answer.access_token)
    expect(now).toBe("openid read:orders offline_access")
    expect(await grantedScope({ scope: "openid write:orders", resource: ordersUri })).toBe("openid")
    await changeScopes(orders, [read, scope("write:orders")])
  })

  test("is available to a device, whose page shows the API to the user", async () => {
    const oidc = { grantTypes: ["device_code"], authMethod: "none", plainOauth: true } as const
    const tv = await provider.addClient(oidc)
    const scopes = `read:orders read:stock ${urn(orders.projectId)}`
    const body = new URLSearchParams({ client_id: tv.id, scope: scopes })
    const asked = await provider.send("/oauth/v2/device_authorization", { method: "POST", body })
    const { user_code: userCode, device_code } = await asked.json()
    const browser = browserOf(provider)
    const named = await browser.post(await browser.go("/device"), { userCode })
    const login = await browser.post(named, { loginName: "olga" })
    const shown = await browser.post(login, { loginName: "olga", password })
    expect(shown.page).toContain("It can access “Orders” of Globex:")
    expect(shown.page).not.toContain("read:stock")
    await browser.post(shown, { answer: "allow" })
    const grant_type = "urn:ietf:params:oauth:grant-type:device_code"
    const { answer } = await sendTokenRequest(provider, {
      grant_type,
      client_id: tv.id,
      device_code,
    })
    expect(answer.scope).toBe(`read:orders ${urn(orders.projectId)}`)
  })

  test("is returned on the front channel, with openid", async () => {
    const responseTypes = ["id_token_token"] as const
    const front = await provider.addClient({ grantTypes: ["implicit"], responseTypes })
    const path = authorizePath(front.id, {
      response_type: "id_token token",
      scope: "openid read:stock write:stock",
      resource: urn(stock.projectId),
    })
    const { hash } = new URL((await browserOf(provider).signIn(path)).path)
    expect(new URLSearchParams(hash.slice(1)).get("scope")).toBe("openid read:stock")
  })

  test("is granted to a service account only with the audience", async () => {
    const robot = await addServiceAccount(provider)
    const ask = async (scopes: string) => {
      const grant = { grant_type: "client_credentials", scope: scopes }
      return (await sendTokenRequest(provider, grant, encodeBasic(robot.id, robot.secret))).answer
        .scope
    }
    expect(await ask("read:stock")).toBe("")
    const both = `read:stock ${urn(stock.projectId)}`
    expect(await ask(both)).toBe(both)
  })

  test("is not published in discovery", async () => {
    const document = await (await provider.send("/.well-known/openid-configuration")).json()
    expect(document.scopes_supported).not.toContain("read:stock")
  })
})

describe("the scope of a registration (RFC 7591 §2)", () => {
  const register = (scope: unknown) => sendMetadata(provider, { ...nativeMetadata, scope })

  test("is repeated in the response until a change omits it", async () => {
    const { answer } = await register("read:orders openid")
    expect(answer.scope).toBe("read:orders openid")
    const { path, token } = managementOf(answer)
    const read = () => sendMetadata(provider, undefined, { path, token, method: "GET" })
    expect((await read()).answer.scope).toBe("read:orders openid")
    const change = { ...nativeMetadata, client_id: answer.client_id }
    const put = (metadata: object) =>
      sendMetadata(provider, metadata, { path, token, method: "PUT" })
    expect((await put({ ...change, scope: "read:stock" })).answer.scope).toBe("read:stock")
    expect((await put(change)).answer).not.toHaveProperty("scope")
    expect((await read()).answer).not.toHaveProperty("scope")
  })

  test("is absent if none is sent", async () => {
    expect((await register(undefined)).answer).not.toHaveProperty("scope")
    expect((await register("")).answer).not.toHaveProperty("scope")
  })

  test("does not limit the client's requests", async () => {
    const { answer: made } = await register("read:stock")
    const client = { appId: "", id: String(made.client_id), secret: "" }
    const fields = { redirect_uri: local, scope: "read:orders", resource: ordersUri }
    expect((await requestTokens(fields, client)).answer.scope).toBe("read:orders")
  })

  const sent = [
    ["a  b a", "a b"],
    ['a "b" \u00e9 c\td e', "a e"],
    [1, undefined],
    [["a"], undefined],
    [" ", undefined],
    ["a".repeat(2001), undefined],
  ] as const
  test.each(sent)("omits invalid scopes: %j", async (scope, repeated) => {
    const { status, answer } = await register(scope)
    expect([status, answer.scope]).toEqual([201, repeated])
  })
})

describe("the consent page", () => {
  const asked = async (fields: Fields) => {
    const path = authorizePath(desk, { redirect_uri: local, ...fields })
    return (await browserOf(provider).signIn(path)).page
  }

  test("shows the API and its organization, with name and description of its scopes", async () => {
    const page = await asked({ scope: "read:orders write:orders", resource: ordersUri })
    expect(page).toContain("It can access “Orders project” of Globex on your behalf.")
    expect(page).toContain("It can access “Orders” of Globex:")
    expect(page).toMatch(/Read orders<p[^>]*>Also of past years/)
    expect(page).toContain("<code>write:orders</code>")
    expect(page).toContain("will receive: your user ID")
  })

  test("shows an API requested without a scope, once", async () => {
    const cx = provider.cx()
    const resources = ["https://near.example.com/"] as const
    const config = { kind: "api", api: { authMethod: "basic", resources } } as const
    const appId = cx.ids.next()
    const { projectId } = provider
    await createApplication(cx, appId, { projectId, name: "Near", config })
    expect(await asked({ scope: "offline_access", resource: resources[0] })).toContain(
      "It can access “Near” of Example on your behalf.",
    )
    const far = await asked({ scope: "openid", resource: ordersUri })
    expect(far.match(/on your behalf\./g)).toHaveLength(1)
    expect(far).toContain("It can access “Orders project” of Globex on your behalf.")
    await removeApplication(cx, appId)
  })

  test("omits scopes that are not granted", async () => {
    const page = await asked({ scope: "openid read:orders read:stock read:nothing" })
    expect(page).toContain("Desk Tool registered itself here")
    for (const word of ["Orders", "read:stock", "read:nothing", "It can access"]) {
      expect(page).not.toContain(word)
    }
  })

  test("omits an API whose project excludes the user", async () => {
    const change = (projectRoleCheck: boolean) =>
      updateProject(provider.cx(), orders.projectId, { projectRoleCheck })
    await change(true)
    const fields = { scope: "openid read:orders", resource: ordersUri, redirect_uri: local }
    const client = { appId: "", id: desk, secret: "" }
    const { page, answer } = await requestTokens(fields, client)
    expect(page).not.toContain("Orders")
    expect(answer.scope).toBe("openid")
    await change(false)
  })

  test("is required before a self-registered client gets a scope of any API", async () => {
    const browser = browserOf(provider)
    const fields = { redirect_uri: local, scope: "read:orders", resource: ordersUri }
    const end = await browser.signIn(authorizePath(desk, fields))
    expect(end.path).toMatch(/^\/ui\/login\/consent/)
    const { error } = responseOf(await browser.post(end, { answer: "cancel" }))
    expect(error).toBe("access_denied")
  })
})
