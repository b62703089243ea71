import { createPrivateKey, generateKeyPairSync } from "node:crypto"
import { exportJWK, SignJWT } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { deactivateApplication } from "../../src/domain/app/index.ts"
import { openPushedRequest, storePushedRequest } from "../../src/oauth/authorize/pushed.ts"
import { addKeyClient, type ClientKey, encodeBasic, signAssertion } from "./clients.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  password,
  redirectUri,
  responseOf,
  sendTokenRequest,
  type VisitedPage,
} from "./provider.ts"

let provider: Provider
let web: NewClient
let other: NewClient
let publicClient: NewClient
let keyed: NewClient & ClientKey
beforeAll(async () => {
  provider = await openProvider()
  web = await provider.addClient()
  other = await provider.addClient()
  publicClient = await provider.addClient({ authMethod: "none", appType: "user_agent" })
  keyed = await addKeyClient(provider)
})
afterAll(() => provider.close())

type Fields = Readonly<Record<string, string | undefined>>

/** The parameters of a valid request, as a form. */
const formOf = (id: string, changes: Fields = {}) =>
  new URLSearchParams(new URL(authorizePath(id, changes), issuer).search)

async function push(body: URLSearchParams, headers: Record<string, string> = {}) {
  const response = await provider.send("/oauth/v2/par", { method: "POST", body, headers })
  const answer: Record<string, unknown> = await response.json()
  return { status: response.status, headers: response.headers, answer }
}

const basic = ({ id, secret }: NewClient) => ({
  authorization: `Basic ${Buffer.from(encodeBasic(id, secret)).toString("base64")}`,
})

const pushRequest = async (client: NewClient, changes: Fields = {}) =>
  String((await push(formOf(client.id, changes), basic(client))).answer.request_uri)

const pathFor = (client: NewClient, request_uri: string, more: Record<string, string> = {}) =>
  `/oauth/v2/authorize?${new URLSearchParams({ client_id: client.id, request_uri, ...more })}`

