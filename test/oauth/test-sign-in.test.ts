// An administrator runs a test sign-in to an application.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { deactivateApplication, type OidcConfig } from "../../src/domain/app/index.ts"
import { addAuthorization } from "../../src/domain/authorization/index.ts"
import { addRoles, createProject, updateProject } from "../../src/domain/project/index.ts"
import { searchRefusals } from "../../src/domain/refusal/refusal.ts"
import { startTestSignIn } from "../../src/domain/refusal/test-sign-in.ts"
import { endSession, sessionIdsOf } from "../../src/domain/session/index.ts"
import { callerOf } from "../support/test-environment.ts"
import {
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
  password,
  redirectUri,
  responseOf,
  type VisitedPage,
} from "./provider.ts"

let provider: Provider
let client: NewClient
let olga: string
let pat: string
let browser: ReturnType<typeof browserOf>
beforeAll(async () => {
  provider = await openProvider()
  const cx = provider.cx()
  olga = provider.setup.ownerId
  pat = await provider.addPerson("pat")
  await createProject(cx, "shop", { orgId: provider.setup.orgId, name: "Shop" })
  await addRoles(cx, "shop", [{ key: "editor", displayName: "Editor" }])
  const given = { userId: olga, projectId: "shop", orgId: provider.setup.orgId }
  const roles = { ...given, roleKeys: ["editor"] }
  await provider.store.transact(cx, (tx) => addAuthorization(tx, "olga-shop", roles))
  client = await provider.addClient({}, "shop")
})
afterAll(() => provider.close())
beforeEach(async () => {
  browser = browserOf(provider)
  await browser.signIn(authorizePath(client.id))
})

type TestOptions = {
  readonly scope?: string
  readonly chooseAccount?: boolean
  readonly by?: string
}

/** The URL that the browser of the test's author is sent to. */
async function pathOf(appId: string, options: TestOptions = {}): Promise<string> {
  const { scope = "", chooseAccount = false, by = olga } = options
  const cx = { ...provider.cx(), caller: callerOf(by) }
  const { clientId, requestUri } = await startTestSignIn(cx, appId, { scope, chooseAccount })
  const query = new URLSearchParams({ client_id: clientId, request_uri: requestUri })
  return `/oauth/v2/authorize?${query}`
}

const runTest = async (appId: string, options?: TestOptions) =>
  browser.go(await pathOf(appId, options))

const runTestWith = async (oidc: Partial<OidcConfig>, options?: TestOptions) =>
  runTest((await provider.addClient(oidc, "shop")).appId, options)

/** Another user signs in beside the test's author. */
async function signInAsPat(page: VisitedPage): Promise<VisitedPage> {
  const { search } = new URL(page.path, "https://id.example.com")
  const other = await browser.go(`/ui/login/loginname${search}`)
  const named = await browser.post(other, { loginName: "pat" })
  return browser.post(named, { loginName: "pat", password })
}

/** The sets of claims on a page, in order. */
const claimsOn = ({ page }: VisitedPage): Record<string, unknown>[] =>
  [...page.matchAll(/<pre class="snippet"><code>(.*?)<\/code><\/pre>/gs)].map(([, text = ""]) =>
    JSON.parse(text.replaceAll("&quot;", '"')),
  )

/** The browser is still here, and received nothing that can be used elsewhere. */
function expectNothingIssued({ path, response, page }: VisitedPage) {
  expect(path).toMatch(/^\/oauth\/v2\/authorize/)
  expect(response.headers.get("location")).toBeNull()
  expect(page).not.toContain(redirectUri)
  expect(page).not.toMatch(/[?&]code=/)
}

const page = { offset: 0, limit: 1, asc: false }
const scope = { all: true, orgs: [], projects: [], grants: [] }
const lastRefusal = () =>
  searchRefusals({ ...provider.cx(), scope }, { requestId: "", appId: "", page }).rows[0]

