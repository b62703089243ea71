import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createPassword, setPassword } from "../../src/domain/credential/index.ts"
import { createProject } from "../../src/domain/project/index.ts"
import { lockUser, removeUser } from "../../src/domain/user/index.ts"
import {
  authorize,
  type Browser,
  basicHeader,
  descriptionPattern,
  loadDiscovery,
  openSignedIn,
  post,
  type Row,
  tokensOf,
  userinfo,
} from "./must.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  redirectUri,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"

let provider: Provider
let web: NewClient
let spa: NewClient
let browser: Browser
beforeAll(async () => {
  provider = await openProvider()
  web = await provider.addClient()
  spa = await provider.addClient({ appType: "user_agent", authMethod: "none" })
  browser = await openSignedIn(provider, web)
})
afterAll(() => provider.close())

const codeOf = async (client = web, changes = {}) =>
  (await authorize(browser, client, changes)).code ?? ""
const fieldsOf = async (changes = {}) =>
  new URLSearchParams(codeFields(await codeOf(), changes)).toString()
const token = "/oauth/v2/token"
const errorOf = async (answer: Response | Promise<Response>) => {
  const response = await answer
  return [response.status, (await response.json()).error]
}

const clients: readonly Row[] = [
  [
    "§2.3.1 id and secret are form-decoded after Basic",
    async () => {
      const encoded = (text: string) =>
        [...text].map((each) => `%${each.charCodeAt(0).toString(16)}`).join("")
      const header = basicHeader(encoded(web.id), encoded(web.secret))
      expect((await post(provider, token, await fieldsOf(), header)).status).toBe(200)
    },
  ],
  [
    "§2.3.1 credentials in the address are no credentials",
    async () => {
      const query = new URLSearchParams({ client_id: web.id, client_secret: web.secret })
      const answer = await errorOf(post(provider, `${token}?${query}`, await fieldsOf()))
      expect(answer).toEqual([401, "invalid_client"])
    },
  ],
  [
    "§2.3.2 a client is registered for one method and no other takes its place",
    async () => {
      const named = { client_id: web.id }
      expect((await sendTokenRequest(provider, codeFields(await codeOf(), named))).status).toBe(401)
      const secret = codeFields(await codeOf(spa), { client_id: spa.id, client_secret: "x" })
      expect((await sendTokenRequest(provider, secret)).answer.error).toBe("invalid_client")
      const header = await sendTokenRequest(provider, codeFields(await codeOf(spa)), `${spa.id}:x`)
      expect(header.answer.error).toBe("invalid_client")
    },
  ],
  [
    "§10.1 no secret is issued to a client that can't keep it",
    async () => expect([web.secret.length > 20, spa.secret]).toEqual([true, ""]),
  ],
]

