import { expect } from "vitest"
import { type browserOf, password, type VisitedPage } from "../oauth/provider.ts"

/** Enters a password to set up a passkey if the policy lets passwords sign no one in. */
export async function setUpByPassword(
  browser: ReturnType<typeof browserOf>,
  path: string,
  loginName: string,
): Promise<VisitedPage> {
  const namePage = await browser.post(await browser.go(path), { loginName })
  expect(namePage.page).not.toContain('type="password"')
  const [, href = "/none"] = /<a href="([^"]*)">Set up a passkey with/.exec(namePage.page) ?? []
  const passwordPage = await browser.go(href.replaceAll("&amp;", "&"))
  expect(passwordPage.page).toContain("Enter your password once to set up a passkey.")
  return browser.post(passwordPage, { loginName, password })
}
