import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { deactivateApplication } from "../../src/domain/app/index.ts"
import { searchRefusals } from "../../src/domain/refusal/refusal.ts"
import type { Scope } from "../../src/kernel/context.ts"
import { OAuthError } from "../../src/oauth/error.ts"
import { recordRejectedRequest } from "../../src/oauth/rejected-request.ts"
import { addServiceAccount, signAssertion } from "./clients.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  redirectUri,
  responseOf,
  sendTokenRequest,
  signedOutUri,
  verifier,
} from "./provider.ts"

let provider: Provider
let client: NewClient
let basic = ""
let browser: ReturnType<typeof browserOf>
beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  basic = `${client.id}:${client.secret}`
  browser = browserOf(provider)
  await browser.signIn(authorizePath(client.id))
})
afterAll(() => provider.close())

const everything: Scope = { all: true, orgs: [], projects: [], grants: [] }
const page = { offset: 0, limit: 10, asc: false }

function listRejections(scope = everything, requestId = "") {
  return searchRefusals({ ...provider.cx(), scope }, { requestId, appId: "", page })
}

/** The explanation of the last rejected request. */
const last = () => listRejections().rows[0]
const subjects = () => last()?.findings.map(({ subject }) => subject)

const newCode = async () => responseOf(await browser.go(authorizePath(client.id))).code ?? ""

describe("the authorization endpoint", () => {
  test("an unregistered redirect URI is shown beside the registered ones", async () => {
    const shown = await browser.go(authorizePath(client.id, { redirect_uri: `${redirectUri}/` }))
    expect(last()).toMatchObject({
      endpoint: "/oauth/v2/authorize",
      clientId: client.id,
      application: { id: client.appId },
      findings: [
        {
          subject: "redirect_uri",
          received: `${redirectUri}/`,
          expected: [redirectUri],
          likelyCause: expect.stringMatching(/slash/),
          likelyCauseKey: "address.slash",
        },
      ],
    })
    expect(shown.page).toContain(last()?.requestId ?? "no id")
  })

  test("an unknown client is reported as unknown", async () => {
    await browser.go(authorizePath("123"))
    expect(last()).toMatchObject({ clientId: "123", application: undefined })
    expect(subjects()).toEqual(["client_id"])
  })

  test("a response type that the application lacks is shown beside those that it has", async () => {
    const { path } = await browser.go(
      authorizePath(client.id, { response_type: "id_token", response_mode: undefined }),
    )
    expect(last()?.findings).toMatchObject([
      { subject: "response_type", received: "id_token", expected: ["code"] },
    ])
    expect(decodeURIComponent(path)).toContain(`request ${last()?.requestId}`.replace(" ", "+"))
  })

  test("a missing openid, a repeated parameter, a plain challenge", async () => {
    await browser.go(authorizePath(client.id, { scope: "profile" }))
    expect(subjects()).toEqual(["scope"])
    await browser.go(`${authorizePath(client.id)}&state=again`)
    expect(subjects()).toEqual(["state"])
    await browser.go(authorizePath(client.id, { code_challenge_method: "plain" }))
    expect(subjects()).toEqual(["code_challenge_method"])
  })

  test("expected errors are not recorded: login_required for prompt=none", async () => {
    const before = listRejections().total
    await browserOf(provider).go(authorizePath(client.id, { prompt: "none" }))
    expect(listRejections().total).toBe(before)
  })
})

