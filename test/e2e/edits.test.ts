// Concurrent edits: another administrator changes what an open form shows.
import type { Browser, BrowserContext, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { findViolations } from "../support/axe.ts"
import { openBrowser } from "../support/browser.ts"
import { openSignedIn } from "../support/console-pages.ts"
import { needs } from "../support/prerequisite.ts"

const sms = "SECOND_FACTOR_TYPE_OTP_SMS"
const key = "SECOND_FACTOR_TYPE_U2F"

describe.runIf(needs("chromium"))(
  "an administrator who edits concurrently with another one",
  () => {
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
      page = await openSignedIn(context, `${service.url}/ui/console/projects`)
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

    test("keeps the other's value, and sends only their own changes", async () => {
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

    test("decides each field, and saving continues after the last decision", async () => {
      await openRole()
      await field("displayName").fill("Mine")
      await field("group").fill("Mine")
      await changeRole({ displayName: "Also theirs", group: "Theirs" })
      await saving()
      await conflict().nth(1).waitFor()
      // The conflict is announced, and the first decision has the focus.
      await page.getByRole("alert").filter({ hasText: "Nothing is saved yet" }).waitFor()
      expect(await page.evaluate("document.activeElement?.className")).toBe("conflict")
      await page.getByRole("button", { name: "Take theirs: Display name" }).click()
      expect(await role()).toMatchObject({ displayName: "Also theirs", group: "Theirs" })
      await page.getByRole("button", { name: "Keep mine: Group" }).click()
      await closed()
      expect(await role()).toMatchObject({ displayName: "Also theirs", group: "Mine" })
    })

    test("sees an accessible conflict notice, on a phone, in dark mode and in German", async () => {
      await openRole()
      await field("displayName").fill("Mine")
      await changeRole({ displayName: "Theirs once more" })
      await saving()
      await conflict().waitFor()
      expect(await findViolations(page)).toEqual([])
      await page.getByRole("button", { name: "Cancel" }).click()
      await closed()
      const german = await browser.newContext({ locale: "de" })
      const seite = await openSignedIn(german, `${service.url}/ui/console/projects`)
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

    test("keeps a draft after a reload, over the current values", async () => {
      await openRole()
      await field("group").fill("Drafted")
      await changeRole({ displayName: "Changed meanwhile" })
      await page.reload()
      await page.getByText("Your earlier input was restored.").waitFor()
      expect(await field("displayName").inputValue()).toBe("Changed meanwhile")
      expect(await field("group").inputValue()).toBe("Drafted")
      expect(await conflict().count()).toBe(0)
      // The same field changes on the server: the form shows it before anything is saved.
      await changeRole({ group: "Changed, too" })
      await page.reload()
      await conflict().getByText("Changed, too").waitFor()
      await page.getByRole("button", { name: "Keep mine: Group" }).click()
      await saving()
      await closed()
      expect(await role()).toMatchObject({ displayName: "Changed meanwhile", group: "Drafted" })
    })

    test("loses a draft in the previous format, which contains all old values", async () => {
      await page.evaluate(`sessionStorage.setItem(
      "latchkey.draft /ui/console/projects/${projectId} roles:editor",
      JSON.stringify({ key: "", displayName: "Old", group: "Old" }))`)
      await openRole()
      expect(await field("group").inputValue()).toBe("Drafted")
      await page.getByRole("button", { name: "Cancel" }).click()
    })

    test("changes neighboring switches independently", async () => {
      await page.goto(`${service.url}/ui/console/projects/${projectId}`)
      const asserting = page.getByRole("checkbox", { name: "Return roles to applications" })
      await asserting.waitFor()
      await service.get("UpdateProject", { projectId, authorizationRequired: true })
      await asserting.click()
      await page
        .getByRole("checkbox", { name: "Require a role to sign in", checked: true })
        .waitFor()
      // The other administrator's value is shown before the switch is sent again.
      const both = { projectRoleAssertion: true, authorizationRequired: true }
      await expect.poll(project).toMatchObject(both)
      await page
        .getByRole("checkbox", { name: "Return roles to applications", checked: true })
        .waitFor()
      // Both change the same switch to the same value.
      await service.get("UpdateProject", { projectId, projectRoleAssertion: false })
      await asserting.click()
      await expect.poll(project).not.toHaveProperty("projectRoleAssertion")
      expect(await page.getByRole("alert").count()).toBe(0)
    })

    test("enables a switch that is sent together with another form's change", async () => {
      await page.goto(`${service.url}/ui/console/settings`)
      const impersonation = page.getByRole("checkbox", { name: "Impersonation" })
      await impersonation.waitFor()
      const allowedOrigins = ["https://portal.example.com"]
      await service.get("SetSecuritySettings", {
        embeddedIframe: { enabled: true, allowedOrigins },
      })
      await impersonation.click()
      const read = async () => (await service.get("GetSecuritySettings")).settings
      await expect.poll(read).toMatchObject({
        enableImpersonation: true,
        embeddedIframe: { enabled: true, allowedOrigins },
      })
    })

    test("confirms before a choice replaces another one", async () => {
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

    test("sees unchanged fields update when the page reloads", async () => {
      await openRole()
      await field("group").fill("Typed")
      await changeRole({ displayName: "Followed" })
      // Returning to the page reloads data older than 10 seconds.
      const shown = async () => {
        await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))")
        return field("displayName").inputValue()
      }
      await expect.poll(shown, { timeout: 30_000 }).toBe("Followed")
      expect(await field("group").inputValue()).toBe("Typed")
      await page.getByRole("button", { name: "Cancel" }).click()
    })

    test("sees the endpoint of an entered secret before it is sent", async () => {
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

    test("saves no change that they have not seen", async () => {
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

    test("does not resend a saved change that was undone since", async () => {
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

    test("undoes a reset of texts without losing later changes", async () => {
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
  },
)
