import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { app } from "../../src/domain/app/index.ts"
import { requireInstance } from "../../src/domain/instance/index.ts"
import {
  authorizePath,
  browserOf,
  hiddenFields,
  type NewClient,
  openProvider,
  type Provider,
  redirectUri,
  responseOf,
  type VisitedPage,
} from "../oauth/provider.ts"

let provider: Provider
let client: NewClient
beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  await provider.addPerson("pat")
})
afterAll(() => provider.close())

const cancelPath = "/ui/login/cancel"
const hasCancel = ({ page }: VisitedPage) => page.includes(`action="${cancelPath}"`)

type Browser = ReturnType<typeof browserOf>

/** Presses Cancel. */
const cancel = (browser: Browser, at: VisitedPage) => {
  expect(hasCancel(at)).toBe(true)
  const body = new URLSearchParams(hiddenFields(at.page))
  return browser.go(cancelPath, { method: "POST", body })
}

/** OpenID Connect Core §3.1.2.6. */
describe("a user who cancels a sign-in", () => {
  const begin = (browser: Browser, more = {}) => browser.go(authorizePath(client.id, more))

  const pages: Readonly<Record<string, (browser: Browser) => Promise<VisitedPage>>> = {
    "the login name": (browser) => begin(browser),
    "the password": async (browser) => browser.post(await begin(browser), { loginName: "pat" }),
    "the choice of an account": async (browser) => {
      await browser.signIn(authorizePath(client.id), "pat")
      return begin(browser, { prompt: "select_account" })
    },
  }

  test.each(Object.entries(pages))(
    "on the page of %s returns to the client with access_denied",
    async (_, open) => {
      const browser = browserOf(provider)
      const back = await cancel(browser, await open(browser))
      expect(back.path.startsWith(`${redirectUri}?`)).toBe(true)
      expect(responseOf(back)).toMatchObject({
        error: "access_denied",
        iss: "https://id.example.com",
      })
      expect(responseOf(back)).not.toHaveProperty("code")
    },
  )

  test("ends only that request, and can start another", async () => {
    const browser = browserOf(provider)
    const [first, second] = [await begin(browser), await begin(browser)]
    await cancel(browser, first)
    const named = await browser.post(second, { loginName: "pat" })
    expect(hasCancel(named)).toBe(true)
    const again = await browser.go(cancelPath, {
      method: "POST",
      body: new URLSearchParams(hiddenFields(first.page)),
    })
    expect(again.path).not.toContain("code=")
  })

  test("must use our form: a form without our token ends nothing", async () => {
    const browser = browserOf(provider)
    const at = await begin(browser)
    const { csrf: _, ...fields } = hiddenFields(at.page)
    const body = new URLSearchParams({ ...fields, csrf: "made up" })
    await browser.go(cancelPath, { method: "POST", body })
    const other = browserOf(provider)
    const stolen = new URLSearchParams(hiddenFields(at.page))
    await other.go(cancelPath, { method: "POST", body: stolen })
    expect((await browser.post(at, { loginName: "pat" })).page).toContain('name="password"')
  })

  test("of a dynamically registered application confirms the redirect", async () => {
    const stranger = await provider.addClient()
    await provider.store.transact(provider.cx(), (tx) =>
      tx.append(app, stranger.appId, [
        {
          type: "project.application.registered",
          data: { jwks: [] },
          private: { hashedToken: "none" },
        },
      ]),
    )
    const browser = browserOf(provider)
    const at = await browser.go(authorizePath(stranger.id))
    const shown = await cancel(browser, at)
    expect(shown.path.startsWith(redirectUri)).toBe(false)
    expect(shown.page).toContain("app.example.com")
    expect(shown.page).not.toContain("You are signed in")
  })

  test("can't return to the console", async () => {
    const { consoleClientId, publicUrl } = requireInstance(provider.cx())
    const redirect_uri = `${publicUrl}/ui/console/callback`
    const at = await browserOf(provider).go(authorizePath(consoleClientId, { redirect_uri }))
    expect([at.page.includes('name="loginName"'), hasCancel(at)]).toEqual([true, false])
  })

  test("can't cancel a sign-in without a request", async () => {
    const browser = browserOf(provider)
    expect(hasCancel(await browser.go("/ui/login/loginname"))).toBe(false)
  })
})