describe("the token endpoint", () => {
  test("a wrong secret is reported by its method, and never shown", async () => {
    const { answer, headers } = await sendTokenRequest(
      provider,
      codeFields("x"),
      `${client.id}:wrong-word`,
    )
    expect(answer.request_id).toBe(last()?.requestId)
    expect(headers.get("x-request-id")).toBe(last()?.requestId)
    expect(last()?.findings).toMatchObject([
      { subject: "client authentication", received: "client_secret_basic" },
    ])
    expect(JSON.stringify(listRejections().rows)).not.toContain("wrong-word")
  })

  test("another method than the registered one", async () => {
    const fields = { ...codeFields("x"), client_id: client.id }
    await sendTokenRequest(provider, fields)
    expect(last()?.findings[0]).toMatchObject({
      received: "none",
      expected: ["client_secret_basic", "client_secret_post"],
    })
  })

  test("client_secret_post at introspection: both errors list the accepted methods", async () => {
    const fields = { token: "x", client_id: client.id, client_secret: client.secret }
    const body = new URLSearchParams(fields)
    const response = await provider.send("/oauth/v2/introspect", { method: "POST", body })
    const answer = await response.json()
    expect([response.status, answer.error]).toEqual([401, "invalid_client"])
    expect(answer.error_description).toContain(
      "this endpoint only accepts client_secret_basic, private_key_jwt",
    )
    expect(last()?.clientId).toBe(client.id)
    expect(last()?.findings).toEqual([
      {
        subject: "client authentication",
        received: "client_secret_post",
        expected: ["client_secret_basic", "private_key_jwt"],
        likelyCauseKey: "proof.endpoint",
        likelyCause: expect.stringContaining("in the Authorization header (client_secret_basic)"),
      },
    ])
  })

  test("a resource that is not registered: where to register it", async () => {
    const resource = "https://mcp.example.com/mcp"
    const response = await provider.send(authorizePath(client.id, { resource }))
    const back = new URL(response.headers.get("location") ?? "").searchParams
    expect(back.get("error")).toBe("invalid_target")
    expect(back.get("error_description")).toContain("add it to the resource URIs of an API")
    expect(last()?.findings).toMatchObject([
      {
        subject: "resource",
        received: resource,
        likelyCauseKey: "resource.unknown",
        likelyCause: expect.stringContaining("under Resource URIs of the API"),
      },
    ])
  })

  test("the right secret, sent by a method that the application doesn't accept", async () => {
    const requestRules = { pushed: false, signed: false, authMethod: true }
    const { id, secret } = await provider.addClient({ requestRules })
    await sendTokenRequest(provider, { ...codeFields("x"), client_id: id, client_secret: secret })
    const [finding] = last()?.findings ?? []
    expect(finding).toMatchObject({
      received: "client_secret_post",
      expected: ["client_secret_basic"],
      likelyCauseKey: "proof.method",
    })
  })

  test("a redirect URI that differs from the authorization request", async () => {
    const fields = codeFields(await newCode(), { redirect_uri: `${redirectUri}?x=1` })
    await sendTokenRequest(provider, fields, basic)
    expect(last()?.findings).toMatchObject([
      { subject: "redirect_uri", received: `${redirectUri}?x=1`, expected: [redirectUri] },
    ])
  })

  test("a verifier that doesn't match, as hashes only", async () => {
    const wrong = "w".repeat(43)
    await sendTokenRequest(provider, codeFields(await newCode(), { code_verifier: wrong }), basic)
    expect(subjects()).toEqual(["SHA-256 of code_verifier"])
    const text = JSON.stringify(listRejections().rows)
    expect(text).not.toContain(wrong)
    expect(text).not.toContain(verifier)
  })

  test.each([
    ["cut off", async () => (await newCode()).slice(0, -3), /truncated/],
    [
      "used before",
      async () => {
        const code = await newCode()
        await sendTokenRequest(provider, codeFields(code), basic)
        return code
      },
      /already used/,
    ],
    [
      "too old",
      async () => {
        const code = await newCode()
        provider.clock.advance(61_000)
        return code
      },
      /had expired/,
    ],
  ])("a code that is %s", async (_, code, cause) => {
    await sendTokenRequest(provider, codeFields(await code()), basic)
    expect(last()?.findings).toMatchObject([{ subject: "code", received: "" }])
    expect(last()?.findings[0]?.likelyCause).toMatch(cause)
  })

  test("a grant type that the application lacks", async () => {
    const fields = { grant_type: "refresh_token", refresh_token: "x" }
    await sendTokenRequest(provider, fields, basic)
    expect(last()?.findings[0]).toMatchObject({
      subject: "grant_type",
      received: "refresh_token",
      expected: ["authorization_code"],
    })
  })

  test("an assertion, claim by claim", async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
    const claims = { iss: "robot", sub: "other", aud: "https://elsewhere.example", exp: 1, iat: 1 }
    const assertion = `${part({ alg: "RS256", kid: "k1" })}.${part(claims)}.c2ln`
    const grant_type = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    await sendTokenRequest(provider, { grant_type, assertion, scope: "openid" })
    expect(subjects()).toEqual(["sub", "kid", "aud", "exp"])
  })

  test("an application that was deactivated", async () => {
    const stopped = await provider.addClient()
    await deactivateApplication(provider.cx(), stopped.appId)
    await sendTokenRequest(provider, codeFields("x"), `${stopped.id}:${stopped.secret}`)
    expect(last()?.findings[0]).toMatchObject({ subject: "application", received: "inactive" })
  })
})

test("a post-logout redirect URI is shown beside the registered ones", async () => {
  const query = new URLSearchParams({
    client_id: client.id,
    post_logout_redirect_uri: signedOutUri.replace("https", "http"),
  })
  await browser.go(`/oidc/v1/endsession?${query}`)
  expect(last()?.findings).toMatchObject([
    { subject: "post_logout_redirect_uri", expected: [signedOutUri] },
  ])
})

