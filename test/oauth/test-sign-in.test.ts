// An administrator tries out how people sign in to an application.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { deactivateApplication, type OidcConfig } from "../../src/domain/app/index.ts"
import { addAuthorization } from "../../src/domain/authorization/index.ts"
import { addRoles, changeProject, createProject } from "../../src/domain/project/index.ts"
import { searchRefusals } from "../../src/domain/refusal/refusal.ts"
import { startTestSignIn } from "../../src/domain/refusal/test-sign-in.ts"
import { endSession, sessionsOf } from "../../src/domain/session/index.ts"
import { callerOf } from "../support/world.ts"
import {
  answerOf,
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
  password,
  redirectUri,
  type Visited,
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

type Wanted = { readonly scope?: string; readonly chooseAccount?: boolean; readonly by?: string }

/** Where the browser of who begins a test is sent. */
async function pathOf(appId: string, wanted: Wanted = {}): Promise<string> {
  const { scope = "", chooseAccount = false, by = olga } = wanted
  const cx = { ...provider.cx(), caller: callerOf(by) }
  const { clientId, requestUri } = await startTestSignIn(cx, appId, { scope, chooseAccount })
  const query = new URLSearchParams({ client_id: clientId, request_uri: requestUri })
  return `/oauth/v2/authorize?${query}`
}

const tried = async (appId: string, wanted?: Wanted) => browser.go(await pathOf(appId, wanted))

const tryWith = async (oidc: Partial<OidcConfig>, wanted?: Wanted) =>
  tried((await provider.addClient(oidc, "shop")).appId, wanted)

/** Somebody else signs in beside who began it. */
async function withPat(asked: Visited): Promise<Visited> {
  const { search } = new URL(asked.path, "https://id.example.com")
  const other = await browser.go(`/ui/login/loginname${search}`)
  const named = await browser.post(other, { loginName: "pat" })
  return browser.post(named, { loginName: "pat", password })
}

/** The sets of claims on a page, in their order. */
const claimsOn = ({ page }: Visited): Record<string, unknown>[] =>
  [...page.matchAll(/<pre class="snippet"><code>(.*?)<\/code><\/pre>/gs)].map(([, text = ""]) =>
    JSON.parse(text.replaceAll("&quot;", '"')),
  )

/** The browser is still here, and has nothing that it could take elsewhere. */
function expectNothingGiven({ path, response, page }: Visited) {
  expect(path).toMatch(/^\/oauth\/v2\/authorize/)
  expect(response.headers.get("location")).toBeNull()
  expect(page).not.toContain(redirectUri)
  expect(page).not.toMatch(/[?&]code=/)
}

const page = { offset: 0, limit: 1, asc: false }
const scope = { all: true, orgs: [], projects: [], grants: [] }
const lastRefusal = () =>
  searchRefusals({ ...provider.cx(), scope }, { requestId: "", appId: "", page }).rows[0]

describe("a test of a sign-in", () => {
  test("shows what the application would be told, and tells it nothing", async () => {
    const shown = await tried(client.appId)
    expectNothingGiven(shown)
    expect(shown.response.status).toBe(200)
    expect(shown.page).toContain("The sign-in works")
    expect(shown.page).toContain("editor")
    const [idToken, userinfo] = claimsOn(shown)
    expect(idToken).toMatchObject({ sub: olga, azp: client.id, iss: "https://id.example.com" })
    expect(userinfo).toMatchObject({ sub: olga, email: "olga@example.com" })
    expect(claimsOn(shown)).toHaveLength(2)
  })

  test("writes that it was begun and used, and nothing that a token could hang from", async () => {
    const path = await pathOf(client.appId)
    const before = provider.store.log.durable()
    await browser.go(path)
    expect(provider.store.log.durable() - before).toBe(1)
  })

  test("tells roles as tokens would, and those of JWT access tokens apart", async () => {
    await changeProject(provider.cx(), "shop", { groupsClaim: "groups" })
    const shown = await tryWith({ tokenType: "jwt" }, { scope: "openid" })
    await changeProject(provider.cx(), "shop", { groupsClaim: "off" })
    const [idToken, userinfo, accessToken] = claimsOn(shown)
    for (const claims of [idToken, userinfo, accessToken]) {
      expect(claims).toMatchObject({ groups: ["editor"] })
    }
    expect(userinfo).not.toHaveProperty("email")
  })

  test("shows an access token alone where the request is plain OAuth 2.0", async () => {
    const oidc = { tokenType: "jwt", plainOauth: true, accessTokenRoleAssertion: true } as const
    const shown = await tryWith(oidc, { scope: "email groups" })
    expect(claimsOn(shown)).toEqual([expect.objectContaining({ groups: ["editor"] })])
  })

  test("runs for somebody else who signs in beside, and once", async () => {
    const asked = await tried(client.appId, { chooseAccount: true })
    expect(asked.path).toContain("/ui/login")
    const shown = await withPat(asked)
    expectNothingGiven(shown)
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
    const shown = await tryWith(oidc)
    expectNothingGiven(shown)
    expect(claimsOn(shown)[0]).toMatchObject({ sub: olga })
  })
})

describe("a test that is refused", () => {
  const exposed = { redirectUris: ["http://grafana.lan/cb"] }

  const cases: readonly (readonly [string, Partial<OidcConfig>, string])[] = [
    ["a redirect URI that nothing is sent to", exposed, "begins with http"],
    ["a response type without its grant", { grantTypes: ["device_code"] }, "response_type"],
  ]

  test.each(cases)("for %s says so, and where it is explained", async (_, oidc, why) => {
    const made = await provider.addClient(oidc, "shop")
    const shown = await tried(made.appId)
    expectNothingGiven(shown)
    expect(shown.page).toContain("Request rejected")
    expect(shown.page).toContain(why)
    expect(shown.page).toContain(`/ui/console/applications/${made.appId}`)
    const { requestId, application, findings } = lastRefusal() ?? {}
    expect(application?.id).toBe(made.appId)
    expect(findings).toMatchObject([{ likelyCauseKey: expect.stringMatching(/./) }])
    expect(shown.page).toContain(`/ui/console/refused-requests/${requestId}`)
  })

  test("for a scope that is none says so", async () => {
    const shown = await tried(client.appId, { scope: "profile" })
    expectNothingGiven(shown)
    expect(shown.page).toContain("scope must contain openid")
  })

  test("for a person who may not enter shows what they would see", async () => {
    await changeProject(provider.cx(), "shop", { projectRoleCheck: true })
    const shown = await withPat(await tried(client.appId, { chooseAccount: true }))
    expect(claimsOn(shown)).toEqual([])
    expect(shown.response.status).toBe(403)
    const cancelled = await browser.post(shown, { answer: "cancel" })
    await changeProject(provider.cx(), "shop", { projectRoleCheck: false })
    expectNothingGiven(cancelled)
    expect(cancelled.page).toContain("access_denied")
    expect(cancelled.page).not.toContain("refused-requests")
  })

  test("for an application that was deactivated meanwhile says so", async () => {
    const made = await provider.addClient({}, "shop")
    const path = await pathOf(made.appId)
    await deactivateApplication(provider.cx(), made.appId)
    const shown = await browser.go(path)
    expectNothingGiven(shown)
    expect(shown.page).toContain("unknown_application")
  })
})

describe("a test, attacked", () => {
  test("shows nothing in a browser where nobody is signed in, and is over then", async () => {
    const path = await pathOf(client.appId)
    const stranger = await browserOf(provider).go(path)
    expectNothingGiven(stranger)
    expect(claimsOn(stranger)).toEqual([])
    expect(stranger.page).not.toContain("<form")
    expect(claimsOn(await browser.go(path))).toEqual([])
  })

  test("shows nothing to somebody else whom its link was sent to", async () => {
    const victim = browserOf(provider)
    await victim.signIn(authorizePath(client.id), "pat")
    const shown = await victim.go(await pathOf(client.appId))
    expectNothingGiven(shown)
    expect(claimsOn(shown)).toEqual([])
  })

  test("is good once", async () => {
    const path = await pathOf(client.appId)
    expect(claimsOn(await browser.go(path))).toHaveLength(2)
    const replayed = await browser.go(path)
    expectNothingGiven(replayed)
    expect(claimsOn(replayed)).toEqual([])
  })

  test("is good for a minute", async () => {
    const path = await pathOf(client.appId)
    provider.clock.advance(61_000)
    expect(claimsOn(await browser.go(path))).toEqual([])
  })

  test("is of its application alone", async () => {
    const other = await provider.addClient({}, "shop")
    const path = await pathOf(client.appId)
    const shown = await browser.go(path.replace(client.id, other.id))
    expect(claimsOn(shown)).toEqual([])
  })

  test("ends with the session of who began it", async () => {
    const asked = await tried(client.appId, { chooseAccount: true })
    const cx = provider.cx()
    for (const id of sessionsOf(cx, olga)) {
      await provider.store.transact(cx, (tx) => endSession(tx, id))
    }
    const shown = await withPat(asked)
    expectNothingGiven(shown)
    expect(shown.page).toContain("This test is for another browser")
    expect(claimsOn(shown)).toEqual([])
  })

  test("can't be had by a parameter: what an application asks, it gets", async () => {
    const named = { testedBy: olga, tested_by: olga }
    expect(answerOf(await browser.go(authorizePath(client.id, named)))).toHaveProperty("code")
    const form = new URL(authorizePath(client.id, named), "https://x").searchParams
    const authorization = `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString("base64")}`
    const pushed = await provider.send("/oauth/v2/par", {
      method: "POST",
      body: form,
      headers: { authorization },
    })
    const { request_uri } = await pushed.json()
    const query = new URLSearchParams({ client_id: client.id, request_uri })
    expect(answerOf(await browser.go(`/oauth/v2/authorize?${query}`))).toHaveProperty("code")
  })
})

describe("a test can't be begun", () => {
  const started = (appId: string, cx = { ...provider.cx(), caller: callerOf(olga) }) =>
    startTestSignIn(cx, appId, { scope: "", chooseAccount: false })

  test("without a redirect URI that is an address", async () => {
    const pattern = { devMode: true, redirectUris: ["https://*.example.com/cb"] }
    const made = await provider.addClient(pattern, "shop")
    await expect(started(made.appId)).rejects.toMatchObject({ id: "app.test_address" })
  })

  test("by who has no browser", async () => {
    const caller = { kind: "system", name: "operator" } as const
    const begun = started(client.appId, { ...provider.cx(), caller })
    await expect(begun).rejects.toMatchObject({ id: "app.test_caller" })
  })

  test("with a scope without an end", async () => {
    const cx = { ...provider.cx(), caller: callerOf(olga) }
    const begun = startTestSignIn(cx, client.appId, {
      scope: "openid ".repeat(300),
      chooseAccount: false,
    })
    await expect(begun).rejects.toMatchObject({ id: "app.test_scope" })
  })
})
