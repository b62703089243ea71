// The pages of each step say what the login texts of v1 say at their blocks.
import { TOTP } from "otpauth"
import { afterEach, beforeEach, expect, test } from "vitest"
import { createPassword, setPassword } from "../../src/domain/credential/commands.ts"
import { addIdp, linkIdp } from "../../src/domain/idp/commands.ts"
import { addPolicy } from "../../src/domain/policy/commands.ts"
import { type Login, login } from "../../src/domain/policy/index.ts"
import { putText } from "../../src/domain/text/commands.ts"
import { fieldTemplate } from "../../src/domain/text/login.ts"
import {
  answerOf,
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
  password,
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
const say = (texts: Record<string, string>) =>
  putText(provider.cx(), undefined, { template: fieldTemplate, language: "en" }, texts)
const rule = (values: Partial<Login>) =>
  addPolicy(provider.cx(), undefined, { policy: login, say: () => values })

/** Follows the only button of a page. */
const onward = (page: string) =>
  (/<a href="([^"]*)" class="button/.exec(page)?.[1] ?? "/none").replaceAll("&amp;", "&")

test("registrationUserText is said where an account is made, and not at the sign-in", async () => {
  await rule({ allowRegister: true })
  await say({
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

test("initMfaOtpText, initMfaDoneText and verifyMfaOtpText are said around the app", async () => {
  await rule({ forceMfa: true })
  await say({
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
  expect(answerOf(await browser.go(onward(done.page)))).toHaveProperty("code")
  provider.clock.advance(60_000)
  const other = browserOf(provider)
  const asked = await other.signIn(path(), "nina")
  expect(asked.page).toContain("<h1>Show your app</h1>")
  expect(answerOf(await other.post(asked, { code: code() }))).toHaveProperty("code")
})

test("passwordChangeDoneText is a page of its own, for who has worded it", async () => {
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
  expect(answerOf((await replace("Own-Battery-9")).end)).toHaveProperty("code")
  await say({ "passwordChangeDoneText.title": "That was it" })
  const { browser, end } = await replace("Own-Battery-10")
  expect(end.page).toContain("<h1>That was it</h1>")
  expect(answerOf(await browser.go(onward(end.page)))).toHaveProperty("code")
})

test("externalUserNotFoundText and linkingUserDoneText are said around a provider", async () => {
  const upstream = await openUpstream()
  const { id: idpId } = await addIdp(provider.cx(), undefined, {
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
  await say({
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
  expect(answerOf(await browser.go(onward(done.page)))).toHaveProperty("code")
})

test("a done page leads on where nobody is signed in, and where it is of nothing", async () => {
  const browser = browserOf(provider)
  expect((await browser.go("/ui/login/done?of=linking")).path).toContain("/ui/login/loginname")
  await browser.signIn("/ui/login", "nina")
  expect((await browser.go("/ui/login/done?of=other")).page).toContain("You are signed in")
})