describe("pushed authorization requests (RFC 9126)", () => {
  test("return a request_uri, which leads to tokens", async () => {
    const { status, headers, answer } = await push(formOf(web.id), basic(web))
    expect([status, answer.expires_in]).toEqual([201, 60])
    expect(headers.get("cache-control")).toBe("no-store")
    expect(Object.keys(answer).sort()).toEqual(["expires_in", "request_uri"])
    const uri = String(answer.request_uri)
    expect(uri).toMatch(/^urn:ietf:params:oauth:request_uri:[\w.-]{20,}$/)
    const end = responseOf(await browserOf(provider).signIn(pathFor(web, uri)))
    expect([end.state, end.iss]).toEqual(["s-1", issuer])
    const tokens = await sendTokenRequest(
      provider,
      codeFields(end.code ?? ""),
      `${web.id}:${web.secret}`,
    )
    expect(tokens.status).toBe(200)
  })

  test("authenticate every kind of client", async () => {
    const posted = formOf(web.id)
    posted.set("client_secret", web.secret)
    expect((await push(posted)).status).toBe(201)
    expect((await push(formOf(publicClient.id))).status).toBe(201)
    const signed = formOf(keyed.id)
    for (const [name, value] of Object.entries(await signAssertion(provider, keyed))) {
      signed.set(name, value)
    }
    expect((await push(signed)).status).toBe(201)
    const bare = formOf(web.id, { client_id: undefined })
    expect((await push(bare, basic(web))).status).toBe(201)
  })

  const refused: readonly (readonly [string, Fields, number, string])[] = [
    ["no redirect_uri", { redirect_uri: undefined }, 400, "invalid_request"],
    ["an unregistered redirect_uri", { redirect_uri: `${redirectUri}/` }, 400, "invalid_request"],
    ["no response_type", { response_type: undefined }, 400, "invalid_request"],
    ["another response_type", { response_type: "token" }, 400, "unsupported_response_type"],
    ["one that is not registered", { response_type: "id_token" }, 400, "unauthorized_client"],
    ["a scope without openid", { scope: "email" }, 400, "invalid_scope"],
    ["the PKCE method plain", { code_challenge_method: "plain" }, 400, "invalid_request"],
    ["a resource that is none", { resource: "https://x.example" }, 400, "invalid_target"],
    [
      "a request_uri",
      { request_uri: "urn:ietf:params:oauth:request_uri:x" },
      400,
      "invalid_request",
    ],
    ["a request object that is none", { request: "x" }, 400, "invalid_request_object"],
    ["too much", { state: "x".repeat(20_000) }, 413, "invalid_request"],
    ["another client's id", { client_id: "42" }, 400, "invalid_request"],
  ]
  test.each(refused)("reject %s immediately", async (_, changes, status, error) => {
    const result = await push(formOf(web.id, changes), basic(web))
    expect([result.status, result.answer.error]).toEqual([status, error])
    expect(result.answer).not.toHaveProperty("request_uri")
  })

  test("reject unknown clients, and other clients", async () => {
    expect((await push(formOf(web.id))).answer.error).toBe("invalid_client")
    const wrong = { ...web, secret: "wrong" }
    expect(await push(formOf(web.id), basic(wrong))).toMatchObject({
      status: 401,
      answer: { error: "invalid_client" },
    })
    const repeated = formOf(web.id)
    repeated.append("scope", "openid")
    expect((await push(repeated, basic(web))).answer.error).toBe("invalid_request")
  })

  test("accept only a posted form", async () => {
    const get = await provider.send("/oauth/v2/par")
    expect([get.status, get.headers.get("allow")]).toEqual([405, "POST"])
    const headers = { ...basic(web), "content-type": "application/json" }
    const json = await provider.send("/oauth/v2/par", { method: "POST", headers, body: "{}" })
    expect(json.status).toBe(400)
    const query = formOf(web.id).toString()
    const init = { method: "POST", headers: basic(web), body: new URLSearchParams() }
    expect((await provider.send(`/oauth/v2/par?${query}`, init)).status).toBe(400)
  })

  test("are listed in discovery", async () => {
    const response = await provider.send("/.well-known/openid-configuration")
    const document: Record<string, unknown> = await response.json()
    expect(document.pushed_authorization_request_endpoint).toBe(`${issuer}/oauth/v2/par`)
  })
})

describe("an application whose requests must be pushed (RFC 9126 §6)", () => {
  test("can't use other requests", async () => {
    const requestRules = { pushed: true, signed: false }
    const strict = await provider.addClient({ requestRules })
    const plain = await provider.send(authorizePath(strict.id))
    const location = plain.headers.get("location") ?? ""
    expect(responseOf({ path: location } as never).error).toBe("invalid_request")
    const empty = await provider.send(`${authorizePath(strict.id)}&request_uri=`)
    expect(empty.headers.get("location")).toContain("error=invalid_request")
    const uri = await pushRequest(strict)
    expect((await provider.send(pathFor(strict, uri))).headers.get("location")).toMatch(/^\/ui/)
  })
})

describe("the limit of an address", () => {
  test("is consumed by pushed requests, until a user has signed in with one", async () => {
    const spent: string[] = []
    const allowance = {
      spend: (budget: string) => void spent.push(`+${budget}`),
      refund: (budget: string) => void spent.push(`-${budget}`),
      source: () => undefined,
      pace: () => async () => {},
    }
    const cx = { ...provider.cx(), allowance }
    const send: Provider["send"] = (path, init) => provider.send(path, init, { allowance })
    const search = formOf(publicClient.id)
    const uri = await storePushedRequest(cx, publicClient.id, search)
    await storePushedRequest(cx, web.id, formOf(web.id))
    expect(spent.splice(0)).toEqual(["+request"])
    await openPushedRequest(cx, uri, publicClient.id)
    await send(pathFor(publicClient, uri))
    expect(spent.splice(0)).toEqual(["+request"])
    await browserOf({ send }).signIn(pathFor(publicClient, uri))
    expect(spent.filter((each) => each.endsWith("request"))).toEqual([
      "+request",
      "-request",
      "-request",
    ])
  })
})