describe("a test sign-in", () => {
  test("shows the application's claims, and sends nothing to it", async () => {
    const shown = await runTest(client.appId)
    expectNothingIssued(shown)
    expect(shown.response.status).toBe(200)
    expect(shown.page).toContain("The sign-in works")
    expect(shown.page).toContain("editor")
    const [idToken, userinfo] = claimsOn(shown)
    expect(idToken).toMatchObject({ sub: olga, azp: client.id, iss: "https://id.example.com" })
    expect(userinfo).toMatchObject({ sub: olga, email: "olga@example.com" })
    expect(claimsOn(shown)).toHaveLength(2)
  })

  test("records its start and end, and nothing that a token could depend on", async () => {
    const path = await pathOf(client.appId)
    const before = provider.store.log.durable()
    await browser.go(path)
    expect(provider.store.log.durable() - before).toBe(1)
  })

  test("shows roles as in tokens, and those of JWT access tokens separately", async () => {
    await updateProject(provider.cx(), "shop", { groupsClaim: "groups" })
    const shown = await runTestWith({ tokenType: "jwt" }, { scope: "openid" })
    await updateProject(provider.cx(), "shop", { groupsClaim: "off" })
    const [idToken, userinfo, accessToken] = claimsOn(shown)
    for (const claims of [idToken, userinfo, accessToken]) {
      expect(claims).toMatchObject({ groups: ["editor"] })
    }
    expect(userinfo).not.toHaveProperty("email")
  })

  test("shows only an access token if the request is plain OAuth 2.0", async () => {
    const oidc = { tokenType: "jwt", plainOauth: true, accessTokenRoleAssertion: true } as const
    const shown = await runTestWith(oidc, { scope: "email groups" })
    expect(claimsOn(shown)).toEqual([expect.objectContaining({ groups: ["editor"] })])
  })

  test("can be completed by another user who signs in, once", async () => {
    const asked = await runTest(client.appId, { chooseAccount: true })
    expect(asked.path).toContain("/ui/login")
    const shown = await signInAsPat(asked)
    expectNothingIssued(shown)
    expect(claimsOn(shown)[1]).toMatchObject({ sub: pat, email: "pat@example.org" })
    const again = await browser.go(shown.path)
    expect(again.response.status).toBe(400)
    expect(claimsOn(again)).toEqual([])
  })

  test.each([
    ["a single-page application", { appType: "user_agent", authMethod: "none" }],
    ["one of the implicit grant", { grantTypes: ["implicit"], responseTypes: ["id_token_token"] }],
    ["one whose requests are always pushed", { requestRules: { pushed: true, signed: false } }],
    ["one whose requests are always signed", { requestRules: { pushed: false, signed: true } }],
  ] as const)("works for %s", async (_, oidc) => {
    const shown = await runTestWith(oidc)
    expectNothingIssued(shown)
    expect(claimsOn(shown)[0]).toMatchObject({ sub: olga })
  })
})

describe("a rejected test", () => {
  const exposed = { redirectUris: ["http://grafana.lan/cb"] }

  const cases: readonly (readonly [string, Partial<OidcConfig>, string])[] = [
    ["a redirect URI that nothing is sent to", exposed, "begins with http"],
    ["a response type without its grant", { grantTypes: ["device_code"] }, "response_type"],
  ]

  test.each(cases)(
    "for %s shows the error, and links to the explanation",
    async (_, oidc, reason) => {
      const made = await provider.addClient(oidc, "shop")
      const shown = await runTest(made.appId)
      expectNothingIssued(shown)
      expect(shown.page).toContain("Request rejected")
      expect(shown.page).toContain(reason)
      expect(shown.page).toContain(`/ui/console/applications/${made.appId}`)
      const { requestId, application, findings } = lastRefusal() ?? {}
      expect(application?.id).toBe(made.appId)
      expect(findings).toMatchObject([{ likelyCauseKey: expect.stringMatching(/./) }])
      expect(shown.page).toContain(`/ui/console/refused-requests/${requestId}`)
    },
  )

  test("for an invalid scope shows the error", async () => {
    const shown = await runTest(client.appId, { scope: "profile" })
    expectNothingIssued(shown)
    expect(shown.page).toContain("scope must contain openid")
  })

  test("for a user without access shows what they would see", async () => {
    await updateProject(provider.cx(), "shop", { projectRoleCheck: true })
    const shown = await signInAsPat(await runTest(client.appId, { chooseAccount: true }))
    expect(claimsOn(shown)).toEqual([])
    expect(shown.response.status).toBe(403)
    const cancelled = await browser.post(shown, { answer: "cancel" })
    await updateProject(provider.cx(), "shop", { projectRoleCheck: false })
    expectNothingIssued(cancelled)
    expect(cancelled.page).toContain("access_denied")
    expect(cancelled.page).not.toContain("refused-requests")
  })

  test("for a deactivated application shows the error", async () => {
    const made = await provider.addClient({}, "shop")
    const path = await pathOf(made.appId)
    await deactivateApplication(provider.cx(), made.appId)
    const shown = await browser.go(path)
    expectNothingIssued(shown)
    expect(shown.page).toContain("unknown_application")
  })
})

