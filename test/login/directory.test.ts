// Signing in with a directory name and password, on our own pages and through the API.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createIdp, linkIdp, updateIdp } from "../../src/domain/idp/commands.ts"
import type { Options } from "../../src/domain/idp/index.ts"
import { addPolicy } from "../../src/domain/policy/commands.ts"
import { lockout } from "../../src/domain/policy/index.ts"
import { lockUser } from "../../src/domain/user/index.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { linksOf } from "../../src/domain/user-model/links.ts"
import { user } from "../../src/domain/user-model/model.ts"
import {
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  type VisitedPage,
} from "../oauth/provider.ts"
import { directorySettings, type FakeDirectory, openDirectory } from "../support/directory.ts"
import { addLoginPageCaller, type CallAs } from "../support/operation-caller.ts"
import { until } from "../support/wait.ts"

let provider: Provider
let client: NewClient
let directory: FakeDirectory
let idpId: string
const options: Options = {
  isLinkingAllowed: true,
  isCreationAllowed: true,
  isAutoCreation: true,
  isAutoUpdate: true,
  autoLinking: "email",
}
const idpInput = { name: "Acme", settings: directorySettings, options, secret: "admin-secret" }
const ada = {
  password: "Ada-secret-1",
  givenname: "Ada",
  sn: "Lovelace",
  cn: "Ada Lovelace",
  mail: "ada@example.com",
  mailverified: "TRUE",
}
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  directory = openDirectory({ ada })
  idpId = (await createIdp(provider.cx(), undefined, idpInput)).id
  await linkIdp(provider.cx(), undefined, idpId)
})
afterEach(() => provider.close())

const newBrowser = () =>
  browserOf({
    send: (path, init) => provider.send(path, init, { outside: directory.outside }),
  })
type Browser = ReturnType<typeof newBrowser>

/** The page that asks for the name and the password. */
async function openDirectoryPage(browser: Browser): Promise<VisitedPage> {
  const first = await browser.go(authorizePath(client.id))
  const [, href = ""] = /href="([^"]*login\/ldap[^"]*)"/.exec(first.page) ?? []
  return browser.go(href.replaceAll("&amp;", "&"))
}

async function signIn(loginName: string, password: string, browser = newBrowser()) {
  return browser.post(await openDirectoryPage(browser), { loginName, password })
}

const userNamed = (name: string) => findByLoginName(provider.cx(), name) ?? ""
const stateOf = (name: string) => provider.cx().store.state(provider.cx(), user, userNamed(name))
const countFailureEvents = async () =>
  (await provider.store.log.read(0, 10_000)).filter(
    ({ type }) => type === "user.human.password.check.failed",
  )