describe("a request_uri", () => {
  const ends = async (path: string) => {
    const response = await provider.send(path)
    expect(response.headers.has("location")).toBe(false)
    return response.status
  }

  const isAnswer = ({ path }: VisitedPage) => path.startsWith(redirectUri)

  test("can be opened again until its response (RFC 9126 §4)", async () => {
    const uri = await pushRequest(web)
    const browser = browserOf(provider)
    const paths = [(await browser.go(pathFor(web, uri))).path]
    paths.push((await browser.go(pathFor(web, uri))).path)
    for (const path of paths) expect(path).toMatch(/^\/ui\/login/)
    const end = await browser.signIn(pathFor(web, uri))
    const { code = "" } = responseOf(end)
    expect(
      (await sendTokenRequest(provider, codeFields(code), `${web.id}:${web.secret}`)).status,
    ).toBe(200)
    expect(await ends(pathFor(web, uri))).toBe(400)
    const again = await browser.go(pathFor(web, uri))
    expect([again.response.status, isAnswer(again)]).toEqual([400, false])
  })

  test("has one response if two windows sign in, also after it has expired", async () => {
    const uri = await pushRequest(web)
    const [one, two] = [browserOf(provider), browserOf(provider)]
    const forms = [await one.go(pathFor(web, uri)), await two.go(pathFor(web, uri))] as const
    provider.clock.advance(59 * 60_000)
    const name = { loginName: "olga" }
    const asked = [await one.post(forms[0], name), await two.post(forms[1], name)] as const
    const fields = { ...name, password }
    const end = await one.post(asked[0], fields)
    expect(responseOf(end).code).toBeDefined()
    const other = await two.post(asked[1], fields)
    expect(isAnswer(other)).toBe(false)
    expect([other.response.status, other.page]).toEqual([
      400,
      expect.stringContaining("This page has expired"),
    ])
  })

  test("has one response if twenty windows of one browser open it concurrently", async () => {
    const browser = browserOf(provider)
    await browser.signIn(authorizePath(web.id))
    const uri = await pushRequest(web)
    const headers = { cookie: browser.cookie() }
    const all = await Promise.all(
      Array.from({ length: 20 }, () => provider.send(pathFor(web, uri), { headers })),
    )
    const answered = all.filter((response) => response.headers.has("location"))
    expect(answered.map((each) => each.headers.get("location"))).toEqual([
      expect.stringContaining("code="),
    ])
    expect(all.filter(({ status }) => status === 400)).toHaveLength(19)
  })

  test("has one response if that is an id_token", async () => {
    const front = await provider.addClient({
      grantTypes: ["implicit"],
      responseTypes: ["id_token"],
      authMethod: "none",
      appType: "user_agent",
    })
    const browser = browserOf(provider)
    await browser.signIn(authorizePath(web.id))
    const noPkce = { code_challenge: undefined, code_challenge_method: undefined }
    const body = formOf(front.id, { response_type: "id_token", ...noPkce })
    const uri = String((await push(body)).answer.request_uri)
    const first = await browser.go(pathFor(front, uri))
    expect(first.path).toContain("&id_token=")
    expect((await browser.go(pathFor(front, uri))).response.status).toBe(400)
  })

  test("is valid for exactly a minute", async () => {
    const [first, second] = [await pushRequest(web), await pushRequest(web)]
    provider.clock.advance(59_999)
    expect((await provider.send(pathFor(web, first))).status).toBe(303)
    provider.clock.advance(1)
    expect(await ends(pathFor(web, second))).toBe(400)
  })

  test("is rejected for another client, which can't consume it either", async () => {
    const uri = await pushRequest(web)
    expect(await ends(pathFor(other, uri))).toBe(400)
    expect(await ends(`/oauth/v2/authorize?${new URLSearchParams({ request_uri: uri })}`)).toBe(400)
    expect((await provider.send(pathFor(web, uri))).status).toBe(303)
  })

  test("contains all parameters: others beside it are ignored", async () => {
    const uri = await pushRequest(web, { prompt: "none" })
    const beside = { redirect_uri: "https://evil.example/", state: "evil", response_type: "token" }
    const response = await provider.send(pathFor(web, uri, { ...beside, prompt: "login" }))
    const location = response.headers.get("location") ?? ""
    expect(location.startsWith(`${redirectUri}?error=login_required`)).toBe(true)
    expect(location).toContain("state=s-1")
  })

  test("is rejected in every other spelling", async () => {
    const uri = await pushRequest(web)
    for (const other of [`${uri}A`, uri.slice(0, -1), `${uri}=`, uri.replace("urn:", "URN:")]) {
      expect(await ends(pathFor(web, other))).toBe(400)
    }
    expect((await provider.send(pathFor(web, uri))).status).toBe(303)
  })

  test("from elsewhere is never fetched", async () => {
    for (const uri of ["https://app.example.com/r.jwt", "http://169.254.169.254/", "file:///etc"]) {
      const path = `${authorizePath(web.id)}&request_uri=${encodeURIComponent(uri)}`
      const location = (await provider.send(path)).headers.get("location") ?? ""
      expect(location.startsWith(redirectUri)).toBe(true)
      expect(responseOf({ path: location } as never).error).toBe("request_uri_not_supported")
    }
  })

  test("ends with its application", async () => {
    const gone = await provider.addClient()
    const uri = await pushRequest(gone)
    await deactivateApplication(provider.cx(), gone.appId)
    expect(await ends(pathFor(gone, uri))).toBe(400)
  })

  test("stores no user data once it was used", async () => {
    const uri = await pushRequest(web, { login_hint: "somebody@example.com" })
    await browserOf(provider).signIn(pathFor(web, uri, { login_hint: "x" }))
    const { log } = provider.store
    const rows = await log.read(0, 10_000)
    const added = rows.filter(({ type }) => type === "pushed_request.added")
    expect(added.length).toBeGreaterThan(0)
    expect(added.at(-1)?.private).toBeNull()
  })
})