describe("findings about another party", () => {
  const grant_type = "urn:ietf:params:oauth:grant-type:jwt-bearer"
  const unknownKey = async (iss: string) => {
    const robot = await addServiceAccount(provider)
    const changes = { header: { kid: "another" } }
    const { client_assertion } = await signAssertion(provider, { ...robot, id: iss }, changes)
    return { grant_type, scope: "openid", assertion: client_assertion }
  }
  const post = (path: string, fields: Readonly<Record<string, string>>) =>
    provider.send(path, { method: "POST", body: new URLSearchParams(fields) })

  test("a service account's key is not shown to the application in the request", async () => {
    const { userId } = await addServiceAccount(provider)
    await post("/oauth/v2/token", await unknownKey(userId))
    expect([last()?.clientId, subjects()]).toEqual(["", ["kid"]])
    await post("/oauth/v2/token", { ...(await unknownKey(userId)), client_id: userId })
    expect([last()?.clientId, subjects()]).toEqual([userId, ["kid"]])
    await post("/oauth/v2/token", { ...(await unknownKey(userId)), client_id: client.id })
    expect([last()?.clientId, subjects()]).toEqual([client.id, []])
    await post(`/oauth/v2/token?client_id=${client.id}`, await unknownKey(userId))
    expect([last()?.clientId, subjects()]).toEqual([client.id, []])
  })

  test("the same, if its ID was chosen to match the application's", async () => {
    await post("/oauth/v2/token", await unknownKey(client.id))
    expect([last()?.clientId, subjects()]).toEqual(["", []])
    await post("/oauth/v2/token", { ...(await unknownKey(client.id)), client_id: client.id })
    expect([last()?.clientId, subjects()]).toEqual([client.id, []])
  })

  test("a client's own assertion is shown to that client, whatever the URL says", async () => {
    const { id, ...robot } = await addServiceAccount(provider)
    const wrong = { header: { kid: "another" } }
    const proof = await signAssertion(provider, { id, ...robot }, wrong)
    await post(`/oauth/v2/token?client_id=${client.id}`, { ...codeFields("x"), ...proof })
    expect([last()?.clientId, subjects()]).toEqual([id, ["client authentication", "kid"]])
    await post("/oauth/v2/token", { ...codeFields("x"), ...proof, client_id: client.id })
    expect([last()?.clientId, subjects()]).toEqual([client.id, ["iss"]])
  })

  test("an access token is shown to the client that it was issued to", async () => {
    const { answer } = await sendTokenRequest(provider, codeFields(await newCode()), basic)
    const access_token = String(answer.access_token)
    const other = await provider.addClient()
    await provider.send("/oauth/v2/revoke", {
      method: "POST",
      body: new URLSearchParams({ token: access_token }),
      headers: { authorization: `Basic ${Buffer.from(basic).toString("base64")}` },
    })
    await post("/oidc/v1/userinfo", { access_token, client_id: other.id })
    expect([last()?.clientId, subjects()]).toEqual([other.id, []])
    await post("/oidc/v1/userinfo", { access_token })
    expect([last()?.clientId, subjects()]).toEqual([client.id, ["access token"]])
  })

  test("is not collected if nothing is stored", async () => {
    const request = new Request(`${issuer}/oauth/v2/token`)
    const form = async () => new URLSearchParams()
    const asking = { cx: provider.cx(), request, form, url: new URL(request.url) }
    let times = 0
    const finding = () => {
      times++
      return []
    }
    for (const error of ["slow_down", "login_required", "invalid_grant"] as const) {
      await recordRejectedRequest(
        { ...asking, onRejected: () => undefined },
        new OAuthError(error, "so", { finding }),
      )
    }
    expect(times).toBe(1)
  })
})

describe("access to rejected requests", () => {
  test("requires access to the application's organization or project", async () => {
    await browser.go(authorizePath(client.id, { scope: "profile" }))
    await browser.go(authorizePath("nobody"))
    const of = (scope: Partial<Scope>) =>
      listRejections({ ...everything, all: false, ...scope }).rows.map(({ clientId }) => clientId)
    const inOrg = of({ orgs: [provider.setup.orgId] })
    expect(inOrg).toContain(client.id)
    expect(inOrg).not.toContain("nobody")
    expect(of({ projects: [provider.projectId] })).toContain(client.id)
    expect(of({ orgs: ["another"] })).toEqual([])
  })

  test("finds one by its ID", async () => {
    await browser.go(authorizePath(client.id, { scope: "email" }))
    const requestId = last()?.requestId ?? ""
    const { rows, total } = listRejections(everything, requestId)
    expect([total, rows[0]?.requestId]).toEqual([1, requestId])
  })

  test("keeps only the latest", async () => {
    for (let at = 0; at < 600; at++) await browser.go(authorizePath("nobody"))
    expect(listRejections().total).toBe(500)
  })
})
