// What three people do with an installation of their own, on a phone and on a laptop: a developer,
// a homelab user whose network has no certificates, and an administrator with a mail server. Each
// page must be usable as it stands; other tests look into the parts.
import * as openid from "openid-client"
import { TOTP } from "otpauth"
import type { Browser, Page } from "playwright-core"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { openBrowser } from "../support/browser.ts"
import { freePort, owner, type Running, run, start, temporaryFolder } from "../support/latchkey.ts"
import { type MailServerOfTests, mailServer } from "../support/mail-server.ts"
import { needs } from "../support/prerequisite.ts"
import { until } from "../support/wait.ts"
import { views, type Walker, walkerIn } from "../support/walk.ts"

const guest = "grace@example.com"
const chosen = "Correct-horse-8-battery"
const chosenAgain = "Fresh-horse-9-battery"

const setupLink = (server: Running) => /http:\S+\/setup#\S+/.exec(server.output())?.[0] ?? ""

/** From the set-up page to the first steps in the console. */
async function setsUp({ page, sees }: Walker, link: string): Promise<void> {
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

/** Creates a person in the console; answers the link that invites them. */
async function invites({ page, sees }: Walker, origin: string): Promise<string> {
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

/** Follows an invitation, and chooses a password. */
async function accepts({ page, sees }: Walker, link: string): Promise<void> {
  await page.goto(link)
  await page.getByRole("button", { name: "Continue" }).waitFor()
  await sees("invitation")
  await page.getByRole("button", { name: "Continue" }).click()
  await page.locator('[name="password"]').waitFor()
  await sees("first-password")
  await page.fill('[name="password"]', chosen)
  await page.fill('[name="repeat"]', chosen)
  await page.getByRole("button", { name: "Save and sign in" }).click()
  await page.getByRole("link", { name: "Manage your account" }).waitFor()
  await sees("signed-in")
}

/** The link to a page of a server that a mail has brought, once it has come. */
async function linkTo(page: "verify" | "password", mails: MailServerOfTests, origin: string) {
  const link = page === "verify" ? /https?:\S+\/verify\S+/ : /https?:\S+\/password\S+/
  const all = () => mails.received.flatMap(({ mail }) => link.exec(mail.text ?? "")?.[0] ?? [])
  const found = () => all().filter((each) => each.startsWith(origin))
  await until(() => found().length > 0, { what: () => `a link to ${page} at ${origin}` })
  // Of two mails people would open the wrong one.
  expect(found()).toHaveLength(1)
  return found()[0] ?? ""
}

/** Follows a link to choose another password; ends where one signs in. */
async function choosesAgain({ page, sees }: Walker, link: string): Promise<void> {
  await page.goto(link)
  await page.getByRole("button", { name: "Continue" }).waitFor()
  await sees("recovery")
  await page.getByRole("button", { name: "Continue" }).click()
  await page.locator('[name="password"]').waitFor()
  await sees("new-password")
  await page.fill('[name="password"]', chosenAgain)
  await page.fill('[name="repeat"]', chosenAgain)
  await page.press('[name="repeat"]', "Enter")
  await page.getByRole("link", { name: "Sign in" }).waitFor()
  await sees("password-changed")
  await page.getByRole("link", { name: "Sign in" }).click()
}

/** Registers an application that other people sign in to; answers what it has to know. */
async function registersShop({ page, sees }: Walker, redirectUri: string) {
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

/** Signs in to an application that uses openid-client; answers the claims of the ID token. */
async function claimsOf({ page, sees, signsIn }: Walker, client: Client, loginName: string) {
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
  await signsIn(loginName, chosen)
  await page.waitForURL(`${redirectUri}?**`)
  const end = new URL(page.url())
  return (await openid.authorizationCodeGrant(config, end, { pkceCodeVerifier })).claims()
}

/** Tries a sign-in from the page of the application; answers the ID token. */
async function triesSignIn({ page, sees }: Walker, origin: string): Promise<unknown> {
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

/** Puts a program of the home network behind the sign-in. */
async function protectsProgram({ page, sees }: Walker): Promise<void> {
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
  // A proxy has no secret to put anywhere.
  expect(await page.getByText("YOUR_CLIENT_SECRET").count()).toBe(0)
  await sees("program")
}

const sectionOf = (page: Page, name: string) =>
  page.locator("section.section", { has: page.getByRole("heading", { name, exact: true }) })

async function allowsRecoveryCodes(walker: Walker, origin: string): Promise<void> {
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

/** Adds an authenticator app on the account page, and codes for when it is lost. */
async function addsFactors({ page, sees }: Walker): Promise<void> {
  await page.getByRole("link", { name: "Manage your account" }).click()
  await page.getByRole("heading", { name: "Profile", level: 1 }).waitFor()
  await sees("profile")
  await page.goto(new URL("/ui/account/security", page.url()).href)
  // Browsers make keys only on https, wherever the link is opened.
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

/** Has mails go out by a server, after a test mail. */
async function setsUpMail({ page, sees }: Walker, origin: string, port: number): Promise<void> {
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

/** Has an invitation mailed to a person who was created just now. */
async function invitesByMail({ page, sees }: Walker): Promise<void> {
  await page.getByRole("link", { name: "Open user" }).click()
  await page.getByRole("button", { name: "Invite", exact: true }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Send by email" }).click()
  await page.getByText("is being sent").waitFor()
  await sees("invited")
}

/** Says on the password page that it is forgotten. */
async function forgets({ page, sees }: Walker, origin: string, loginName: string): Promise<void> {
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

/** Looks up in the events that a person was let in again. */
async function findsRecovery({ page, sees }: Walker): Promise<void> {
  await page.getByRole("heading", { name: "Audit log", level: 1 }).waitFor()
  const events = page.locator("main tbody tr")
  await events.filter({ hasText: "user.recovery.started" }).first().waitFor()
  await events.filter({ hasText: "user.human.password.changed" }).first().waitFor()
  await sees("events")
}

describe.runIf(needs("chromium"))("a walk", () => {
  let browser: Browser
  let server: Running
  let mails: MailServerOfTests
  let shop: ReturnType<typeof Bun.serve>
  let folder: ReturnType<typeof temporaryFolder>

  beforeAll(async () => {
    browser = await openBrowser("*.lan")
    mails = await mailServer()
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
    server = await start({ data: folder.path, port: await freePort(), args })
  })
  afterEach(async () => {
    for (const context of browser?.contexts() ?? []) await context.close()
    await server?.stop()
    folder.remove()
  })

  test.each(views)("a developer has users sign in at $width pixels", async (view) => {
    const developer = await walkerIn(browser, { name: "developer", view })
    await setsUp(developer, setupLink(server))
    const redirectUri = `http://localhost:${shop.port}/callback`
    const client = await registersShop(developer, redirectUri)
    const link = await invites(developer, server.url)
    await accepts(await walkerIn(browser, { name: "user", view }), link)
    const visitor = await walkerIn(browser, { name: "visitor", view })
    const registered = { ...client, issuer: server.url, redirectUri }
    const claims = await claimsOf(visitor, registered, guest)
    expect(claims).toMatchObject({ email: guest, name: "Grace Hopper", groups: [] })
    const shown = await triesSignIn(developer, server.url)
    expect(shown).toMatchObject({ aud: client.clientId, email: owner.email, groups: [] })
  })

  test.each(views)("a homelab user lets the family in at $width pixels", async (view) => {
    const origin = server.url.replace("localhost", "nas.lan")
    const admin = await walkerIn(browser, { name: "homelab", view })
    await setsUp(admin, setupLink(server).replace(server.url, origin))
    await protectsProgram(admin)
    await allowsRecoveryCodes(admin, origin)
    const link = await invites(admin, origin)
    expect(new URL(link).origin).toBe(origin)
    const family = await walkerIn(browser, { name: "family", view })
    await accepts(family, link)
    await addsFactors(family)
  })

  test.each(views)("an administrator recovers accounts at $width pixels", async (view) => {
    const admin = await walkerIn(browser, { name: "admin", view })
    await setsUp(admin, setupLink(server))
    await setsUpMail(admin, server.url, mails.port)
    await invites(admin, server.url)
    await invitesByMail(admin)
    const invited = await walkerIn(browser, { name: "invited", view })
    const invitation = await linkTo("verify", mails, server.url)
    expect(new URL(invitation).searchParams.get("invite")).toBe("true")
    await accepts(invited, invitation)

    const forgetful = await walkerIn(browser, { name: "forgetful", view })
    await forgets(forgetful, server.url, guest)
    await choosesAgain(forgetful, await linkTo("password", mails, server.url))
    await forgetful.signsIn(guest, chosenAgain)
    await forgetful.page.getByRole("link", { name: "Manage your account" }).waitFor()
    await forgetful.sees("signed-in-again")

    const { code, output } = await run(["admin", "recover", "--data", folder.path, "--json"])
    expect(code, output).toBe(0)
    const recovered = await walkerIn(browser, { name: "recovered", view })
    await choosesAgain(recovered, JSON.parse(output).link)
    await recovered.page.goto(`${server.url}/ui/console/events`)
    await recovered.signsIn(owner.loginName, chosenAgain)
    await findsRecovery(recovered)
  })
})