describe("the key of a pushed request (RFC 9449 §10)", () => {
  const pair = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const proof = async (path: string) =>
    new SignJWT({ htm: "POST", htu: issuer + path })
      .setProtectedHeader({ typ: "dpop+jwt", alg: "ES256", jwk: await exportJWK(pair.publicKey) })
      .setJti(provider.cx().ids.next())
      .setIssuedAt(Math.floor(provider.clock.now() / 1000))
      .sign(createPrivateKey(pair.privateKey.export({ format: "pem", type: "pkcs8" })))

  test("is required to redeem the code", async () => {
    const dpop = await proof("/oauth/v2/par")
    const code = async () => {
      const headers = { ...basic(web), dpop: await proof("/oauth/v2/par") }
      const { answer } = await push(formOf(web.id), headers)
      const path = pathFor(web, String(answer.request_uri))
      return responseOf(await browserOf(provider).signIn(path)).code ?? ""
    }
    const without = await sendTokenRequest(
      provider,
      codeFields(await code()),
      `${web.id}:${web.secret}`,
    )
    expect(without.answer.error).toBe("invalid_dpop_proof")
    const body = new URLSearchParams(codeFields(await code()))
    const headers = { ...basic(web), dpop: await proof("/oauth/v2/token") }
    const response = await provider.send("/oauth/v2/token", { method: "POST", body, headers })
    expect(await response.json()).toHaveProperty("token_type", "DPoP")

    const mixed = formOf(web.id, { dpop_jkt: "x".repeat(43) })
    const result = await push(mixed, { ...basic(web), dpop })
    expect(result.answer.error).toBe("invalid_dpop_proof")
  })
})