describe("attacks on a test", () => {
  test("shows nothing in a browser without a session, and is then finished", async () => {
    const path = await pathOf(client.appId)
    const stranger = await browserOf(provider).go(path)
    expectNothingIssued(stranger)
    expect(claimsOn(stranger)).toEqual([])
    expect(stranger.page).not.toContain("<form")
    expect(claimsOn(await browser.go(path))).toEqual([])
  })

  test("shows nothing to another user who opens its link", async () => {
    const victim = browserOf(provider)
    await victim.signIn(authorizePath(client.id), "pat")
    const shown = await victim.go(await pathOf(client.appId))
    expectNothingIssued(shown)
    expect(claimsOn(shown)).toEqual([])
  })

  test("is valid once", async () => {
    const path = await pathOf(client.appId)
    expect(claimsOn(await browser.go(path))).toHaveLength(2)
    const replayed = await browser.go(path)
    expectNothingIssued(replayed)
    expect(claimsOn(replayed)).toEqual([])
  })

  test("is valid for a minute", async () => {
    const path = await pathOf(client.appId)
    provider.clock.advance(61_000)
    expect(claimsOn(await browser.go(path))).toEqual([])
  })

  test("is valid for its application only", async () => {
    const other = await provider.addClient({}, "shop")
    const path = await pathOf(client.appId)
    const shown = await browser.go(path.replace(client.id, other.id))
    expect(claimsOn(shown)).toEqual([])
  })

  test("ends with its author's session", async () => {
    const asked = await runTest(client.appId, { chooseAccount: true })
    const cx = provider.cx()
    for (const id of sessionIdsOf(cx, olga)) {
      await provider.store.transact(cx, (tx) => endSession(tx, id))
    }
    const shown = await signInAsPat(asked)
    expectNothingIssued(shown)
    expect(shown.page).toContain("This test is for another browser")
    expect(claimsOn(shown)).toEqual([])
  })

  test("can't be started by a parameter: regular requests get a regular response", async () => {
    const named = { testedBy: olga, tested_by: olga }
    expect(responseOf(await browser.go(authorizePath(client.id, named)))).toHaveProperty("code")
    const form = new URL(authorizePath(client.id, named), "https://x").searchParams
    const authorization = `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString("base64")}`
    const pushed = await provider.send("/oauth/v2/par", {
      method: "POST",
      body: form,
      headers: { authorization },
    })
    const { request_uri } = await pushed.json()
    const query = new URLSearchParams({ client_id: client.id, request_uri })
    expect(responseOf(await browser.go(`/oauth/v2/authorize?${query}`))).toHaveProperty("code")
  })
})

describe("a test can't be started", () => {
  const started = (appId: string, cx = { ...provider.cx(), caller: callerOf(olga) }) =>
    startTestSignIn(cx, appId, { scope: "", chooseAccount: false })

  test("without a valid redirect URI", async () => {
    const pattern = { devMode: true, redirectUris: ["https://*.example.com/cb"] }
    const made = await provider.addClient(pattern, "shop")
    await expect(started(made.appId)).rejects.toMatchObject({ id: "app.test_address" })
  })

  test("by a caller without a browser", async () => {
    const caller = { kind: "system", name: "operator" } as const
    const begun = started(client.appId, { ...provider.cx(), caller })
    await expect(begun).rejects.toMatchObject({ id: "app.test_caller" })
  })

  test("with an overlong scope", async () => {
    const cx = { ...provider.cx(), caller: callerOf(olga) }
    const begun = startTestSignIn(cx, client.appId, {
      scope: "openid ".repeat(300),
      chooseAccount: false,
    })
    await expect(begun).rejects.toMatchObject({ id: "app.test_scope" })
  })
})