describe("the page of a directory", () => {
  test("asks for a name and a password, and names the directory", async () => {
    const { response, page } = await openDirectoryPage(newBrowser())
    expect(response.status).toBe(200)
    expect(page).toContain("Sign in with Acme")
    expect(page).toMatch(/name="password"/)
  })

  test("signs in with the right password, and creates the account", async () => {
    expect(responseOf(await signIn("ada", ada.password))).toHaveProperty("code")
    expect(stateOf("ada")).toMatchObject({
      profile: { givenName: "Ada", familyName: "Lovelace" },
      email: { address: "ada@example.com", verified: true },
    })
    expect(linksOf(stateOf("ada"))).toMatchObject([{ idpId, externalId: "id-ada", name: "ada" }])
    expect(directory.searched[0]).toMatchObject({ bindPassword: "admin-secret", name: "ada" })
  })

  test("signs in the same user, whatever the spelling", async () => {
    await signIn("ada", ada.password)
    expect(responseOf(await signIn(" ADA ", ada.password))).toHaveProperty("code")
    expect(linksOf(stateOf("ada"))).toHaveLength(1)
  })

  test("shows the same error for a wrong password and an unknown name", async () => {
    const said = async (name: string) => {
      const { response, page, path } = await signIn(name, "Wrong")
      const [, text = ""] = /role="alert"[^>]*>([^<]*)|class="error"[^>]*>([^<]*)/.exec(page) ?? []
      return [response.status, path.replace(/\?.*/, ""), text, page.includes("doesn")]
    }
    expect(await said("ada")).toEqual(await said("nobody"))
    expect((await said("ada"))[0]).toBe(422)
    // No event is written for names that the directory doesn't have.
    expect((await countFailureEvents()).length).toBe(2)
    expect(userNamed("ada")).toBe("")
  })

  test("never sends an empty password to a directory", async () => {
    const end = await signIn("ada", "")
    expect(end.response.status).toBe(422)
    expect([directory.searched.length, directory.proofs.length]).toEqual([0, 0])
  })

  test("reports an unavailable directory", async () => {
    directory.isDown = true
    const end = await signIn("ada", ada.password)
    expect([end.response.status, end.page.includes("is unavailable")]).toEqual([503, true])
    expect(await countFailureEvents()).toHaveLength(0)
  })

  test("rejects users who are locked here", async () => {
    await signIn("ada", ada.password)
    await lockUser(provider.cx(), userNamed("ada"))
    const end = await signIn("ada", ada.password)
    expect([end.response.status, end.page.includes("locked")]).toEqual([403, true])
  })

  test("doesn't exist for other kinds of providers, or unusable ones", async () => {
    const browser = newBrowser()
    const elsewhere = await browser.go("/ui/login/login/ldap?idp=123")
    expect(elsewhere.response.status).toBe(404)
  })

  test("asks for the account if only the name matches", async () => {
    await provider.addPerson("ada")
    const end = await signIn("ada", ada.password)
    expect(end.page).toContain("I already have an account")
    expect(linksOf(stateOf("ada"))).toHaveLength(0)
  })

  test("links nobody automatically by an unverified address", async () => {
    await provider.addPerson("pat")
    directory.people.eve = {
      password: "Eve-secret-1",
      givenname: "Eve",
      sn: "Evil",
      mail: "pat@example.org",
    }
    const end = await signIn("eve", "Eve-secret-1")
    expect(end.page).toContain("I already have an account")
    expect(linksOf(stateOf("pat"))).toHaveLength(0)
  })
})

describe("a directory whose addresses are trusted", () => {
  const emailOf = () => {
    const state = stateOf("ada")
    return "email" in state ? state.email : undefined
  }
  const { mailverified: _, ...unsaid } = ada
  beforeEach(() => {
    directory.people.ada = unsaid
  })
  const trust = (trustDirectoryAddresses: boolean) =>
    updateIdp(provider.cx(), undefined, idpId, {
      ...idpInput,
      options: { ...options, trustDirectoryAddresses, isAutoUpdate: true },
    })

  test("updates changed addresses, as verified by the user's organization", async () => {
    await trust(true)
    await signIn("ada", ada.password)
    const verifier = { by: "organization" }
    expect(emailOf()).toMatchObject({ address: ada.mail, verified: true, verifier })
    directory.people.ada = { ...unsaid, mail: "countess@example.com" }
    await signIn("ada", ada.password)
    expect(emailOf()).toMatchObject({ address: "countess@example.com", verified: true, verifier })
  })

  test("doesn't update them without that", async () => {
    await signIn("ada", ada.password)
    expect(emailOf()).toMatchObject({ address: ada.mail, verified: false })
    directory.people.ada = { ...unsaid, mail: "countess@example.com" }
    await signIn("ada", ada.password)
    expect(emailOf()).toMatchObject({ address: ada.mail, verified: false })
  })

  test("links nobody by them, even if the provider is trusted for addresses", async () => {
    await provider.addPerson("pat")
    const trusting = { trustDirectoryAddresses: true, isTrustedForAddresses: true }
    await updateIdp(provider.cx(), undefined, idpId, {
      ...idpInput,
      options: { ...options, ...trusting },
    })
    directory.people.eve = {
      password: "Eve-secret-1",
      givenname: "Eve",
      sn: "Evil",
      mail: "pat@example.org",
    }
    expect((await signIn("eve", "Eve-secret-1")).page).toContain("I already have an account")
    expect(linksOf(stateOf("pat"))).toHaveLength(0)
  })

  test("can only be an LDAP provider", async () => {
    await expect(
      createIdp(provider.cx(), undefined, {
        name: "GitHub",
        settings: { kind: "github", clientId: "c", scopes: [] },
        options: { ...options, trustDirectoryAddresses: true },
      }),
    ).rejects.toMatchObject({ id: "idp.option_of_other_kind" })
  })
})

