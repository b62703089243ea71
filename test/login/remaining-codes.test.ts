// The sign-in shows how many recovery codes remain after one of the last was used.
import { TOTP } from "otpauth"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { generateRecoveryCodes } from "../../src/domain/factor/recovery-code.ts"
import { registerTotp, verifyTotp } from "../../src/domain/factor/totp.ts"
import { changePolicy } from "../../src/domain/policy/commands.ts"
import { login } from "../../src/domain/policy/index.ts"
import {
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  type VisitedPage,
} from "../oauth/provider.ts"

const name = "nina"

let provider: Provider
let client: NewClient
let id: string
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  id = await provider.addPerson(name)
  const cx = provider.cx()
  const { secret } = await registerTotp(cx, id, { issuer: "Home", label: name })
  await verifyTotp(cx, id, new TOTP({ secret }).generate({ timestamp: cx.clock.now() }))
  await changePolicy(cx, undefined, {
    policy: login,
    apply: () => ({ secondFactors: ["otp", "recovery_codes"] as const }),
  })
})
afterEach(() => provider.close())

const path = () => authorizePath(client.id)

describe("the last recovery codes", () => {
  const leftPath = "/ui/login/mfa/recovery"
  let codes: readonly string[]
  /** Signs in with the next recovery code, as far as possible. */
  async function enter() {
    const browser = browserOf(provider)
    const page = await browser.signIn(path(), name)
    const other = /href="([^"]*factor=recovery_codes)"/.exec(page.page)?.[1] ?? ""
    const asked = await browser.go(other.replaceAll("&amp;", "&"))
    const [code = "", ...others] = codes
    codes = others
    return { browser, end: await browser.post(asked, { code }) }
  }
  const linkIn = ({ page }: VisitedPage, text: string) =>
    new RegExp(`href="([^"]*)"[^>]*>${text}<`).exec(page)?.[1]?.replaceAll("&amp;", "&") ?? ""

  test("are counted down at sign-in, which then continues", async () => {
    codes = (await generateRecoveryCodes(provider.cx(), id, 5)).codes
    expect(responseOf((await enter()).end)).toHaveProperty("code")
    for (const left of [3, 2, 1]) {
      const { browser, end } = await enter()
      expect(end.path).toContain(leftPath)
      expect(end.page).toContain(`Recovery codes left: ${left}.`)
      expect(linkIn(end, "Create new codes")).toBe("/ui/account/security")
      expect(responseOf(await browser.go(linkIn(end, "Not now")))).toHaveProperty("code")
    }
    const { browser, end } = await enter()
    expect(end.page).toContain("You have no recovery codes left")
    expect(responseOf(await browser.go(linkIn(end, "Not now")))).toHaveProperty("code")
  })

  test("are not shown to users who did not use one", async () => {
    codes = (await generateRecoveryCodes(provider.cx(), id, 1)).codes
    const { end } = await enter()
    const other = browserOf(provider)
    expect((await other.go(end.path)).page).not.toContain("recovery codes left")
    expect((await other.go(leftPath)).path).not.toContain(leftPath)
  })
})
