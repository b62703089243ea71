import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { deactivateApplication } from "../../src/domain/app/index.ts"
import { searchRefusals } from "../../src/domain/refusal/refusal.ts"
import type { Scope } from "../../src/kernel/context.ts"
import { OAuthError } from "../../src/oauth/error.ts"
import { recordRefusal } from "../../src/oauth/refusal.ts"
import { addRobot, asserted } from "./clients.ts"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  redirectUri,
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

function refusals(scope = everything, requestId = "") {
  return searchRefusals({ ...provider.cx(), scope }, { requestId, appId: "", page })
}

/** What is known of the last request that was refused. */
const last = () => refusals().rows[0]
const subjects = () => last()?.findings.map(({ subject }) => subject)

const newCode = async () => answerOf(await browser.go(authorizePath(client.id))).code ?? ""

describe("the authorization endpoint", () => {
  test("an unregistered redirect URI stands beside the registered ones", async () => {
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

  test("an unknown client is said to be unknown", async () => {
    await browser.go(authorizePath("123"))
    expect(last()).toMatchObject({ clientId: "123", application: undefined })
    expect(subjects()).toEqual(["client_id"])
  })

  test("a response type that the application lacks stands beside those that it has", async () => {
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

  test("what is no mistake is not noted: nobody signed in, for prompt=none", async () => {
    const before = refusals().total
    await browserOf(provider).go(authorizePath(client.id, { prompt: "none" }))
    expect(refusals().total).toBe(before)
  })
})

describe("the token endpoint", () => {
  test("a wrong secret is told by its method, and never shown", async () => {
    const { answer, headers } = await askToken(provider, codeFields("x"), `${client.id}:wrong-word`)
    expect(answer.request_id).toBe(last()?.requestId)
    expect(headers.get("x-request-id")).toBe(last()?.requestId)
    expect(last()?.findings).toMatchObject([
      { subject: "client authentication", received: "client_secret_basic" },
    ])
    expect(JSON.stringify(refusals().rows)).not.toContain("wrong-word")
  })

  test("another method than the registered one", async () => {
    const fields = { ...codeFields("x"), client_id: client.id }
    await askToken(provider, fields)
    expect(last()?.findings[0]).toMatchObject({
      received: "none",
      expected: ["client_secret_basic", "client_secret_post"],
    })
  })

  test("client_secret_post at introspection: both name the accepted methods", async () => {
    const fields = { token: "x", client_id: client.id, client_secret: client.secret }
    const body = new URLSearchParams(fields)
    const response = await provider.send("/oauth/v2/introspect", { method: "POST", body })
    const answer = await response.json()
    expect([response.status, answer.error]).toEqual([401, "invalid_client"])
    expect(answer.error_description).toContain(
      "this endpoint accepts client_secret_basic, private_key_jwt only",
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
    expect(back.get("error_description")).toContain("add it to the addresses of an API")
    expect(last()?.findings).toMatchObject([
      {
        subject: "resource",
        received: resource,
        likelyCauseKey: "resource.unknown",
        likelyCause: expect.stringContaining("under Resource URIs of the API"),
      },
    ])
  })

  test("the right secret, in another place than the application insists on", async () => {
    const requestRules = { pushed: false, signed: false, authMethod: true }
    const { id, secret } = await provider.addClient({ requestRules })
    await askToken(provider, { ...codeFields("x"), client_id: id, client_secret: secret })
    const [finding] = last()?.findings ?? []
    expect(finding).toMatchObject({
      received: "client_secret_post",
      expected: ["client_secret_basic"],
      likelyCauseKey: "proof.method",
    })
  })

  test("a redirect URI other than at the authorization endpoint", async () => {
    const fields = codeFields(await newCode(), { redirect_uri: `${redirectUri}?x=1` })
    await askToken(provider, fields, basic)
    expect(last()?.findings).toMatchObject([
      { subject: "redirect_uri", received: `${redirectUri}?x=1`, expected: [redirectUri] },
    ])
  })

  test("a verifier that does not fit, by hashes only", async () => {
    const wrong = "w".repeat(43)
    await askToken(provider, codeFields(await newCode(), { code_verifier: wrong }), basic)
    expect(subjects()).toEqual(["SHA-256 of code_verifier"])
    const text = JSON.stringify(refusals().rows)
    expect(text).not.toContain(wrong)
    expect(text).not.toContain(verifier)
  })

  test.each([
    ["cut off", async () => (await newCode()).slice(0, -3), /truncated/],
    [
      "used before",
      async () => {
        const code = await newCode()
        await askToken(provider, codeFields(code), basic)
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
    await askToken(provider, codeFields(await code()), basic)
    expect(last()?.findings).toMatchObject([{ subject: "code", received: "" }])
    expect(last()?.findings[0]?.likelyCause).toMatch(cause)
  })

  test("a grant type that the application lacks", async () => {
    const fields = { grant_type: "refresh_token", refresh_token: "x" }
    await askToken(provider, fields, basic)
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
    await askToken(provider, { grant_type, assertion, scope: "openid" })
    expect(subjects()).toEqual(["sub", "kid", "aud", "exp"])
  })

  test("an application that was deactivated", async () => {
    const stopped = await provider.addClient()
    await deactivateApplication(provider.cx(), stopped.appId)
    await askToken(provider, codeFields("x"), `${stopped.id}:${stopped.secret}`)
    expect(last()?.findings[0]).toMatchObject({ subject: "application", received: "inactive" })
  })
})

test("a post-logout redirect URI stands beside the registered ones", async () => {
  const query = new URLSearchParams({
    client_id: client.id,
    post_logout_redirect_uri: signedOutUri.replace("https", "http"),
  })
  await browser.go(`/oidc/v1/endsession?${query}`)
  expect(last()?.findings).toMatchObject([
    { subject: "post_logout_redirect_uri", expected: [signedOutUri] },
  ])
})

describe("what was found of somebody else", () => {
  const grant_type = "urn:ietf:params:oauth:grant-type:jwt-bearer"
  const unknownKey = async (iss: string) => {
    const robot = await addRobot(provider)
    const changes = { header: { kid: "another" } }
    const { client_assertion } = await asserted(provider, { ...robot, id: iss }, changes)
    return { grant_type, scope: "openid", assertion: client_assertion }
  }
  const post = (path: string, fields: Readonly<Record<string, string>>) =>
    provider.send(path, { method: "POST", body: new URLSearchParams(fields) })

  test("a key of a service user, is not for the application that the request names", async () => {
    const { userId } = await addRobot(provider)
    await post("/oauth/v2/token", await unknownKey(userId))
    expect([last()?.clientId, subjects()]).toEqual(["", ["kid"]])
    await post("/oauth/v2/token", { ...(await unknownKey(userId)), client_id: userId })
    expect([last()?.clientId, subjects()]).toEqual([userId, ["kid"]])
    await post("/oauth/v2/token", { ...(await unknownKey(userId)), client_id: client.id })
    expect([last()?.clientId, subjects()]).toEqual([client.id, []])
    await post(`/oauth/v2/token?client_id=${client.id}`, await unknownKey(userId))
    expect([last()?.clientId, subjects()]).toEqual([client.id, []])
  })

  test("the same, where its id was chosen to be the application's", async () => {
    await post("/oauth/v2/token", await unknownKey(client.id))
    expect([last()?.clientId, subjects()]).toEqual(["", []])
    await post("/oauth/v2/token", { ...(await unknownKey(client.id)), client_id: client.id })
    expect([last()?.clientId, subjects()]).toEqual([client.id, []])
  })

  test("a client's own assertion, stands with that client whatever the address says", async () => {
    const { id, ...robot } = await addRobot(provider)
    const wrong = { header: { kid: "another" } }
    const proof = await asserted(provider, { id, ...robot }, wrong)
    await post(`/oauth/v2/token?client_id=${client.id}`, { ...codeFields("x"), ...proof })
    expect([last()?.clientId, subjects()]).toEqual([id, ["client authentication", "kid"]])
    await post("/oauth/v2/token", { ...codeFields("x"), ...proof, client_id: client.id })
    expect([last()?.clientId, subjects()]).toEqual([client.id, ["iss"]])
  })

  test("an access token, is for the client that it was issued to", async () => {
    const { answer } = await askToken(provider, codeFields(await newCode()), basic)
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

  test("is not looked for where nothing is kept", async () => {
    const request = new Request(`${issuer}/oauth/v2/token`)
    const form = async () => new URLSearchParams()
    const asking = { cx: provider.cx(), request, form, url: new URL(request.url) }
    let times = 0
    const finding = () => {
      times++
      return []
    }
    for (const error of ["slow_down", "login_required", "invalid_grant"] as const) {
      await recordRefusal(
        { ...asking, refused: () => undefined },
        new OAuthError(error, "so", { finding }),
      )
    }
    expect(times).toBe(1)
  })
})

describe("who may see refused requests", () => {
  test("whoever sees the organisation or the project of the application, nobody else", async () => {
    await browser.go(authorizePath(client.id, { scope: "profile" }))
    await browser.go(authorizePath("nobody"))
    const of = (scope: Partial<Scope>) =>
      refusals({ ...everything, all: false, ...scope }).rows.map(({ clientId }) => clientId)
    const inOrg = of({ orgs: [provider.setup.orgId] })
    expect(inOrg).toContain(client.id)
    expect(inOrg).not.toContain("nobody")
    expect(of({ projects: [provider.projectId] })).toContain(client.id)
    expect(of({ orgs: ["another"] })).toEqual([])
  })

  test("finds one by its id", async () => {
    await browser.go(authorizePath(client.id, { scope: "email" }))
    const requestId = last()?.requestId ?? ""
    const { rows, total } = refusals(everything, requestId)
    expect([total, rows[0]?.requestId]).toEqual([1, requestId])
  })

  test("keeps the latest alone, however many there are", async () => {
    for (let at = 0; at < 600; at++) await browser.go(authorizePath("nobody"))
    expect(refusals().total).toBe(500)
  })
})
