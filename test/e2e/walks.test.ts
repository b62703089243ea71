// Three typical installations, on a phone and on a laptop: a developer, a homelab user whose
// network has no certificates, and an administrator with a mail server. Each page must be
// accessible; other tests cover the details.
import * as openid from "openid-client"
import { TOTP } from "otpauth"
import type { Browser, Page } from "playwright-core"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { openBrowser } from "../support/browser.ts"
import {
  freePort,
  owner,
  type RunningServer,
  run,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { startMailServer, type TestMailServer } from "../support/mail-server.ts"
import { type PageWalk, startPageWalk, views } from "../support/page-walk.ts"
import { needs } from "../support/prerequisite.ts"
import { until } from "../support/wait.ts"

const guest = "grace@example.com"
const firstPassword = "Correct-horse-8-battery"
const secondPassword = "Fresh-horse-9-battery"

const setupLink = (server: RunningServer) => /http:\S+\/setup#\S+/.exec(server.output())?.[0] ?? ""

/** From the setup page to the first steps in the console. */
async function setUpInstance({ page, sees }: PageWalk, link: string): Promise<void> {
  await page.goto(link)
  await page.fill('[name="organization"]', "Acme")
  await sees("set-up")
  await page.fill('[name="firstName"]', "Ada")
  await page.fill('[name="lastName"]', "Lovelace")
  await page.fill('[name="email"]', owner.email)
  await page.fill('[name="loginName"]', owner.loginName)
  await page.fill('[name="password"]', owner.password)
  await page.click('button[type="submit"]')
  await page.getByRole("heading", { name: "First steps" }).waitFor()
  await sees("first-steps")
}

/** Creates a user in the console; returns the invitation link. */
async function inviteUser({ page, sees }: PageWalk, origin: string): Promise<string> {
  await page.goto(`${origin}/ui/console/users/new`)
  await page.getByLabel("First name").fill("Grace")
  await page.getByLabel("Last name").fill("Hopper")
  await page.getByLabel("Email", { exact: true }).fill(guest)
  await sees("create-user")
  await page.getByRole("button", { name: "Create user" }).click()
  const link = page.locator("main code").filter({ hasText: "/ui/login/verify" })
  await link.waitFor()
  await sees("invitation-link")
  return link.innerText()
}

/** Opens an invitation, and sets a password. */
async function acceptInvitation({ page, sees }: PageWalk, link: string): Promise<void> {
  await page.goto(link)
  await page.getByRole("button", { name: "Continue" }).waitFor()
  await sees("invitation")
  await page.getByRole("button", { name: "Continue" }).click()
  await page.locator('[name="password"]').waitFor()
  await sees("first-password")
  await page.fill('[name="password"]', firstPassword)
  await page.fill('[name="repeat"]', firstPassword)
  await page.getByRole("button", { name: "Save and sign in" }).click()
  await page.getByRole("link", { name: "Manage your account" }).waitFor()
  await sees("signed-in")
}

/** Waits for the emailed link to a page of the server. */
async function waitForLink(page: "verify" | "password", mails: TestMailServer, origin: string) {
  const link = page === "verify" ? /https?:\S+\/verify\S+/ : /https?:\S+\/password\S+/
  const all = () => mails.received.flatMap(({ mail }) => link.exec(mail.text ?? "")?.[0] ?? [])
  const found = () => all().filter((each) => each.startsWith(origin))
  await until(() => found().length > 0, { what: () => `a link to ${page} at ${origin}` })
  // With two emails, users could open the wrong one.
  expect(found()).toHaveLength(1)
  return found()[0] ?? ""
}

/** Opens a link to set a new password; ends at the sign-in. */
async function chooseNewPassword({ page, sees }: PageWalk, link: string): Promise<void> {
  await page.goto(link)
  await page.getByRole("button", { name: "Continue" }).waitFor()
  await sees("recovery")
  await page.getByRole("button", { name: "Continue" }).click()
  await page.locator('[name="password"]').waitFor()
  await sees("new-password")
  await page.fill('[name="password"]', secondPassword)
  await page.fill('[name="repeat"]', secondPassword)
  await page.press('[name="repeat"]', "Enter")
  await page.getByRole("link", { name: "Sign in" }).waitFor()
  await sees("password-changed")
  await page.getByRole("link", { name: "Sign in" }).click()
}

/** Registers an application for other users; returns its client settings. */
async function registerShop({ page, sees }: PageWalk, redirectUri: string) {
  await page.getByRole("link", { name: "Create an application" }).click()
  await page.getByLabel("Project name").fill("Intranet")
  await page.getByLabel("Name", { exact: true }).fill("Shop")
  await page.getByLabel("Redirect URIs", { exact: true }).fill(redirectUri)
  await page.getByRole("radio", { name: "Yes, in the claim groups" }).check()
  await sees("create-application")
  await page.getByRole("button", { name: "Create application" }).click()
  const clientSecret = await page.locator(".secret code").innerText()
  await sees("application-ready")
  await page.getByRole("link", { name: "Open application" }).click()
  await page.getByRole("button", { name: "Test sign-in" }).waitFor()
  await sees("application")
  const numbers = page.getByText(/^\d{18}$/)
  return { clientId: await numbers.first().innerText(), clientSecret }
}

type Client = {
  readonly issuer: string
  readonly redirectUri: string
  readonly clientId: string
  readonly clientSecret: string
}

/** Signs in to an application that uses openid-client; returns the claims of the ID token. */
async function signInForClaims(
  { page, sees, signsIn }: PageWalk,
  client: Client,
  loginName: string,
) {
  const { issuer, redirectUri, clientId, clientSecret } = client
  const auth = openid.ClientSecretBasic(clientSecret)
  const execute = [openid.allowInsecureRequests]
  const config = await openid.discovery(new URL(issuer), clientId, undefined, auth, { execute })
  const pkceCodeVerifier = openid.randomPKCECodeVerifier()
  const request = openid.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: "openid profile email groups",
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: "S256",
  })
  await page.goto(request.href)
  await page.locator('[name="loginName"]').waitFor()
  await sees("sign-in")
  await signsIn(loginName, firstPassword)
  await page.waitForURL(`${redirectUri}?**`)
  const end = new URL(page.url())
  return (await openid.authorizationCodeGrant(config, end, { pkceCodeVerifier })).claims()
}

