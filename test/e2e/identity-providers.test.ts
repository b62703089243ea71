// Identity providers from setup by an administrator to sign-in, with servers of other projects.
import type { Browser, BrowserContext, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { humanInput, openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { owner } from "../support/latchkey.ts"
import { type OidcPeer, startOidcPeer } from "../support/oidc-peer.ts"
import { needs } from "../support/prerequisite.ts"
import { type SamlPeer, startSamlPeer } from "../support/saml-peer.ts"
import { admin, base, type Slapd, startSlapd } from "../support/slapd.ts"

const password = "Correct-horse-8-battery"

describe.runIf(needs("chromium"))("users with an account at another provider", () => {
  let service: Service
  let peer: OidcPeer
  let browser: Browser
  let page: Page
  const contexts: BrowserContext[] = []
  const complaints: string[] = []

  beforeAll(async () => {
    service = await openService(["--outbound-allow", "127.0.0.1,::1,localhost"])
    peer = await startOidcPeer([`${service.url}/idps/callback`])
    browser = await openBrowser()
    page = await newPage()
    await page.goto(`${service.url}/ui/console/identity-providers`)
    await page.fill('[name="loginName"]', owner.loginName)
    await page.click('button[type="submit"]')
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
    await page.getByRole("heading", { name: "Identity providers", level: 1 }).waitFor()
  })
  afterAll(async () => {
    await browser?.close()
    await peer?.stop()
    await service?.close()
  })

  async function newPage(locale = "en"): Promise<Page> {
    const context = await browser.newContext({ locale })
    contexts.push(context)
    const opened = await context.newPage()
    opened.setDefaultTimeout(60_000)
    opened.on("pageerror", (error) => complaints.push(error.message))
    return opened
  }

  const dialog = () => page.getByRole("dialog")
  const closed = () => dialog().waitFor({ state: "detached" })
  // The history below lists the names as well.
  const row = (name: string) =>
    page
      .locator("main.content tbody tr")
      .filter({ has: page.getByRole("button", { name: `Remove: ${name}` }) })
  const named = (name: string) => dialog().locator(`[name="${name}"]`)
  const field = (name: string) => dialog().getByLabel(name, { exact: true })
  /** A provider creates no accounts until an administrator turns that on. */
  const letNewPeopleIn = async () => {
    expect(await dialog().getByLabel("Allow account creation").isChecked()).toBe(false)
    expect(await dialog().getByLabel("Allowed email domains").count()).toBe(0)
    await dialog().getByLabel("Allow account creation").check()
    await dialog()
      .getByLabel(/^Create accounts automatically/)
      .check()
    await dialog().getByLabel("Allowed email domains").waitFor()
  }

  const ada = {
    sub: "ada-1",
    preferred_username: "ada",
    given_name: "Ada",
    family_name: "Lovelace",
    name: "Ada Lovelace",
    email: "ada@peer.example",
    email_verified: true,
  }

  test("an administrator adds a provider, and copies the callback URL", async () => {
    await page.getByRole("button", { name: "Add identity provider" }).click()
    await dialog().getByText(`${service.url}/idps/callback`).waitFor()
    await field("Name").fill("Peer")
    await field("Issuer").fill("ftp://nowhere")
    await field("Client ID").fill("client")
    await field("Client secret").fill("s3cret")
    await dialog().getByRole("button", { name: "Save" }).click()
    await dialog().getByRole("alert").getByText("Must be a URL that begins with https://").waitFor()
    await field("Issuer").fill(peer.issuer)
    await letNewPeopleIn()
    await dialog().getByText("list the allowed email domains").waitFor()
    await dialog().getByRole("button", { name: "Save" }).click()
    await closed()
    await row("Peer").getByText("Inactive").waitFor()
  })

  test("tests it, and sees the claims and what is missing", async () => {
    const { family_name: _, ...short } = ada
    await peer.set({ person: short })
    await row("Peer").getByRole("button", { name: "Test: Peer" }).click()
    await dialog().getByText("The provider doesn't return: Last name.").waitFor()
    await dialog().getByText("ada@peer.example (verified)").waitFor()
    await dialog().getByText('"preferred_username": "ada"').waitFor()
    await dialog().getByRole("button", { name: "Close" }).click()
    await closed()
    expect(page.url()).not.toContain("token")
    // The peer keeps its own session.
    await page.context().clearCookies({ name: /^_session/ })
    await peer.set({ person: ada, lie: { cancel: true } })
    await row("Peer").getByRole("button", { name: "Test: Peer" }).click()
    await dialog().getByText("The sign-in was canceled at the provider").waitFor()
    await dialog().getByRole("button", { name: "Close" }).click()
    await closed()
  })

  test("activates it, and changes it without entering the secret again", async () => {
    await row("Peer").getByRole("button", { name: "Activate" }).click()
    await row("Peer").getByText("Active", { exact: true }).waitFor()
    await row("Peer").getByRole("button", { name: "Edit: Peer" }).click()
    await field("Name").fill("Our peer")
    await dialog().getByRole("button", { name: "Save" }).click()
    await closed()
    await row("Our peer").waitFor()
  })

  /** The first page in a new browser, with the provider selected. */
  async function choose(name = "Our peer"): Promise<Page> {
    const own = await newPage()
    await own.goto(`${service.url}/ui/account`)
    await own.getByRole("link", { name: `Sign in with ${name}` }).click()
    return own
  }

  const dora = { ...ada, sub: "dora-1", preferred_username: "dora", email: "dora@peer.example" }

  async function chooseAs(person: typeof ada): Promise<Page> {
    await peer.set({ person })
    return choose()
  }

  async function newPerson(username: string, email: string, more: object = {}): Promise<string> {
    const organizationId = (await service.get("ListOrganizations")).result[0].id
    const human = { ...humanInput(username), email: { email, isVerified: true }, ...more }
    const { id } = await service.get("CreateUser", { organizationId, username, human })
    return id
  }

  const heading = (own: Page, name: string) =>
    own.getByRole("heading", { name, level: 1 }).waitFor()

  test("a new user signs in and gets an account", async () => {
    await peer.set({ person: ada })
    const own = await choose()
    await heading(own, "Profile")
    expect(await own.getByText("Ada Lovelace").first().isVisible()).toBe(true)
  })

  test("a new user with an incomplete profile enters the rest", async () => {
    const { family_name: _, ...short } = ada
    const bea = { sub: "bea-1", preferred_username: "bea", email: "bea@peer.example" }
    await peer.set({ person: { ...short, ...bea } })
    const own = await choose()
    await heading(own, "One more step")
    await own.getByLabel("Last name").fill("Byron")
    await own.getByRole("button", { name: "Create account" }).click()
    await heading(own, "Profile")
  })

  test("an existing user proves the account once, and is linked", async () => {
    const organizationId = (await service.get("ListOrganizations")).result[0].id
    const human = { ...humanInput("carl"), password: { password } }
    await service.get("CreateUser", { organizationId, username: "carl", human })
    const person = { ...ada, sub: "carl-1", preferred_username: "carl", email: "c@peer.example" }
    await peer.set({ person })
    const own = await choose()
    await heading(own, "One more step")
    const link = own.locator("form").filter({ hasText: "Link my account" })
    await link.getByLabel("Login name").fill("carl")
    await link.getByLabel("Password").fill(password)
    await link.getByRole("button", { name: "Link my account" }).click()
    await heading(own, "Profile")
    await heading(await choose(), "Profile")
  })

  test("a user whose address both sides have verified is linked, and unlinks", async () => {
    await row("Our peer").getByRole("button", { name: "Edit: Our peer" }).click()
    await dialog().getByLabel("Update profile on sign-in").check()
    await dialog().getByLabel("Trusted for addresses").check()
    // The peer states no authentication time; without this, unlinking requires a password.
    await dialog().getByLabel("Accept as a fresh sign-in").check()
    await dialog().getByLabel("Match existing accounts by").selectOption({ label: "Email address" })
    await dialog().getByRole("button", { name: "Save" }).click()
    await closed()
    await newPerson("dora", "dora@peer.example", { password: { password } })
    await peer.set({ person: dora })
    const own = await choose()
    await heading(own, "Profile")
    expect(await own.getByText("dora", { exact: true }).count()).toBeGreaterThan(0)
    await own.goto(`${service.url}/ui/account/security`)
    const linked = own.locator("section").filter({ hasText: "Linked accounts" })
    await linked.getByText("Our peer: dora").waitFor()
    await linked.getByRole("button", { name: "Unlink" }).click()
    await own.getByRole("dialog").getByRole("button", { name: "Unlink" }).click()
    // Claims that the provider verified are no longer verified after the unlinking.
    await own.fill('[name="loginName"]', "dora")
    await own.click('button[type="submit"]')
    await own.fill('[name="password"]', password)
    await own.click('button[type="submit"]')
    await heading(own, "Security")
    expect(await linked.getByText("Our peer: dora").count()).toBe(0)
    await linked.getByRole("button", { name: "Link: Our peer" }).waitFor()
  })

  /** A signed-in user on the security page, which lists their sign-in methods. */
  async function atSecurity(name: string): Promise<Page> {
    await newPerson(name, `${name}@here.example`, { password: { password } })
    const own = await newPage()
    await own.goto(`${service.url}/ui/account/security`)
    await own.fill('[name="loginName"]', name)
    await own.click('button[type="submit"]')
    await own.fill('[name="password"]', password)
    await own.click('button[type="submit"]')
    await heading(own, "Security")
    return own
  }

  const linkedIn = (own: Page) => own.locator("section").filter({ hasText: "Linked accounts" })
  const press = (own: Page, name: string) => own.getByRole("button", { name, exact: true }).click()

  test("a user links an account on the account page, and signs in with it", async () => {
    const hugo = { ...ada, sub: "hugo-1", preferred_username: "hugo", email: "hugo@peer.example" }
    const own = await atSecurity("hugo")
    await peer.set({ person: hugo })
    await press(own, "Link: Our peer")
    await heading(own, "Link this account?")
    await own.getByText("Our peer identified you as hugo@peer.example").waitFor()
    await press(own, "Link")
    await heading(own, "Security")
    await linkedIn(own).getByText("Our peer: hugo").waitFor()
    const again = own.getByRole("button", { name: "Link: Our peer", exact: true })
    expect(await again.count()).toBe(0)
    await heading(await choose(), "Profile")
  })

  test("a user can't link an account of another user, and sees why", async () => {
    const own = await atSecurity("iris")
    await peer.set({ person: { ...ada, sub: "hugo-1", email: "hugo@peer.example" } })
    await press(own, "Link: Our peer")
    await heading(own, "This account is already linked")
    await own.goto(`${service.url}/ui/account/security`)
    await own.getByRole("button", { name: "Link: Our peer" }).waitFor()
  })

  test.each([
    [
      "en",
      "jan",
      "Unlink",
      "This is your only way to sign in. Set a password or add a passkey first.",
    ],
    ["de", "jo", "Trennen", "Du meldest dich nur hiermit an."],
  ])("a user can't unlink their only sign-in method, and sees why (%s)", async (...row) => {
    const [locale, name, unlink, why] = row
    const email = `${name}@peer.example`
    await peer.set({ person: { ...ada, sub: `${name}-1`, preferred_username: name, email } })
    const own = await newPage(locale)
    await own.goto(`${service.url}/ui/account/security`)
    await own.getByRole("link", { name: "Our peer" }).click()
    await press(own, `${unlink}: Our peer: ${name}`)
    await own.getByRole("dialog").getByRole("button", { name: unlink }).click()
    await own.getByRole("alert").getByText(why).waitFor()
  })

  test("a changed address at the provider is updated here", async () => {
    await heading(await chooseAs(dora), "Profile")
    const own = await chooseAs({ ...dora, email: "new@peer.example" })
    await heading(own, "Profile")
    await own.getByText("new@peer.example").first().waitFor()
  })

  test("a locked user sees the reason, and is not signed in", async () => {
    await service.get("LockUser", { userId: await newPerson("finn", "finn@peer.example") })
    const person = { ...dora, sub: "finn-1", preferred_username: "finn" }
    const own = await chooseAs({ ...person, email: "finn@peer.example" })
    await own.getByText("Your account is locked").waitFor()
  })

  test("a user whose address is ambiguous chooses the account", async () => {
    await newPerson("gail", "shared@peer.example")
    await newPerson("gwen", "shared@peer.example")
    const person = { ...dora, sub: "gail-1", preferred_username: "gail" }
    await heading(await chooseAs({ ...person, email: "shared@peer.example" }), "One more step")
  })

  test("a user who cancels, or whose provider is down, sees a page about it", async () => {
    await peer.set({ person: ada, lie: { cancel: true } })
    await heading(await choose(), "Sign-in canceled")
    await peer.set({ person: ada, lie: { "/token": "huge" } })
    await heading(await choose(), "The other service is unavailable")
  })

  describe.runIf(needs("slapd"))("in a directory", () => {
    let slapd: Slapd
    beforeAll(async () => {
      const eve = { uid: "eve", cn: "Eve Ning", sn: "Ning", givenName: "Eve" }
      const finn = { uid: "finn", cn: "Finn Ning", sn: "Ning", givenName: "Finn" }
      slapd = await startSlapd([
        { ...eve, mail: "eve@peer.example", userPassword: "Eve-secret-1" },
        { ...finn, mail: "finn@staff.example", userPassword: "Finn-secret-1" },
      ])
    })
    afterAll(() => slapd?.stop())

    test("are tested by an administrator, and sign in by name and password", async () => {
      await page.getByRole("button", { name: "Add identity provider" }).click()
      await dialog().getByLabel("Type").selectOption("Directory (LDAP)")
      await field("Name").fill("Staff")
      await field("Servers").fill(`ldap://localhost:1\nldap://localhost:${slapd.port}`)
      await field("Base DN").fill(base)
      await field("Bind DN").fill(admin.dn)
      await field("Bind password").fill(admin.password)
      await letNewPeopleIn()
      await dialog().getByRole("button", { name: "Save" }).click()
      await closed()
      await row("Staff").getByRole("button", { name: "Test: Staff" }).click()
      await field("User name").fill("eve")
      await field("Password").fill("wrong")
      await dialog().getByRole("button", { name: "Test", exact: true }).click()
      await dialog().getByRole("alert").waitFor()
      await field("Password").fill("Eve-secret-1")
      await dialog().getByRole("button", { name: "Test", exact: true }).click()
      await dialog().getByText("The provider returns all data that an account needs.").waitFor()
      await dialog().getByText("eve@peer.example (not verified)").waitFor()
      await dialog().getByRole("button", { name: "Close" }).click()
      await closed()
      await row("Staff").getByRole("button", { name: "Activate" }).click()
      await row("Staff").getByText("Active", { exact: true }).waitFor()
      const own = await choose("Staff")
      await heading(own, "Sign in with Staff")
      await own.getByLabel("User name").fill("eve")
      await own.getByLabel("Password").fill("wrong")
      await own.getByRole("button", { name: "Sign in", exact: true }).click()
      await own.getByText("Staff rejected this user name or password").waitFor()
      await own.getByLabel("Password").fill("Eve-secret-1")
      await own.getByRole("button", { name: "Sign in", exact: true }).click()
      await heading(own, "Profile")
    })

    test("can be linked by a signed-in user, with the name and password there", async () => {
      const own = await atSecurity("kim")
      await press(own, "Link: Staff")
      await heading(own, "Sign in with Staff")
      await own.getByLabel("User name").fill("finn")
      await own.getByLabel("Password").fill("Finn-secret-1")
      await press(own, "Sign in")
      await heading(own, "Link this account?")
      await press(own, "Link")
      await linkedIn(own).getByText("Staff: finn").waitFor()
    })
  })

  describe("at a SAML provider", () => {
    let saml: SamlPeer
    beforeAll(async () => {
      saml = await startSamlPeer()
    })
    afterAll(() => saml?.stop())

    test("are set up by the metadata URL, and tested", async () => {
      await page.getByRole("button", { name: "Add identity provider" }).click()
      await dialog().getByLabel("Type").selectOption("SAML")
      await dialog().getByText("is shown here after you save").waitFor()
      await field("Name").fill("Campus")
      await named("metadataXml").fill("no metadata")
      await dialog().getByRole("button", { name: "Save" }).click()
      await dialog().getByRole("alert").getByText("Can't be used").waitFor()
      await named("metadataUrl").fill(saml.metadataUrl)
      await dialog().getByLabel("Federated logout").check()
      await letNewPeopleIn()
      await dialog().getByRole("button", { name: "Save" }).click()
      await closed()
      await row("Campus").getByRole("button", { name: "Edit: Campus" }).click()
      await dialog()
        .getByText(/\/idps\/\d+\/saml\/acs/)
        .waitFor()
      expect(await named("metadataXml").inputValue()).toContain("EntityDescriptor")
      await dialog().getByRole("button", { name: "Save" }).click()
      await closed()
      await row("Campus").getByRole("button", { name: "Test: Campus" }).click()
      await dialog().getByText("The provider returns all data that an account needs.").waitFor()
      await dialog().getByText("ada@example.com (not verified)").waitFor()
      await dialog().getByRole("button", { name: "Close" }).click()
      await closed()
    })

    test("sign in, and out on both sides", async () => {
      await row("Campus").getByRole("button", { name: "Activate" }).click()
      await row("Campus").getByText("Active", { exact: true }).waitFor()
      const attributes = { FirstName: "Sam", SurName: "Lee", Email: "sam@campus.example" }
      saml.setUser({ nameId: "sam-1", attributes: { ...attributes, UserName: "sam" } })
      const own = await choose("Campus")
      await heading(own, "Profile")
      expect(await own.getByText("Sam Lee").first().isVisible()).toBe(true)
      const passed: string[] = []
      own.on("request", (request) => passed.push(new URL(request.url()).pathname))
      await own.goto(`${service.url}/oidc/v1/end_session`)
      await own.locator('form button[type="submit"]').first().click()
      await own.waitForURL(/signedout/)
      expect(passed).toContain("/slo")
      expect(passed.some((path) => path.endsWith("/saml/slo"))).toBe(true)
    })

    test("can be linked by a signed-in user", async () => {
      saml.setUser({
        nameId: "lea-1",
        attributes: { UserName: "lea", Email: "lea@campus.example" },
      })
      const own = await atSecurity("lea")
      await press(own, "Link: Campus")
      await heading(own, "Link this account?")
      await press(own, "Link")
      await linkedIn(own).getByText("Campus: lea").waitFor()
    })

    test("continue after the certificate is renewed", async () => {
      await row("Campus").getByRole("button", { name: "New certificate: Campus" }).click()
      await dialog().getByRole("button", { name: "New certificate" }).click()
      await closed()
    })
  })

  test("a removed provider is no longer offered", async () => {
    await row("Our peer").getByRole("button", { name: "Remove: Our peer" }).click()
    await dialog().getByRole("button", { name: "Remove", exact: true }).click()
    await closed()
    const own = await newPage()
    await own.goto(`${service.url}/ui/account`)
    await own.getByRole("heading", { level: 1 }).waitFor()
    expect(await own.getByRole("link", { name: "Our peer" }).count()).toBe(0)
    expect(complaints).toEqual([])
  })
})
