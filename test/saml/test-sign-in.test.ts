// An administrator runs a test sign-in to a SAML application.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { startTestSignIn } from "../../src/domain/refusal/test-sign-in.ts"
import { updateUser } from "../../src/domain/user/index.ts"
import {
  authorizePath,
  browserOf,
  type Provider,
  password,
  type VisitedPage,
} from "../oauth/provider.ts"
import { callerOf } from "../support/test-environment.ts"
import { acsUrl, addServiceProvider, openSamlProvider, spId } from "./service-provider.ts"

let provider: Provider
let appId: string
let olga: string
let pat: string
let browser: ReturnType<typeof browserOf>
beforeAll(async () => {
  provider = await openSamlProvider()
  olga = provider.setup.ownerId
  pat = await provider.addPerson("pat")
  appId = await addServiceProvider(provider)
  // The first request creates the keys.
  await provider.send("/saml/v2/metadata")
})
afterAll(() => provider.close())
beforeEach(async () => {
  browser = browserOf(provider)
  await browser.signIn(authorizePath((await provider.addClient()).id))
})

type TestOptions = { readonly app?: string; readonly chooseAccount?: boolean }

/** The URL that the browser of the test's author is sent to. */
async function pathOf({ app = appId, chooseAccount = false }: TestOptions = {}): Promise<string> {
  const cx = { ...provider.cx(), caller: callerOf(olga) }
  const { clientId, requestUri } = await startTestSignIn(cx, app, { scope: "", chooseAccount })
  const query = new URLSearchParams({ providerId: clientId, request_uri: requestUri })
  return `/saml/v2/SSO?${query}`
}

const runTest = async (options?: TestOptions) => browser.go(await pathOf(options))

const assertionOn = ({ page }: VisitedPage): string =>
  (/<pre class="snippet"><code>(.*?)<\/code><\/pre>/s.exec(page)?.[1] ?? "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')

/** The browser is still here, and received nothing that can be used elsewhere. */
function expectNothingIssued({ page, response }: VisitedPage) {
  expect(response.headers.get("location")).toBeNull()
  expect(page).not.toContain("SAMLResponse")
  expect(page).not.toContain(`action="${acsUrl}`)
  expect(page).not.toContain("SignatureValue")
}

const durable = () => provider.store.log.durable()

describe("a SAML test sign-in", () => {
  test("shows the application's assertion, and sends nothing", async () => {
    const path = await pathOf()
    const before = durable()
    const shown = await browser.go(path)
    expect(shown.response.status).toBe(200)
    expect(shown.page).toContain("The sign-in works")
    expectNothingIssued(shown)
    const assertion = assertionOn(shown)
    expect(assertion).toContain(`<saml:Audience>${spId}</saml:Audience>`)
    expect(assertion).toContain(`Recipient="${acsUrl}"`)
    expect(assertion).toMatch(new RegExp(`<saml:NameID Format="[^"]*unspecified">${olga}<`))
    expect(assertion).toContain("<saml:AttributeValue>olga@example.com</saml:AttributeValue>")
    expect(assertion.split("\n").length).toBeGreaterThan(20)
    // It was used; no sign-out has an application to notify.
    expect(durable() - before).toBe(1)
  })

  test("can be completed by another user who signs in, once", async () => {
    const asked = await runTest({ chooseAccount: true })
    expect(asked.path).toContain("/ui/login")
    const { search } = new URL(asked.path, "https://id.example.com")
    const other = await browser.go(`/ui/login/loginname${search}`)
    const named = await browser.post(other, { loginName: "pat" })
    const shown = await browser.post(named, { loginName: "pat", password })
    expectNothingIssued(shown)
    expect(assertionOn(shown)).toContain(`>${pat}</saml:NameID>`)
    const again = await browser.go(shown.path)
    expect(again.response.status).toBe(400)
    expect(assertionOn(again)).toBe("")
  })

  test("stays on our pages if the application has a custom login page", async () => {
    const entityId = "https://own.example.com/metadata"
    const app = await addServiceProvider(provider, {
      entityId,
      loginAt: "https://login.example.com",
    })
    expect(assertionOn(await runTest({ app }))).toContain(entityId)
  })

  test("shows why the application would get none, and the assertion after the fix", async () => {
    const app = await addServiceProvider(provider, {
      entityId: "https://mail.example.com/metadata",
      formats: ["urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"],
    })
    const setEmail = (value: string, verified: boolean) =>
      updateUser(provider.cx(), olga, { human: { email: { value, verified } } })
    await setEmail("new@example.com", false)
    const shown = await runTest({ app })
    expect(shown.response.status).toBe(400)
    expect(shown.page).toContain("invalidNameIdPolicy")
    expect(shown.page).toContain("no verified email address")
    expectNothingIssued(shown)
    await setEmail("olga@example.com", true)
    expect(assertionOn(await runTest({ app }))).toMatch(/emailAddress">olga@example\.com</)
  })
})

describe("a test is rejected", () => {
  test("in a browser without its author's session", async () => {
    const path = await pathOf()
    const stranger = browserOf(provider)
    const shown = await stranger.go(path)
    expect(shown.response.status).toBe(400)
    expect(assertionOn(shown)).toBe("")
    await stranger.signIn(authorizePath((await provider.addClient()).id), "pat")
    expect(assertionOn(await stranger.go(await pathOf()))).toBe("")
  })

  test("the second time, after a minute, and with an unknown ID", async () => {
    const path = await pathOf()
    await browser.go(path)
    expect((await browser.go(path)).page).toContain("expired")
    const late = await pathOf()
    provider.clock.advance(61_000)
    expect((await browser.go(late)).page).toContain("expired")
    provider.clock.advance(-61_000)
    expect((await browser.go(`${path}x`)).page).toContain("expired")
  })

  test("for another application than it was started for", async () => {
    const entityId = "https://other.example.com/metadata"
    await addServiceProvider(provider, { entityId })
    const path = (await pathOf()).replace(encodeURIComponent(spId), encodeURIComponent(entityId))
    const shown = await browser.go(path)
    expect(shown.page).toContain("expired")
    expect(assertionOn(shown)).toBe("")
  })
})