describe("guesses of directory passwords", () => {
  test("are slowed down after five, whatever the spelling", async () => {
    for (const name of ["ada", "ADA", "Ada", " ada", "aDa"]) await signIn(name, "Wrong")
    const idle = provider.clock.pending()
    let isOver = false
    const end = signIn("adA", ada.password).finally(() => {
      isOver = true
    })
    // A throttled attempt sets a timer.
    await until(() => isOver || provider.clock.pending() > idle)
    expect(isOver).toBe(false)
    provider.clock.advance(1000)
    expect(responseOf(await end)).toHaveProperty("code")
    expect(responseOf(await signIn("ada", ada.password))).toHaveProperty("code")
  })

  test("lock the linked account, if the policy says so", async () => {
    await signIn("ada", ada.password)
    const say = () => ({ maxPasswordAttempts: 3 })
    await addPolicy(provider.cx(), provider.setup.orgId, { policy: lockout, apply: say })
    for (let at = 0; at < 3; at++) await signIn("ada", "Wrong")
    expect(stateOf("ada").status).toBe("locked")
  })
})

describe("a custom login page", () => {
  let call: CallAs
  beforeEach(async () => {
    call = await addLoginPageCaller(provider)
  })
  const start = (ldap: object, by = call) =>
    by(
      "user.v2.UserService/StartIdentityProviderIntent",
      { idpId, content: { case: "ldap", value: ldap } },
      { outside: directory.outside },
    )
  const right = { username: "ada", password: ada.password }

  test("receives the user and the checks immediately", async () => {
    const { nextStep } = await start(right)
    expect(nextStep).toMatchObject({ case: "idpIntent", value: { userId: "" } })
    const { idpIntentId, idpIntentToken } = nextStep.value
    const told = await call("user.v2.UserService/RetrieveIdentityProviderIntent", {
      idpIntentId,
      idpIntentToken,
    })
    expect(told.idpInformation).toMatchObject({
      idpId,
      userId: "id-ada",
      userName: "ada",
      access: { case: "ldap", value: { attributes: { sn: ["Lovelace"] } } },
    })
    expect(told.userAction.case).toBe("createUser")
  })

  test("creates a session from it, once", async () => {
    await signIn("ada", ada.password)
    const { value } = (await start(right)).nextStep
    expect(value.userId).toBe(userNamed("ada"))
    const { userId: _, $typeName: __, ...idpIntent } = value
    const check = () => call("session.v2.SessionService/CreateSession", { checks: { idpIntent } })
    expect((await check()).sessionId).toBeDefined()
    await expect(check()).rejects.toMatchObject({ id: "idp.intent_over" })
  })

  test.each([
    ["a wrong password", { username: "ada", password: "Wrong" }],
    ["an empty password", { username: "ada", password: "" }],
    ["a name that is nobody's", { username: "eve", password: "Wrong" }],
    ["no name", { username: " ", password: "Wrong" }],
  ])("is rejected with %s", async (_, ldap) => {
    await expect(start(ldap)).rejects.toMatchObject({ id: "idp.credentials_wrong" })
  })

  test("gets an error that a directory requires credentials instead of URLs", async () => {
    const urls = { successUrl: "https://a.example.com", failureUrl: "https://a.example.com" }
    const content = { case: "urls", value: urls }
    await expect(
      call("user.v2.UserService/StartIdentityProviderIntent", { idpId, content }),
    ).rejects.toMatchObject({ violation: { field: "ldap" } })
  })
})

test("a directory replaced by another has no linked users, and receives no password", async () => {
  await signIn("ada", ada.password)
  const settings = { ...directorySettings, servers: ["ldaps://evil.example.com"] } as const
  await updateIdp(provider.cx(), undefined, idpId, { ...idpInput, settings, secret: "" })
  directory.people.ada = { ...ada, mailverified: "FALSE" }
  const end = await signIn("ada", ada.password)
  expect(end.page).toContain("I already have an account")
  expect(directory.searched.at(-1)?.bindPassword).toBe("")
})

test("a user who has entered their password there has signed in freshly", async () => {
  const browser = newBrowser()
  const first = await browser.go(authorizePath(client.id, { prompt: "login", max_age: "0" }))
  const [, href = ""] = /href="([^"]*login\/ldap[^"]*)"/.exec(first.page) ?? []
  provider.clock.advance(1000)
  const at = await browser.go(href.replaceAll("&amp;", "&"))
  const end = await browser.post(at, { loginName: "ada", password: ada.password })
  expect(responseOf(end)).toHaveProperty("code")
})
