import { TOTP } from "otpauth"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { registerTotp, verifyTotp } from "../../src/domain/factor/totp.ts"
import {
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
  password,
  responseOf,
} from "../oauth/provider.ts"

let provider: Provider
let client: NewClient
beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient()
})
afterAll(() => provider.close())

let userCount = 0
let name: string
let id: string
beforeEach(async () => {
  name = `nina-${++userCount}`
  id = await provider.addPerson(name)
})

const codeOf = (secret: string, late = 0) =>
  new TOTP({ secret }).generate({ timestamp: provider.clock.now() + late * 30_000 })

async function withTotp(): Promise<string> {
  const cx = provider.cx()
  const { secret } = await registerTotp(cx, id, { issuer: "Home", label: name })
  await verifyTotp(cx, id, codeOf(secret, -1))
  return secret
}

describe("a double click, if a second factor is required", () => {
  /** The page that asks for the code, and the cookie of the page before it. */
  async function asked() {
    const secret = await withTotp()
    const browser = browserOf(provider)
    const first = await browser.go(authorizePath(client.id))
    const typed = await browser.post(first, { loginName: name })
    const before = browser.cookie()
    const given = { loginName: name, password }
    return { secret, browser, typed, before, given, page: await browser.post(typed, given) }
  }

  test("on the password leads to the second factor, also where its cookie was lost", async () => {
    const { secret, browser, typed, before, given, page } = await asked()
    expect((await browser.post(typed, given)).path).toBe(page.path)
    browser.setCookie(before)
    const again = await browser.post(typed, given)
    expect(again.path).toBe(page.path)
    expect(responseOf(await browser.post(again, { code: codeOf(secret) }))).toHaveProperty("code")
  })

  test("with the previous cookie signs nobody in after the second factor", async () => {
    const { secret, browser, typed, before, given, page } = await asked()
    await browser.post(page, { code: codeOf(secret) })
    provider.clock.advance(60_000)
    browser.setCookie(before)
    const again = await browser.post(typed, given)
    expect(again.page).toContain("This sign-in is finished")
    expect(again.response.headers.get("location")).toBeNull()
  })

  test("on the code leads to a page that continues, or offers to", async () => {
    const { secret, browser, page } = await asked()
    const before = browser.cookie()
    const code = codeOf(secret)
    await browser.post(page, { code })
    const again = await browser.post(page, { code })
    const [, href = ""] = /<a href="(\/oauth[^"]*)">Continue/.exec(again.page) ?? []
    expect(responseOf(await browser.go(href))).toHaveProperty("code")
    browser.setCookie(before)
    const lost = await browser.post(page, { code })
    expect(lost.page).toContain("This sign-in is finished")
    expect(lost.page).toContain('href="https://app.example.com/"')
  })
})
