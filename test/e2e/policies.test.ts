import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { addHuman, openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { owner } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

const password = "Correct-horse-8-battery"

describe.runIf(needs("chromium"))("an owner who edits policies", () => {
  let service: Service
  let browser: Browser
  let page: Page
  let organizationId = ""
  const complaints: string[] = []

  beforeAll(async () => {
    service = await openService()
    organizationId = (await service.get("ListOrganizations")).result[0].id
    browser = await openBrowser()
    page = await signedIn(owner)
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  type Person = { readonly loginName: string; readonly password: string }

  async function signedIn(person: Person): Promise<Page> {
    const context = await browser.newContext({ locale: "en" })
    const fresh = await context.newPage()
    fresh.setDefaultTimeout(60_000)
    fresh.on("pageerror", (error) => complaints.push(error.message))
    fresh.on("console", (message) => {
      if (/content security policy/i.test(message.text())) complaints.push(message.text())
    })
    await fresh.goto(`${service.url}/ui/console`)
    await fresh.fill('[name="loginName"]', person.loginName)
    await fresh.click('button[type="submit"]')
    await fresh.fill('[name="password"]', person.password)
    await fresh.click('button[type="submit"]')
    await fresh.locator("main.content h1").waitFor()
    return fresh
  }

  const open = async (path: string, heading: string, on = page) => {
    await on.goto(`${service.url}/ui/console${path}`)
    await on.getByRole("heading", { name: heading, level: 1 }).waitFor()
  }

  const section = (title: string, on = page) =>
    on
      .locator("section.section")
      .filter({ has: on.getByRole("heading", { name: title, exact: true, level: 2 }) })

  /** Colors have a transition. */
  const hasColour = (on: Page, selector: string, colour: string) =>
    expect
      .poll(() =>
        on.evaluate(`getComputedStyle(document.querySelector("${selector}")).backgroundColor`),
      )
      .toBe(colour)

  const minLengthOf = async () => {
    const headers = { "x-core-orgid": organizationId, authorization: `Bearer ${service.token}` }
    const url = `${service.url}/management/v1/policies/password/complexity`
    const { policy } = await (await fetch(url, { headers })).json()
    return [Number(policy.minLength), policy.isDefault ?? false]
  }

  test("sets the instance's policy, which an organization overrides until a reset", async () => {
    await open("/settings", "Settings")
    const passwords = section("Password complexity")
    await passwords.getByRole("button", { name: "Edit" }).click()
    await passwords.getByLabel("Minimum length").fill("10")
    await passwords.getByLabel("Require a symbol or space").uncheck()
    await passwords.getByRole("button", { name: "Save" }).click()
    await passwords.getByText("10", { exact: true }).waitFor()
    expect(await minLengthOf()).toEqual([10, true])

    await open(`/organizations/${organizationId}`, "Acme")
    await page.getByRole("link", { name: "View and change policies" }).click()
    await page.getByRole("heading", { name: "Policies", level: 1 }).waitFor()
    await passwords.getByRole("button", { name: "Override" }).click()
    await passwords.getByLabel("Minimum length").fill("14")
    await passwords.getByRole("button", { name: "Save" }).click()
    await passwords.getByText("overridden; instance default: 10").waitFor()
    expect(await minLengthOf()).toEqual([14, false])

    await passwords.getByRole("button", { name: "Use instance default" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByText("10", { exact: true }).waitFor()
    await dialog.getByRole("button", { name: "Use instance default" }).click()
    await dialog.waitFor({ state: "detached" })
    await passwords.getByText("instance default").first().waitFor()
    expect(await minLengthOf()).toEqual([10, true])
    await page.locator(".notice").getByRole("button", { name: "Undo" }).click()
    await passwords.getByText("overridden; instance default: 10").waitFor()
    expect(await minLengthOf()).toEqual([14, false])
  })

  test("keeps values that a form doesn't show", async () => {
    const asked = { maxAgeDays: 300, expireWarnDays: 14 }
    await service.get("core.admin.v1.AdminService/UpdatePasswordAgePolicy", asked)
    await open("/settings", "Settings")
    const age = section("Password expiration")
    await age.getByRole("button", { name: "Edit" }).click()
    await age.getByLabel("Expire after (days)").fill("200")
    await age.getByRole("button", { name: "Save" }).click()
    await age.getByText("200", { exact: true }).waitFor()
    const { policy } = await service.get("core.admin.v1.AdminService/GetPasswordAgePolicy")
    expect(policy).toMatchObject({ maxAgeDays: "200", expireWarnDays: "14" })
  })

  test("sets how users sign in, and gets a warning if nobody could", async () => {
    const signIn = section("Login policy")
    const loginPolicy = async () =>
      (await service.get("core.admin.v1.AdminService/GetLoginPolicy")).policy
    const save = () => signIn.getByRole("button", { name: "Save" }).click()
    await signIn.getByRole("button", { name: "Edit" }).click()
    const passkeys = signIn.getByLabel("Passkeys", { exact: true })
    await passkeys.selectOption("Not allowed")
    await signIn.getByLabel("Allow password sign-in", { exact: true }).uncheck()
    await save()
    await signIn.getByText("no one can sign in").waitFor()
    const field = signIn.getByLabel("Allow password sign-in")
    expect(await field.evaluate("document.activeElement.name")).toBe("allowUsernamePassword")
    expect(await field.getAttribute("aria-invalid")).toBe("true")
    await field.check()
    await passkeys.selectOption("Allowed")
    await signIn.getByLabel("Require a second factor for all users").check()
    const factors = ["Authenticator app", "Security key", "Recovery codes", "Passkey"]
    for (const name of factors) {
      await signIn.getByRole("checkbox", { name, exact: true }).uncheck()
    }
    await save()
    await signIn
      .getByText("Allow at least one factor, or turn off the requirement for a second factor.")
      .waitFor()
    await signIn.getByLabel("Code by email").check()
    await signIn.getByLabel("Require the second factor again after").first().fill("20")
    await signIn.getByLabel("Require the second factor again after: unit").selectOption("Minutes")
    await save()
    await signIn.getByText("20 minutes").waitFor()
    await signIn.getByText("Code by email", { exact: true }).waitFor()
    expect(await loginPolicy()).toMatchObject({
      allowUsernamePassword: true,
      forceMfa: true,
      secondFactorCheckLifetime: "1200s",
      secondFactors: ["SECOND_FACTOR_TYPE_OTP_EMAIL"],
    })
    await signIn.getByRole("button", { name: "Edit" }).click()
    await signIn.getByLabel("Require a second factor for all users").uncheck()
    await save()
    await signIn.getByRole("button", { name: "Edit" }).waitFor()
    expect((await loginPolicy()).forceMfa ?? false).toBe(false)
  })

  test("allows other factors in an organization than in the instance, until a reset", async () => {
    const provider = { name: "GitHub", clientId: "1", clientSecret: "s" }
    const admin = "core.admin.v1.AdminService"
    const { id: idpId } = await service.get(`${admin}/AddGitHubProvider`, provider)
    await service.get(`${admin}/AddIDPToLoginPolicy`, { idpId })
    await open(`/organizations/${organizationId}/policies`, "Policies")
    const signIn = section("Login policy")
    await signIn.getByRole("button", { name: "Override" }).click()
    await signIn.getByLabel("Recovery codes").check()
    await signIn.getByRole("button", { name: "Save" }).click()
    await signIn.getByText("overridden; instance default: Code by email").waitFor()
    const headers = { "x-core-orgid": organizationId, authorization: `Bearer ${service.token}` }
    const linked = `${service.url}/management/v1/policies/login/idps/_search`
    const own = await fetch(linked, { method: "POST", headers })
    expect((await own.json()).result).toMatchObject([{ idpId }])
    await signIn.getByRole("button", { name: "Edit" }).click()
    await signIn.getByLabel("Code by email").uncheck()
    await signIn.getByLabel("Code by SMS").check()
    await signIn.getByRole("button", { name: "Save" }).click()
    await signIn.getByText("Code by SMS, Recovery codes").waitFor()
    await signIn.getByRole("button", { name: "Use instance default" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Use instance default" }).click()
    await signIn.getByText("instance default").first().waitFor()
  })

  test("sets the format of codes, and gets a warning about guessable ones", async () => {
    await open("/settings", "Settings")
    const codes = section("Codes and secrets")
    await codes.getByRole("button", { name: "Edit: Invitations" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Length", { exact: true }).fill("3")
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.getByText("are too easy to guess").waitFor()
    await dialog.getByLabel("Length", { exact: true }).fill("9")
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.waitFor({ state: "detached" })
    await codes.getByText("9 characters: uppercase letters and digits; valid for 3 days").waitFor()
  })

  test("chooses colors with a preview of the page, which then uses them", async () => {
    const look = section("Branding")
    await look.getByRole("button", { name: "Edit" }).click()
    await look.getByLabel("Accent, light", { exact: true }).fill("#ffe066")
    await look.getByText("Accent, light: #ffe066 has too little contrast").waitFor()
    await look.getByLabel("Accent, light", { exact: true }).fill("#0b6e4f")
    await look.getByText("has too little contrast").waitFor({ state: "detached" })
    await hasColour(page, ".preview-page .button-primary", "rgb(11, 110, 79)")
    await look.getByRole("button", { name: "Save" }).click()
    await look.getByText("#0b6e4f").waitFor()
    const strangers = await browser.newContext({ colorScheme: "light" })
    const login = await strangers.newPage()
    await login.goto(`${service.url}/ui/console`)
    await login.locator('[name="loginName"]').waitFor()
    await hasColour(login, "button[type=submit]", "rgb(11, 110, 79)")
    await strangers.close()
  })

  test("sets the origins that can embed the sign-in in a frame", async () => {
    const frames = section("Iframe embedding")
    await frames.getByRole("button", { name: "Edit" }).click()
    await frames.getByLabel("Allow other sites").check()
    await frames.getByLabel("Sites", { exact: true }).fill("https://portal.example.com")
    await frames.getByRole("button", { name: "Save" }).click()
    await frames.getByText("https://portal.example.com").waitFor()
    const login = await fetch(`${service.url}/ui/login/signedin`)
    expect(login.headers.get("content-security-policy")).toContain(
      "frame-ancestors https://portal.example.com",
    )
  })

  test("a viewer sees no action that would be denied", async () => {
    const userId = await addHuman(service, organizationId, "grace")
    const resource = { organizationId }
    await service.get("CreateAdministrator", { userId, resource, roles: ["ORG_OWNER_VIEWER"] })
    await service.get("SetPassword", { userId, newPassword: { password } })
    const { user } = await service.get("GetUserByID", { userId })
    const viewer = await signedIn({ loginName: user.preferredLoginName, password })
    await open(`/organizations/${organizationId}/policies`, "Policies", viewer)
    await section("Login names and domains", viewer)
      .getByText("Require domain verification")
      .waitFor()
    await section("Password complexity", viewer)
      .getByText("overridden; instance default: 10")
      .waitFor()
    await viewer.getByText("Compare with current").first().waitFor()
    const buttons = viewer.locator("main").getByRole("button")
    const changing = buttons.filter({ hasNotText: /Compare with current|Show more|History/ })
    expect(await changing.allInnerTexts()).toEqual([])

    const onInstance = { userId, resource: { instance: true }, roles: ["IAM_OWNER_VIEWER"] }
    await service.get("CreateAdministrator", onInstance)
    await open("/settings", "Settings", viewer)
    await section("Password complexity", viewer).getByText("10", { exact: true }).waitFor()
    await section("Token issuance events", viewer).getByText("For users").waitFor()
    await viewer.getByText("Compare with current").first().waitFor()
    expect(await changing.allInnerTexts()).toEqual([])
    expect(await viewer.locator("main").getByRole("checkbox", { disabled: false }).count()).toBe(0)
    await viewer.context().close()
  })

  test("no page failed, or violated its content security policy", () => {
    expect(complaints).toEqual([])
  })

  test("offers a minimum of eight characters if all users need a second factor", async () => {
    const kinds = { hasUppercase: false, hasLowercase: false, hasNumber: false, hasSymbol: false }
    const url = `${service.url}/admin/v1/policies/password/complexity`
    const headers = {
      authorization: `Bearer ${service.token}`,
      "content-type": "application/json",
    }
    const body = JSON.stringify({ ...kinds, minLength: 15 })
    expect((await fetch(url, { method: "PUT", headers, body })).status).toBe(200)
    await open("/settings", "Settings")
    const passwords = section("Password complexity")
    await passwords.getByText("15", { exact: true }).waitFor()
    const allow = passwords.getByRole("button", { name: "Allow 8 characters" })
    expect(await allow.count()).toBe(0)
    // Through the form: a new page would first require a second factor of the owner.
    const signIn = section("Login policy")
    await signIn.getByRole("button", { name: "Edit" }).click()
    await signIn.getByLabel("Require a second factor for all users").check()
    await signIn.getByRole("button", { name: "Save" }).click()
    await allow.click()
    await passwords.getByText("8", { exact: true }).waitFor()
    await allow.waitFor({ state: "detached" })
    const { policy } = await service.get("core.admin.v1.AdminService/GetPasswordComplexityPolicy")
    expect(policy).toMatchObject({ minLength: "8" })
  })
})