/** Runs a test sign-in from the application's page; returns the ID token. */
async function runTestSignIn({ page, sees }: PageWalk, origin: string): Promise<unknown> {
  await page.goto(`${origin}/ui/console/applications`)
  await page.getByRole("link", { name: "Shop" }).click()
  await page.getByRole("button", { name: "Test sign-in" }).click()
  await page.getByText("The sign-in works").waitFor()
  await sees("test-sign-in")
  const idToken: unknown = JSON.parse(await page.locator("pre.snippet").first().innerText())
  await page.getByRole("link", { name: "Back to the application" }).click()
  await page.getByRole("heading", { name: "Shop", level: 1 }).waitFor()
  await page.goto(`${origin}/ui/console/`)
  const done = page.locator(".step-done", { hasText: "Sign in to the application once" })
  await done.waitFor()
  await sees("steps-done")
  return idToken
}

/** Puts a program of the home network behind forward authentication. */
async function protectProgram({ page, sees }: PageWalk): Promise<void> {
  await page.getByRole("link", { name: "Create an application" }).click()
  await page.getByLabel("Project name").fill("Home")
  await page.getByLabel("Name", { exact: true }).fill("Movies")
  const redirectUri = "http://movies.lan/.latchkey/callback"
  await page.getByLabel("Redirect URIs", { exact: true }).fill(redirectUri)
  await page.getByLabel("Plain http on private networks").check()
  await sees("create-program")
  await page.getByRole("button", { name: "Create application" }).click()
  await page.getByRole("link", { name: "Open application" }).waitFor()
  expect(await page.locator(".secret").count()).toBe(0)
  await sees("program-ready")
  await page.getByRole("link", { name: "Open application" }).click()
  await page.getByRole("heading", { name: "Forward auth access rules" }).waitFor()
  await page.locator("pre.snippet").first().waitFor()
  // A proxy needs no client secret.
  expect(await page.getByText("YOUR_CLIENT_SECRET").count()).toBe(0)
  await sees("program")
}

const sectionOf = (page: Page, name: string) =>
  page.locator("section.section", { has: page.getByRole("heading", { name, exact: true }) })

