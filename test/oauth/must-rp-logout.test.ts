import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { type Browser, loadDiscovery, openSignedIn, type Row, tokensOf } from "./must.ts"
import {
  authorizePath,
  browserOf,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  signedOutUri,
} from "./provider.ts"

let provider: Provider
let web: NewClient
let browser: Browser
let hint = ""
beforeAll(async () => {
  provider = await openProvider()
  web = await provider.addClient()
  await provider.addPerson("stella")
})
beforeEach(async () => {
  browser = await openSignedIn(provider, web)
  hint = String((await tokensOf(provider, browser, web)).id_token)
})
afterAll(() => provider.close())

const isSignedIn = async (user = browser) =>
  (await user.go("/ui/login/signedin")).path === "/ui/login/signedin"

const signOut = (parameters: Readonly<Record<string, string>>, user = browser) =>
  user.go(`/oidc/v1/endsession?${new URLSearchParams(parameters)}`)

const rows: readonly Row[] = [
  [
    "§2 the person is asked where the hint is of somebody who is not here",
    async () => {
      const stella = browserOf(provider)
      await stella.signIn(authorizePath(web.id), "stella")
      const asked = await signOut({ id_token_hint: hint }, stella)
      expect(asked.page).toContain("<form")
      expect(await isSignedIn(stella)).toBe(true)
      expect(await isSignedIn()).toBe(true)
    },
  ],
  [
    "§2 what is unknown is ignored and a repeated parameter refused",
    async () => {
      const twice = `/oidc/v1/endsession?id_token_hint=${hint}&state=a&state=b`
      expect((await browser.go(twice)).response.status).toBe(400)
      expect(await isSignedIn()).toBe(true)
      const end = await signOut({ id_token_hint: hint, colour: "blue" })
      expect([end.path, await isSignedIn()]).toEqual(["/ui/login/signedout", false])
    },
  ],
  [
    "§2.1 discovery names the endpoint",
    async () => {
      const { end_session_endpoint } = await loadDiscovery(provider)
      expect(end_session_endpoint).toBe(`${issuer}/oidc/v1/endsession`)
    },
  ],
  [
    "§3 an address is compared exactly",
    async () => {
      const spellings = [
        `${signedOutUri}?`,
        `${signedOutUri}#x`,
        signedOutUri.toUpperCase(),
        `${signedOutUri}/`,
        signedOutUri.replace("bye", "b%79e"),
        signedOutUri.replace("https", "http"),
        signedOutUri.replace(".com", ".com:443"),
        signedOutUri.replace("//", "//x@"),
        `${signedOutUri} `,
        ` ${signedOutUri}`,
        `${signedOutUri}\u0000`,
      ]
      for (const post_logout_redirect_uri of spellings) {
        const end = await signOut({ id_token_hint: hint, post_logout_redirect_uri })
        expect([end.response.status, await isSignedIn()], post_logout_redirect_uri).toEqual([
          400,
          true,
        ])
        expect(end.response.headers.has("location")).toBe(false)
      }
    },
  ],
  [
    "§6 a log-out can't be forced by another site",
    async () => {
      const headers = { origin: "https://evil.example" }
      const form = { method: "POST", headers, body: new URLSearchParams({ csrf: "guess" }) }
      await browser.go("/oidc/v1/endsession", form)
      await signOut({})
      await signOut({ client_id: web.id, post_logout_redirect_uri: signedOutUri })
      expect(await isSignedIn()).toBe(true)
    },
  ],
]

describe("RP-Initiated Logout", () => {
  test.each(rows)("%s", (_, holds) => holds())
})
