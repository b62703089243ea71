// What an administrator sees whose form another one changes beneath them.
import type { Browser, BrowserContext, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { flawsOf } from "../support/axe.ts"
import { openBrowser } from "../support/browser.ts"
import { signedInAt } from "../support/console-place.ts"
import { needs } from "../support/prerequisite.ts"

const sms = "SECOND_FACTOR_TYPE_OTP_SMS"
const key = "SECOND_FACTOR_TYPE_U2F"

describe.runIf(needs("chromium"))("an administrator beside another one", () => {
  let service: Service
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let projectId = ""

  beforeAll(async () => {
    service = await openService()
    const organizationId = (await service.get("ListOrganizations")).result[0].id
    projectId = (await service.get("CreateProject", { organizationId, name: "Shop" })).projectId
    await service.get("AddProjectRole", { projectId, roleKey: "editor", displayName: "Editor" })
    browser = await openBrowser()
    context = await browser.newContext({ locale: "en", bypassCSP: true })
    page = await signedInAt(context, `${service.url}/ui/console/projects`)
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  const project = async () => (await service.get("GetProject", { projectId })).project
  const role = async () => (await service.get("ListProjectRoles", { projectId })).projectRoles[0]
  const changeRole = (change: object) =>
    service.get("UpdateProjectRole", { projectId, roleKey: "editor", ...change })
  const field = (name: string, on = page) => on.locator(`dialog [name="${name}"]`)
  const conflict = (on = page) => on.locator("dialog .conflict")
  const saving = (on = page) => on.locator('dialog button[type="submit"]').click()
  const closed = (on = page) => on.getByRole("dialog").waitFor({ state: "detached" })

  async function openRole(words = "Edit", on = page): Promise<void> {
    await on.goto(`${service.url}/ui/console/projects/${projectId}`)
    await on.getByRole("button", { name: `${words}: editor` }).click()
  }

  test("takes over the other's value, and nothing of their own is sent", async () => {
    await openRole()
    await field("displayName").fill("Mine")
    await changeRole({ displayName: "Theirs" })
    await saving()
    await conflict()
      .getByText(/^Changed by .+ (now|ago)$/)
      .waitFor()
    expect(await conflict().textContent()).toContain("Their valueTheirsYour valueMine")
    expect(await field("displayName").inputValue()).toBe("Mine")
    await conflict().getByRole("button", { name: "Take theirs: Display name" }).press("Enter")
    await conflict().waitFor({ state: "detached" })
    expect(await field("displayName").inputValue()).toBe("Theirs")
    await page.getByRole("button", { name: "Cancel" }).click()
    await closed()
    expect(await role()).toMatchObject({ displayName: "Theirs" })
  })

  test("decides each field, and saving goes on by itself after the last", async () => {
    await openRole()
    await field("displayName").fill("Mine")
    await field("group").fill("Mine")
    await changeRole({ displayName: "Also theirs", group: "Theirs" })
    await saving()
    await conflict().nth(1).waitFor()
    // It is announced, and the focus is where the first decision is.
    await page.getByRole("alert").filter({ hasText: "Nothing is saved yet" }).waitFor()
    expect(await page.evaluate("document.activeElement?.className")).toBe("conflict")
    await page.getByRole("button", { name: "Take theirs: Display name" }).click()
    expect(await role()).toMatchObject({ displayName: "Also theirs", group: "Theirs" })
    await page.getByRole("button", { name: "Keep mine: Group" }).click()
    await closed()
    expect(await role()).toMatchObject({ displayName: "Also theirs", group: "Mine" })
  })

  test("reads of the conflict by axe, on a phone, in the dark and in German", async () => {
    await openRole()
    await field("displayName").fill("Mine")
    await changeRole({ displayName: "Theirs once more" })
    await saving()
    await conflict().waitFor()
    expect(await flawsOf(page)).toEqual([])
    await page.getByRole("button", { name: "Cancel" }).click()
    await closed()
    const german = await browser.newContext({ locale: "de" })
    const seite = await signedInAt(german, `${service.url}/ui/console/projects`)
    await openRole("Bearbeiten", seite)
    await field("displayName", seite).fill("Meins")
    await changeRole({ displayName: "Ihres" })
    await saving(seite)
    await conflict(seite)
      .getByText(/^Geändert von .+ (jetzt|vor .+)$/)
      .waitFor()
    await seite.getByRole("button", { name: /^Meinen behalten: / }).click()
    await closed(seite)
    expect(await role()).toMatchObject({ displayName: "Meins" })
    await german.close()
  })

  test("finds after a reload what they had changed, over what is there now", async () => {
    await openRole()
    await field("group").fill("Drafted")
    await changeRole({ displayName: "Changed meanwhile" })
    await page.reload()
    await page.getByText("Your earlier input was restored.").waitFor()
    expect(await field("displayName").inputValue()).toBe("Changed meanwhile")
    expect(await field("group").inputValue()).toBe("Drafted")
    expect(await conflict().count()).toBe(0)
    // The other one changes the same field: it is said at once, before anything is saved.
    await changeRole({ group: "Changed, too" })
    await page.reload()
    await conflict().getByText("Changed, too").waitFor()
    await page.getByRole("button", { name: "Keep mine: Group" }).click()
    await saving()
    await closed()
    expect(await role()).toMatchObject({ displayName: "Changed meanwhile", group: "Drafted" })
  })

  test("loses a draft of the format before, which holds all old values", async () => {
    await page.evaluate(`sessionStorage.setItem(
      "latchkey.draft /ui/console/projects/${projectId} roles:editor",
      JSON.stringify({ key: "", displayName: "Old", group: "Old" }))`)
    await openRole()
    expect(await field("group").inputValue()).toBe("Drafted")
    await page.getByRole("button", { name: "Cancel" }).click()
  })

  test("turns switches beside each other", async () => {
    await page.goto(`${service.url}/ui/console/projects/${projectId}`)
    const asserting = page.getByRole("checkbox", { name: "Return roles to applications" })
    await asserting.waitFor()
    await service.get("UpdateProject", { projectId, authorizationRequired: true })
    await asserting.click()
    await page.getByRole("checkbox", { name: "Require a role to sign in", checked: true }).waitFor()
    // What the other one has set is shown before the switch is sent once more.
    const both = { projectRoleAssertion: true, authorizationRequired: true }
    await expect.poll(project).toMatchObject(both)
    await page
      .getByRole("checkbox", { name: "Return roles to applications", checked: true })
      .waitFor()
    // Both turn the same one the same way.
    await service.get("UpdateProject", { projectId, projectRoleAssertion: false })
    await asserting.click()
    await expect.poll(project).not.toHaveProperty("projectRoleAssertion")
    expect(await page.getByRole("alert").count()).toBe(0)
  })

  test("turns on a switch that is sent with what another form changes", async () => {
    await page.goto(`${service.url}/ui/console/settings`)
    const impersonation = page.getByRole("checkbox", { name: "Impersonation" })
    await impersonation.waitFor()
    const allowedOrigins = ["https://portal.example.com"]
    await service.get("SetSecuritySettings", { embeddedIframe: { enabled: true, allowedOrigins } })
    await impersonation.click()
    const read = async () => (await service.get("GetSecuritySettings")).settings
    await expect.poll(read).toMatchObject({
      enableImpersonation: true,
      embeddedIframe: { enabled: true, allowedOrigins },
    })
  })

  test("is asked before a choice replaces another one", async () => {
    await page.goto(`${service.url}/ui/console/projects/${projectId}`)
    const list = page.getByLabel("Plain list of roles")
    await list.waitFor()
    await service.get("UpdateProject", { projectId, groupsClaim: "GROUPS_CLAIM_ROLES" })
    await list.selectOption("groups")
    const box = page.locator(".conflict")
    await box.getByText("In the claim roles").waitFor()
    expect(await project()).toMatchObject({ groupsClaim: "GROUPS_CLAIM_ROLES" })
    await box.getByRole("button", { name: /^Keep mine/ }).click()
    await box.waitFor({ state: "detached" })
    expect(await project()).toMatchObject({ groupsClaim: "GROUPS_CLAIM_GROUPS" })
  })

  test("sees untouched fields follow when the page is read again", async () => {
    await openRole()
    await field("group").fill("Typed")
    await changeRole({ displayName: "Followed" })
    // Whoever comes back to the page has it read again, once what it shows is ten seconds old.
    const shown = async () => {
      await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))")
      return field("displayName").inputValue()
    }
    await expect.poll(shown, { timeout: 30_000 }).toBe("Followed")
    expect(await field("group").inputValue()).toBe("Typed")
    await page.getByRole("button", { name: "Cancel" }).click()
  })

  test("sees where a typed secret would be sent before it is", async () => {
    const admin = "core.admin.v1.AdminService"
    const acme = { name: "Acme", issuer: "https://idp.example.com", clientId: "client" }
    const added = { ...acme, clientSecret: "first", scopes: ["openid"] }
    const { id } = await service.get(`${admin}/AddGenericOIDCProvider`, added)
    const issuer = async () =>
      (await service.get(`${admin}/GetProviderByID`, { id })).idp.config.oidc.issuer
    const other = "https://other.example.com"
    await page.goto(`${service.url}/ui/console/identity-providers`)
    await page.getByRole("button", { name: "Edit: Acme" }).click()
    await field("clientSecret").fill("s3cret")
    const change = { id, issuer: other, updateMask: "issuer" }
    await service.get(`${admin}/UpdateGenericOIDCProvider`, change)
    await saving()
    await conflict().getByText(other).waitFor()
    expect(await conflict().textContent()).toContain(`${other}Your value${acme.issuer}`)
    expect(await issuer()).toBe(other)
    await conflict()
      .getByRole("button", { name: /^Keep mine/ })
      .click()
    await closed()
    expect(await issuer()).toBe(acme.issuer)
  })

  test("becomes the author of nothing that they have not seen", async () => {
    const management = "core.management.v1.ManagementService"
    const script = "function note() {}"
    const added = { name: "note", script, timeout: "1s", allowedToFail: true }
    const { id } = await service.get(`${management}/CreateAction`, added)
    await page.goto(`${service.url}/ui/console/scripts/${id}`)
    await page.locator('form [name="name"]').fill("mine")
    const theirs = "function note() { return 1 }"
    const change = { id, script: theirs, updateMask: "script" }
    await service.get(`${management}/UpdateAction`, change)
    await page.getByRole("button", { name: "Save", exact: true }).click()
    const box = page.locator(".conflict")
    await box.getByText(theirs).waitFor()
    const read = async () => (await service.get(`${management}/GetAction`, { id })).action
    expect(await read()).toMatchObject({ name: "note", script: theirs })
    await box.getByRole("button", { name: /^Take theirs/ }).click()
    await expect.poll(read).toMatchObject({ name: "mine", script: theirs })
  })

  test("does not send again what was saved, and undone since", async () => {
    const management = "core.management.v1.ManagementService"
    const added = { name: "undone", script: "function undone() {}", timeout: "1s" }
    const { id } = await service.get(`${management}/CreateAction`, added)
    const read = async () => (await service.get(`${management}/GetAction`, { id })).action
    await page.goto(`${service.url}/ui/console/scripts/${id}`)
    const code = page.locator('form [name="script"]')
    await code.fill("function undone() { return 1 }")
    const save = page.getByRole("button", { name: "Save", exact: true })
    await save.click()
    await page.getByRole("button", { name: /^Undo/ }).first().click()
    await page.getByRole("dialog").getByRole("button", { name: "Undo", exact: true }).click()
    await closed()
    await expect.poll(read).toMatchObject({ script: added.script })
    await expect.poll(() => code.inputValue()).toBe(added.script)
    await page.locator('form [name="name"]').fill("renamed")
    await save.click()
    await expect.poll(read).toMatchObject({ name: "renamed", script: added.script })
  })

  test("repeats a save of factors that failed halfway, without a conflict", async () => {
    const factors = async () =>
      (await service.get("core.admin.v1.AdminService/GetLoginPolicy")).policy.secondFactors
    const updates: string[] = []
    page.on("request", (request) => {
      if (request.url().endsWith("/UpdateLoginPolicy")) updates.push(request.url())
    })
    const signIn = page.locator("section.section", {
      has: page.getByRole("heading", { name: "Login policy", exact: true }),
    })
    const save = signIn.getByRole("button", { name: "Save", exact: true })
    await page.goto(`${service.url}/ui/console/settings`)
    await signIn.getByRole("button", { name: "Edit" }).click()
    const passwords = signIn.getByLabel("Allow password sign-in", { exact: true })
    const passkeys = signIn.getByLabel("Passkeys", { exact: true })
    await passwords.uncheck()
    await passkeys.selectOption("Not allowed")
    await signIn.getByLabel("Code by SMS").check()
    await signIn.getByLabel("Security key", { exact: true }).uncheck()
    await save.click()
    await signIn.getByText("no one can sign in").waitFor()
    expect(await factors()).toEqual(expect.arrayContaining([sms, key]))
    expect(updates).toHaveLength(1)
    await page.reload()
    await passwords.check()
    await passkeys.selectOption("Allowed")
    await save.click()
    await signIn.getByRole("button", { name: "Edit" }).waitFor()
    expect(await factors()).toContain(sms)
    expect(await factors()).not.toContain(key)
    // Nothing else has changed.
    expect(updates).toHaveLength(1)
  })

  test("undoes a reset of texts beside what was said since", async () => {
    const level = { instance: true, locale: "en" }
    const say = (translations: object) =>
      service.get("SetHostedLoginTranslation", { ...level, translations })
    await say({ "password.title": "Mine" })
    await page.goto(`${service.url}/ui/console/texts?text=screen.password`)
    await page.getByRole("button", { name: "Reset to default: Sign-in: password" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Reset to default" }).click()
    await closed()
    await say({ "password.label": "Theirs" })
    await page.getByRole("button", { name: "Undo", exact: true }).click()
    const read = () =>
      service.get("GetHostedLoginTranslation", { ...level, ignoreInheritance: true })
    await expect.poll(read).toMatchObject({
      translations: { password: { title: "Mine", label: "Theirs" } },
    })
  })
})