async function allowRecoveryCodes(walker: PageWalk, origin: string): Promise<void> {
  const { page, sees } = walker
  await page.goto(`${origin}/ui/console/settings`)
  const part = sectionOf(page, "Login policy")
  await part.getByRole("button", { name: "Edit" }).click()
  const codes = part.getByLabel("Recovery codes", { exact: true })
  await codes.check()
  await sees("sign-in-settings")
  await part.getByRole("button", { name: "Save" }).click()
  await part.getByRole("button", { name: "Edit" }).waitFor()
}

/** Adds an authenticator app and recovery codes on the account page. */
async function addFactors({ page, sees }: PageWalk): Promise<void> {
  await page.getByRole("link", { name: "Manage your account" }).click()
  await page.getByRole("heading", { name: "Profile", level: 1 }).waitFor()
  await sees("profile")
  await page.goto(new URL("/ui/account/security", page.url()).href)
  // Browsers create passkeys only over https, wherever the link is opened.
  await page
    .getByText("Browsers create passkeys and security keys only on https addresses")
    .first()
    .waitFor()
  await page.getByRole("heading", { name: "Passkeys", exact: true }).waitFor()
  expect(await page.getByRole("button", { name: "Add on another device" }).count()).toBe(0)
  await page.getByRole("button", { name: "Set up: Authenticator app" }).click()
  const dialog = page.getByRole("dialog")
  const secret = (await dialog.locator("code").innerText()).replaceAll(" ", "")
  await sees("authenticator-app")
  await dialog.locator('[name="code"]').fill(new TOTP({ secret }).generate())
  await dialog.getByRole("button", { name: "Verify" }).click()
  await page.getByRole("button", { name: "Remove: Authenticator app" }).waitFor()
  const codes = sectionOf(page, "Recovery codes")
  await codes.getByRole("button").first().click()
  const shown = async () => (await codes.locator("pre").innerText()).trim().split("\n").length
  await expect.poll(shown).toBeGreaterThanOrEqual(8)
  await sees("recovery-codes")
}

/** Sets up a mail server, with a test email. */
async function setUpMail({ page, sees }: PageWalk, origin: string, port: number): Promise<void> {
  await page.goto(`${origin}/ui/console/providers`)
  await page.getByRole("button", { name: "Add email provider" }).click()
  const dialog = page.getByRole("dialog")
  await dialog.getByLabel("Description").fill("Our server")
  await dialog.getByLabel("Server", { exact: true }).fill(`127.0.0.1:${port}`)
  await dialog.getByLabel("Require TLS").uncheck()
  await dialog.getByLabel("Sender address").fill("accounts@example.org")
  await dialog.getByLabel("Sender name").fill("Acme")
  await dialog.getByLabel("Authentication").selectOption("None")
  await sees("mail-form")
  await dialog.getByRole("button", { name: "Save" }).click()
  await dialog.waitFor({ state: "detached" })
  await page.getByRole("button", { name: "Test: Our server" }).click()
  await dialog.getByRole("button", { name: "Send test mail" }).click()
  await dialog.getByText("Message accepted").waitFor()
  await sees("mail-test")
  await dialog.getByRole("button", { name: "Cancel" }).click()
  await page.getByRole("button", { name: "Activate" }).click()
  await page.getByRole("button", { name: "Deactivate: Our server" }).waitFor()
  await sees("mail-provider")
}

