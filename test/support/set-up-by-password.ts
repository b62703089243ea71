import { expect } from "vitest"
import { type browserOf, password, type Visited } from "../oauth/provider.ts"

/** Gives a password where the policy lets nobody in by one, to set up a passkey. */
export async function setUpByPassword(
  browser: ReturnType<typeof browserOf>,
  path: string,
  loginName: string,
): Promise<Visited> {
  const named = await browser.post(await browser.go(path), { loginName })
  expect(named.page).not.toContain('type="password"')
  const [, href = "/none"] = /<a href="([^"]*)">Set up a passkey with/.exec(named.page) ?? []
  const asked = await browser.go(href.replaceAll("&amp;", "&"))
  expect(asked.page).toContain("Enter your password once to set up a passkey.")
  return browser.post(asked, { loginName, password })
}
