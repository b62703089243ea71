// The pages of each step show the login texts of the corresponding v1 block.
import { TOTP } from "otpauth"
import { afterEach, beforeEach, expect, test } from "vitest"
import { createPassword, setPassword } from "../../src/domain/credential/commands.ts"
import { createIdp, linkIdp } from "../../src/domain/idp/commands.ts"
import { addPolicy } from "../../src/domain/policy/commands.ts"
import { type Login, login } from "../../src/domain/policy/index.ts"
import { putText } from "../../src/domain/text/commands.ts"
import { fieldTemplate } from "../../src/domain/text/login-templates.ts"
import {
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
  password,
  responseOf,
} from "../oauth/provider.ts"
import { openUpstream, upstreamIssuer } from "../support/upstream.ts"

let provider: Provider
let client: NewClient
let id: string
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  id = await provider.addPerson("nina")
})
afterEach(() => provider.close())

const path = () => authorizePath(client.id)
const setTexts = (texts: Record<string, string>) =>
  putText(provider.cx(), undefined, { template: fieldTemplate, language: "en" }, texts)
const setLoginPolicy = (values: Partial<Login>) =>
  addPolicy(provider.cx(), undefined, { policy: login, apply: () => values })

/** The target of the only button of a page. */
const buttonTarget = (page: string) =>
  (/<a href="([^"]*)" class="button/.exec(page)?.[1] ?? "/none").replaceAll("&amp;", "&")

test("registrationUserText is shown during registration, and not at the sign-in", async () => {
  await setLoginPolicy({ allowRegister: true })
  await setTexts({
    "registrationUserText.title": "Join us",
    "registrationUserText.nextButtonText": "Send me the code",
  })
  const browser = browserOf(provider)
  const first = await browser.go(path())
  expect(first.page).toContain(">Continue</button>")
  expect(first.page).toContain("Create account</a>")
  const href = /href="([^"]*register[^"]*)"/.exec(first.page)?.[1] ?? "/none"
  const { page } = await browser.go(href.replaceAll("&amp;", "&"))
  expect(page).toContain("<h1>Join us</h1>")
  expect(page).toContain(">Send me the code</button>")
})

test("initMfaOtpText, initMfaDoneText and verifyMfaOtpText are shown for the app", async () => {
  await setLoginPolicy({ forceMfa: true })
  await setTexts({
    "initMfaPromptText.title": "One more lock",
    "initMfaOtpText.codeLabel": "Six digits",
    "initMfaDoneText.title": "Locked twice",
    "verifyMfaOtpText.title": "Show your app",
  })
  const browser = browserOf(provider)
  const choice = await browser.signIn(path(), "nina")
  expect(choice.page).toContain("<h1>One more lock</h1>")
  const setUp = await browser.post(choice, { factor: "otp" })
  expect(setUp.page).toContain("Six digits")
  const [, key = ""] = /<code>([A-Z2-7 ]+)<\/code>/.exec(setUp.page) ?? []
  const app = new TOTP({ secret: key.replaceAll(" ", "") })
  const code = () => app.generate({ timestamp: provider.clock.now() })
  const done = await browser.post(setUp, { code: code() })
  expect(done.page).toContain("<h1>Locked twice</h1>")
  expect(responseOf(await browser.go(buttonTarget(done.page)))).toHaveProperty("code")
  provider.clock.advance(60_000)
  const other = browserOf(provider)
  const asked = await other.signIn(path(), "nina")
  expect(asked.page).toContain("<h1>Show your app</h1>")
  expect(responseOf(await other.post(asked, { code: code() }))).toHaveProperty("code")
})

test("passwordChangeDoneText is a separate page if it was customized", async () => {
  const given = "Given-Horse-8"
  const replace = async (next: string) => {
    await setPassword(
      provider.cx(),
      id,
      await createPassword(given, { names: [], changeRequired: true }),
    )
    const browser = browserOf(provider)
    const asked = await browser.signIn(path(), "nina", given)
    return { browser, end: await browser.post(asked, { password: next, repeat: next }) }
  }
  expect(responseOf((await replace("Own-Battery-9")).end)).toHaveProperty("code")
  await setTexts({ "passwordChangeDoneText.title": "That was it" })
  const { browser, end } = await replace("Own-Battery-10")
  expect(end.page).toContain("<h1>That was it</h1>")
  expect(responseOf(await browser.go(buttonTarget(end.page)))).toHaveProperty("code")
})

test("externalUserNotFoundText and linkingUserDoneText are shown for a provider", async () => {
  const upstream = await openUpstream()
  const { id: idpId } = await createIdp(provider.cx(), undefined, {
    name: "Acme",
    settings: {
      kind: "oidc",
      issuer: upstreamIssuer,
      clientId: "client",
      scopes: [],
      isIdTokenMapping: false,
      usePkce: true,
    },
    options: {
      isLinkingAllowed: true,
      isCreationAllowed: true,
      isAutoCreation: false,
      isAutoUpdate: false,
      autoLinking: "off",
      isTrustedForAddresses: false,
    },
    secret: "s3cret",
  })
  await linkIdp(provider.cx(), undefined, idpId)
  await setTexts({
    "externalUserNotFoundText.title": "Who are you?",
    "externalRegistrationUserOverviewText.nextButtonText": "Make me one",
    "linkingUserDoneText.title": "Now you are one",
  })
  const browser = browserOf({
    send: (to, init) => provider.send(to, init, { outside: upstream.outside }),
  })
  const first = await browser.go(path())
  const [, href = ""] = /href="([^"]*externalidp[^"]*)"/.exec(first.page) ?? []
  const away = await browser.go(href.replaceAll("&amp;", "&"))
  const asked = await browser.go(upstream.signIn(away.path, { sub: "nina-1", name: "Nina" }))
  expect(asked.page).toContain("<h1>Who are you?</h1>")
  expect(asked.page).toContain(">Make me one</button>")
  const done = await browser.post(asked, { choice: "link", loginName: "nina", password })
  expect(done.page).toContain("<h1>Now you are one</h1>")
  expect(responseOf(await browser.go(buttonTarget(done.page)))).toHaveProperty("code")
})

test("a done page continues without a session, and without a subject", async () => {
  const browser = browserOf(provider)
  expect((await browser.go("/ui/login/done?of=linking")).path).toContain("/ui/login/loginname")
  await browser.signIn("/ui/login", "nina")
  expect((await browser.go("/ui/login/done?of=other")).page).toContain("You are signed in")
})