/** Emails an invitation to a user who was just created. */
async function inviteByEmail({ page, sees }: PageWalk): Promise<void> {
  await page.getByRole("link", { name: "Open user" }).click()
  await page.getByRole("button", { name: "Invite", exact: true }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Send by email" }).click()
  await page.getByText("is being sent").waitFor()
  await sees("invited")
}

/** Requests a password reset on the password page. */
async function requestPasswordReset(
  { page, sees }: PageWalk,
  origin: string,
  loginName: string,
): Promise<void> {
  await page.goto(`${origin}/ui/login`)
  await page.fill('[name="loginName"]', loginName)
  await page.press('[name="loginName"]', "Enter")
  await page.getByRole("link", { name: "Forgot password?" }).click()
  await page.getByRole("button", { name: "Send link" }).waitFor()
  await sees("forgotten")
  await page.getByRole("button", { name: "Send link" }).click()
  await page.getByRole("button", { name: "Send link" }).waitFor({ state: "detached" })
  await sees("mail-sent")
}

/** Finds the password reset in the audit log. */
async function findRecoveryEvent({ page, sees }: PageWalk): Promise<void> {
  await page.getByRole("heading", { name: "Audit log", level: 1 }).waitFor()
  const events = page.locator("main tbody tr")
  await events.filter({ hasText: "user.recovery.started" }).first().waitFor()
  await events.filter({ hasText: "user.human.password.changed" }).first().waitFor()
  await sees("events")
}

describe.runIf(needs("chromium"))("a complete installation", () => {
  let browser: Browser
  let server: RunningServer
  let mails: TestMailServer
  let shop: ReturnType<typeof Bun.serve>
  let folder: ReturnType<typeof temporaryFolder>

  beforeAll(async () => {
    browser = await openBrowser("*.lan")
    mails = await startMailServer()
    const headers = { "content-type": "text/html" }
    const fetch = () => new Response("<!doctype html><title>Shop</title>", { headers })
    shop = Bun.serve({ port: 0, hostname: "localhost", fetch })
  })
  afterAll(async () => {
    await browser?.close()
    await mails?.close()
    await shop?.stop(true)
  })
  beforeEach(async () => {
    folder = temporaryFolder()
    const args = ["--outbound-allow", "127.0.0.1"]
    server = await startLatchkey({ data: folder.path, port: await freePort(), args })
  })
  afterEach(async () => {
    for (const context of browser?.contexts() ?? []) await context.close()
    await server?.stop()
    folder.remove()
  })

  test.each(views)("a developer has users sign in at $width pixels", async (view) => {
    const developer = await startPageWalk(browser, { name: "developer", view })
    await setUpInstance(developer, setupLink(server))
    const redirectUri = `http://localhost:${shop.port}/callback`
    const client = await registerShop(developer, redirectUri)
    const link = await inviteUser(developer, server.url)
    await acceptInvitation(await startPageWalk(browser, { name: "user", view }), link)
    const visitor = await startPageWalk(browser, { name: "visitor", view })
    const registered = { ...client, issuer: server.url, redirectUri }
    const claims = await signInForClaims(visitor, registered, guest)
    expect(claims).toMatchObject({ email: guest, name: "Grace Hopper", groups: [] })
    const shown = await runTestSignIn(developer, server.url)
    expect(shown).toMatchObject({ aud: client.clientId, email: owner.email, groups: [] })
  })

  test.each(views)("a homelab user signs the family in at $width pixels", async (view) => {
    const origin = server.url.replace("localhost", "nas.lan")
    const admin = await startPageWalk(browser, { name: "homelab", view })
    await setUpInstance(admin, setupLink(server).replace(server.url, origin))
    await protectProgram(admin)
    await allowRecoveryCodes(admin, origin)
    const link = await inviteUser(admin, origin)
    expect(new URL(link).origin).toBe(origin)
    const family = await startPageWalk(browser, { name: "family", view })
    await acceptInvitation(family, link)
    await addFactors(family)
  })

  test.each(views)("an administrator recovers accounts at $width pixels", async (view) => {
    const admin = await startPageWalk(browser, { name: "admin", view })
    await setUpInstance(admin, setupLink(server))
    await setUpMail(admin, server.url, mails.port)
    await inviteUser(admin, server.url)
    await inviteByEmail(admin)
    const invited = await startPageWalk(browser, { name: "invited", view })
    const invitation = await waitForLink("verify", mails, server.url)
    expect(new URL(invitation).searchParams.get("invite")).toBe("true")
    await acceptInvitation(invited, invitation)

    const forgetful = await startPageWalk(browser, { name: "forgetful", view })
    await requestPasswordReset(forgetful, server.url, guest)
    await chooseNewPassword(forgetful, await waitForLink("password", mails, server.url))
    await forgetful.signsIn(guest, secondPassword)
    await forgetful.page.getByRole("link", { name: "Manage your account" }).waitFor()
    await forgetful.sees("signed-in-again")

    const { code, output } = await run(["admin", "recover", "--data", folder.path, "--json"])
    expect(code, output).toBe(0)
    const recovered = await startPageWalk(browser, { name: "recovered", view })
    await chooseNewPassword(recovered, JSON.parse(output).link)
    await recovered.page.goto(`${server.url}/ui/console/events`)
    await recovered.signsIn(owner.loginName, secondPassword)
    await findRecoveryEvent(recovered)
  })
})