const endpoints: readonly Row[] = [
  [
    "§3.1 who signs in is verified before anything is granted",
    async () => {
      const fresh = browserOf(provider)
      const shown = await fresh.go(authorizePath(web.id))
      expect(shown.path).toMatch(/^\/ui\/login\/loginname/)
      const id = new URL(shown.path, redirectUri).searchParams.get("authRequest")
      const early = await fresh.go(`/oauth/v2/authorize/callback?id=${id}`)
      expect(early.path).toMatch(/^\/ui\/login\/loginname/)
      const wrong = await fresh.signIn(authorizePath(web.id), "olga", "Wrong-Horse-7")
      expect(wrong.response.status).toBe(422)
    },
  ],
  [
    "§3.1 the addresses of the endpoints have no fragment",
    async () => {
      const named = Object.entries(await loadDiscovery(provider)).filter(([name]) =>
        /_endpoint$|^jwks_uri$/.test(name),
      )
      expect(named.length).toBeGreaterThan(4)
      for (const [name, value] of named) expect(String(value), name).not.toContain("#")
    },
  ],
  [
    "§3.1 an empty parameter counts as omitted",
    async () => {
      const empty = { max_age: "", prompt: "", id_token_hint: "", login_hint: "" }
      expect(await authorize(browser, web, empty)).toHaveProperty("code")
      expect((await authorize(browser, web, { response_type: "" })).error).toBe("invalid_request")
      expect(await authorize(browser, web, { state: "" })).not.toHaveProperty("state")
    },
  ],
  [
    "§3.1 an unknown parameter is ignored",
    async () => {
      expect(await authorize(browser, web, { colour: "blue", __proto__x: "1" })).toHaveProperty(
        "code",
      )
    },
  ],
  [
    "§3.1.2 a query of the redirect URI is kept",
    async () => {
      const redirect_uri = `${redirectUri}?tenant=a%20b&x=`
      const client = await provider.addClient({ redirectUris: [redirect_uri] })
      const { path } = await browser.go(authorizePath(client.id, { redirect_uri }))
      expect(path.startsWith(`${redirect_uri}&`)).toBe(true)
      expect(responseOf({ path } as never)).toMatchObject({ tenant: "a b", x: "", state: "s-1" })
    },
  ],
  [
    "§3.1.2.2 public clients and implicit clients register their redirect URIs",
    async () => {
      const bare = { authMethod: "none", appType: "user_agent", redirectUris: [] } as const
      const client = await provider.addClient(bare)
      const response = await provider.send(authorizePath(client.id))
      expect([response.status, response.headers.get("location")]).toEqual([400, null])
    },
  ],
  [
    "§3.2 an empty parameter of the token endpoint counts as omitted",
    async () => {
      const fields = await fieldsOf({ scope: "", client_secret: "", client_assertion: "" })
      expect((await post(provider, token, fields, basicHeader(web.id, web.secret))).status).toBe(
        200,
      )
      const none = await fieldsOf({ grant_type: "" })
      const answer = await errorOf(post(provider, token, none, basicHeader(web.id, web.secret)))
      expect(answer).toEqual([400, "invalid_request"])
    },
  ],
  [
    "§3.2 an unknown parameter of the token endpoint is ignored",
    async () => {
      const fields = await fieldsOf({ colour: "blue", __proto__x: "1" })
      expect((await post(provider, token, fields, basicHeader(web.id, web.secret))).status).toBe(
        200,
      )
    },
  ],
  [
    "§10.14 what comes in is never put into a header or page unescaped",
    async () => {
      const evil = `"><script>alert(1)</script>\r\nset-cookie: a=b`
      const back = await provider.send(authorizePath(web.id, { prompt: "none", state: evil }))
      expect(back.headers.get("location")).not.toMatch(/[<>"\r\n]/)
      expect(back.headers.getSetCookie().join()).not.toContain("a=b")
      const form = { response_mode: "form_post", prompt: "none", state: evil, login_hint: evil }
      const pages = [
        await (await provider.send(authorizePath(web.id, form))).text(),
        (await browserOf(provider).go(authorizePath(web.id, { login_hint: evil }))).page,
        await (await provider.send(authorizePath(evil))).text(),
      ]
      for (const page of pages) expect(page).not.toContain("<script>alert")
      expect(pages[0]).toContain("&lt;script&gt;")
    },
  ],
  [
    "App. B parameters are read and written as UTF-8",
    async () => {
      const state = "ü€𝄞 +%&="
      const { path } = await browser.go(authorizePath(web.id, { state }))
      expect(responseOf({ path } as never).state).toBe(state)
      expect(path).toContain("%C3%BC%E2%82%AC%F0%9D%84%9E")
    },
  ],
]

const codes: readonly Row[] = [
  [
    "§3.3 the answer names the granted scope where it differs from what was asked",
    async () => {
      const answer = await tokensOf(provider, browser, web, { scope: "openid dragons email" })
      expect(answer.scope).toBe("openid email")
    },
  ],
  [
    "§3.3 the order of scopes does not matter and their case does",
    async () => {
      const answer = await tokensOf(provider, browser, web, { scope: "email  openid EMAIL email" })
      expect(answer.scope).toBe("email openid")
      expect((await authorize(browser, web, { scope: "OpenID" })).error).toBe("invalid_scope")
    },
  ],
  [
    "§4.1.2 state comes back exactly as it was sent",
    async () => {
      for (const state of [" a  b ", "+", "%2B%", "a&code=x#y", "🦊".repeat(300), "0"]) {
        expect((await authorize(browser, web, { state })).state).toBe(state)
      }
    },
  ],
  [
    "§4.1.2.1 a client that may not use a response type hears unauthorized_client",
    async () => {
      const client = await provider.addClient({ grantTypes: [] })
      expect((await authorize(browser, client)).error).toBe("unauthorized_client")
    },
  ],
  [
    "§4.1.3 redirect_uri is required again and identical",
    async () => {
      const { redirect_uri, ...without } = codeFields(await codeOf())
      const answer = await sendTokenRequest(provider, without, `${web.id}:${web.secret}`)
      expect([answer.status, answer.answer.error]).toEqual([400, "invalid_request"])
      for (const other of [`${redirect_uri}?`, `${redirect_uri}#`, redirect_uri.toUpperCase()]) {
        const fields = codeFields(await codeOf(), { redirect_uri: other })
        const refused = await sendTokenRequest(provider, fields, `${web.id}:${web.secret}`)
        expect(refused.answer.error, other).toBe("invalid_grant")
      }
    },
  ],
  [
    "§4.1.3 a public client names itself and gets only its own codes",
    async () => {
      expect((await sendTokenRequest(provider, codeFields(await codeOf(spa)))).status).toBe(401)
      const stolen = codeFields(await codeOf(web), { client_id: spa.id })
      expect((await sendTokenRequest(provider, stolen)).answer.error).toBe("invalid_grant")
      const own = codeFields(await codeOf(spa), { client_id: spa.id })
      expect((await sendTokenRequest(provider, own)).status).toBe(200)
    },
  ],
]

const answers: readonly Row[] = [
  [
    "§5.1 an answer with a token is kept by nobody",
    async () => {
      const fields = await fieldsOf()
      const { headers } = await post(provider, token, fields, basicHeader(web.id, web.secret))
      expect([headers.get("cache-control"), headers.get("pragma")]).toEqual([
        "no-store",
        "no-cache",
      ])
    },
  ],
  [
    "§5.1 an answer has access_token and token_type as JSON",
    async () => {
      const response = await post(
        provider,
        token,
        await fieldsOf(),
        basicHeader(web.id, web.secret),
      )
      expect(response.headers.get("content-type")).toMatch(/^application\/json\b/)
      const answer = await response.json()
      expect(answer).toMatchObject({ access_token: expect.any(String), token_type: "Bearer" })
      expect(answer.expires_in).toBeTypeOf("number")
    },
  ],
  [
    "§5.2 errors answer 400 and are kept by nobody",
    async () => {
      const response = await post(provider, token, "grant_type=password")
      expect([response.status, response.headers.get("cache-control")]).toEqual([400, "no-store"])
      expect(response.headers.get("content-type")).toMatch(/^application\/json\b/)
    },
  ],
  [
    "§5.2 a client that may not use a grant hears unauthorized_client",
    async () => {
      const client = await provider.addClient({ grantTypes: ["implicit"] })
      const as = basicHeader(client.id, client.secret)
      const answer = await errorOf(post(provider, token, await fieldsOf(), as))
      expect(answer).toEqual([400, "unauthorized_client"])
    },
  ],
  [
    "§5.2 descriptions of errors have only the characters that are allowed",
    async () => {
      const evil = `"\\\u0000\u00fc€<>`
      const bodies = [
        { grant_type: evil },
        { grant_type: "authorization_code", code: evil, redirect_uri: evil },
        { grant_type: "authorization_code", client_id: evil, client_secret: evil },
        { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion: evil, scope: evil },
      ]
      for (const body of bodies) {
        const text = new URLSearchParams(body).toString()
        const answer = await (await post(provider, token, text)).json()
        expect(answer.error).toMatch(descriptionPattern)
        expect(answer.error_description).toMatch(descriptionPattern)
      }
    },
  ],
  [
    "§10.3 access tokens can't be made, altered or guessed",
    async () => {
      const { access_token } = await tokensOf(provider, browser, web)
      const { access_token: other } = await tokensOf(provider, browser, web)
      expect(other).not.toBe(access_token)
      const [key = "", box = ""] = String(access_token).split(".")
      expect(Buffer.from(box, "base64url").length).toBeGreaterThan(16)
      const made = `${key}.${Buffer.alloc(120, 7).toString("base64url")}`
      expect((await userinfo(provider, made)).status).toBe(401)
    },
  ],
  [
    "§10.3 a token reaches no further than what was granted for it",
    async () => {
      const { access_token } = await tokensOf(provider, browser, web, { scope: "openid" })
      expect(Object.keys(await (await userinfo(provider, access_token)).json())).toEqual(["sub"])
    },
  ],
  [
    "§10.10 codes and tokens can't be guessed",
    async () => {
      const made = await Promise.all(Array.from({ length: 20 }, () => codeOf()))
      expect(new Set(made).size).toBe(20)
      for (const code of made) {
        // At least 128 bits: the authentication tag of a code is much longer.
        expect(Buffer.from(code.split(".")[1] ?? "", "base64url").length).toBeGreaterThan(32)
      }
      const starts = new Set(made.map((code) => code.split(".")[1]?.slice(0, 8)))
      expect(starts.size).toBe(20)
    },
  ],
]

describe("RFC 6749", () => {
  test.each([...clients, ...endpoints, ...codes, ...answers])("%s", (_, holds) => holds())

  test("§3.2 a body above 64 KiB gets 413, whatever its content", async () => {
    const fields = `${await fieldsOf()}&filler=${"x".repeat(65_536)}`
    const response = await post(provider, token, fields, basicHeader(web.id, web.secret))
    expect([response.status, (await response.json()).error]).toEqual([413, "invalid_request"])
  })

  const ends: Readonly<Record<string, (id: string, browser: Browser) => Promise<unknown>>> = {
    "signed out": (_, user) =>
      user.go("/oidc/v1/endsession").then((request) => user.post(request, {})),
    "was locked": (id) => lockUser(provider.cx(), id),
    "was removed": (id) => removeUser(provider.cx(), id),
    "has a new password": async (id) =>
      setPassword(provider.cx(), id, await createPassword("Another-Horse-8", { names: [] })),
  }
  test.each(Object.entries(ends))(
    "§4.1.3 a code is invalid once its user %s",
    async (options, end) => {
      const name = options.replaceAll(" ", "")
      const id = await provider.addPerson(name)
      const person = browserOf(provider)
      const { code = "" } = responseOf(await person.signIn(authorizePath(web.id), name))
      await end(id, person)
      const { status, answer } = await sendTokenRequest(
        provider,
        codeFields(code),
        `${web.id}:${web.secret}`,
      )
      expect([status, answer.error]).toEqual([400, "invalid_grant"])
    },
  )

  test("§4.1.3 a code of one project's client is rejected for another project's", async () => {
    const projectId = provider.cx().ids.next()
    await createProject(provider.cx(), projectId, { orgId: provider.setup.orgId, name: "Other" })
    const other = await provider.addClient({}, projectId)
    const fields = codeFields(await codeOf())
    const { answer } = await sendTokenRequest(provider, fields, `${other.id}:${other.secret}`)
    expect(answer.error).toBe("invalid_grant")
  })
})
