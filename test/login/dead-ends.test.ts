// A page opened directly, in a browser without cookies, or after its sign-in ended.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { loginPaths } from "../../src/login/path.ts"
import {
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
} from "../oauth/provider.ts"

let provider: Provider
let client: NewClient
beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  await provider.addPerson("lola")
})
afterAll(() => provider.close())

const { sheet: _, origins: __, ...pages } = loginPaths
const expiredCallback = "/oauth/v2/authorize/callback?id=1"

const withCookieMark = (path: string) => `${path}${path.includes("?") ? "&" : "?"}cookie-sent`

/** The targets of a page's links and forms. */
const targetsOn = (page: string) =>
  [...page.matchAll(/<(?:a|form) [^>]*(?:href|action)="([^"]+)"/g)].map(([, to]) => to)

describe.each([
  ["nobody is signed in", false],
  ["somebody is signed in", true],
] as const)("if %s,", (_name, isSignedIn) => {
  const opened = async (path: string) => {
    const browser = browserOf(provider)
    await browser.go(loginPaths.loginName)
    if (isSignedIn) await browser.signIn(loginPaths.loginName, "lola")
    return browser.go(path)
  }

  test.each([
    ...Object.values(pages),
    ...Object.values(pages).map((path) => `${path}${path.includes("?") ? "&" : "?"}authRequest=1`),
    "/device",
    "/idps/callback?state=1",
    expiredCallback,
  ])("%s offers a way to continue", async (path) => {
    const { page } = await opened(path)
    expect(targetsOn(page)).not.toEqual([])
  })

  test.each([
    ["an expired sign-in", expiredCallback],
    ["a page of an expired sign-in", `${loginPaths.password}?authRequest=1`],
    ["a link without its code", loginPaths.passwordSet],
  ])("%s redirects to the sign-in without an application", async (_description, path) => {
    const { page } = await opened(path)
    expect(targetsOn(page)).toContain(loginPaths.entry)
  })
})

test("a link for another browser redirects to the sign-in", async () => {
  const { page } = await browserOf(provider).go(loginPaths.magicLinkOpen)
  expect(targetsOn(page)).toContain(loginPaths.entry)
})

describe("a browser that rejects cookies", () => {
  /** Follows redirects without cookies. */
  async function opened(path: string, init: RequestInit = {}): Promise<Page> {
    const response = await provider.send(path, init)
    const location = response.headers.get("location")
    if (location === null) return { path, status: response.status, page: await response.text() }
    const { pathname, search } = new URL(location, "https://id.example.com")
    return opened(pathname + search)
  }
  type Page = { readonly path: string; readonly status: number; readonly page: string }

  test("sees that at the first page of a sign-in, with a way to retry", async () => {
    const { path, status, page } = await opened(authorizePath(client.id))
    expect([status, page.includes("Cookies are blocked")]).toEqual([400, true])
    expect(page).not.toContain("has expired")
    expect(targetsOn(page).map((to) => withCookieMark(to ?? ""))).toContain(path)
  })

  test.each([loginPaths.loginName, "/device"])("sees that at the form of %s", async (path) => {
    const body = new URLSearchParams({ loginName: "lola", userCode: "1", csrf: "x" })
    const { page } = await opened(path, { method: "POST", body })
    expect(page).toContain("Cookies are blocked")
  })

  test("sees that at the end of a sign-in", async () => {
    expect((await opened(expiredCallback)).page).toContain("Cookies are blocked")
  })
})

test("a browser that lost its cookies sees that the page expired", async () => {
  const first = await browserOf(provider).go(authorizePath(client.id))
  const { page, response } = await browserOf(provider).go(first.path)
  expect([response.status, page.includes("This page has expired")]).toEqual([400, true])
})
