import { TOTP } from "otpauth"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { listRolesByOrg } from "../../../src/domain/authorization/index.ts"
import { createCode } from "../../../src/domain/credential/code.ts"
import {
  checkPassword,
  createPassword,
  setPassword,
} from "../../../src/domain/credential/commands.ts"
import { beginKey, finishKey } from "../../../src/domain/factor/key/key.ts"
import { registerTotp, verifyTotp } from "../../../src/domain/factor/totp.ts"
import { addMember } from "../../../src/domain/member/index.ts"
import { createOrganization } from "../../../src/domain/org/commands.ts"
import { changePolicy } from "../../../src/domain/policy/commands.ts"
import { login } from "../../../src/domain/policy/index.ts"
import { addRoles, createProject } from "../../../src/domain/project/index.ts"
import { createGrant } from "../../../src/domain/project-grant/index.ts"
import { inviteUser } from "../../../src/domain/registration/invite.ts"
import { registrationCode } from "../../../src/domain/registration/registration.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { listMetadata } from "../../../src/domain/user/index.ts"
import { findProfile } from "../../../src/domain/user-lookup/query.ts"
import {
  authorizePath,
  browserOf,
  hiddenFields,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  redirectUri,
  responseOf,
  type VisitedPage,
} from "../../oauth/provider.ts"
import { createKey } from "../../support/authenticator.ts"
import { bindScripts, testAllUsed } from "./bound.ts"

let provider: Provider
let client: NewClient
let pat: string
beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  pat = await provider.addPerson("pat")
  await addRoles(provider.cx(), provider.projectId, [{ key: "editor", displayName: "Editor" }])
})
afterAll(() => provider.close())

let unbind: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const each of unbind) await each()
  unbind = []
})
const bindScript = async (triggerType: 1 | 2 | 3, body: string, allowedToFail = false) => {
  const scripts = [`function f${triggerType}({ v1 }, api) { ${body} }`]
  unbind.push(await bindScripts(provider, { flowType: 3, triggerType, scripts, allowedToFail }))
}
const path = () => authorizePath(client.id, { state: "s-7" })
const metadataValue = (userId: string, key: string) => {
  const value = listMetadata(provider.cx(), userId).get(key)
  return value && JSON.parse(Buffer.from(value).toString())
}

const chosenPassword = "Own-Battery-9"
type Browser = ReturnType<typeof browserOf>
type StartSignIn = (
  browser: Browser,
  name: string,
) => Promise<{ readonly id: string; readonly at: Awaited<ReturnType<Browser["go"]>> }>

/** The sign-ins that lead to a page where the user chooses a password. */
const passwordChoices: Readonly<Record<string, StartSignIn>> = {
  "has to replace their password": async (browser, name) => {
    const id = await provider.addPerson(name)
    const given = await createPassword("Given-Horse-8", { names: [], changeRequired: true })
    await setPassword(provider.cx(), id, given)
    return { id, at: await browser.signIn(path(), name, "Given-Horse-8") }
  },
  "is invited": async (browser, name) => {
    const cx = provider.cx()
    const id = cx.ids.next()
    const { orgId } = provider.setup
    await createUser(cx, id, {
      kind: "human",
      orgId,
      userName: name,
      profile: { givenName: "Nina", familyName: "Novak" },
      email: { value: `${name}@example.org`, verified: false },
    })
    const code = createCode(cx, id, { of: "invite", returned: true })
    await inviteUser(cx, id, { code, applicationName: undefined })
    const asked = { userId: id, organization: orgId, invite: "true", code: code.plain }
    const first = await browser.go(`/ui/login/verify?${new URLSearchParams(asked)}`)
    return { id, at: await browser.post(first, {}) }
  },
}

/** How a user signs in with more than a password. */
type UseFactor = (browser: Browser, name: string) => Promise<VisitedPage>

async function useOtp(userId: string): Promise<UseFactor> {
  const cx = provider.cx()
  const { secret } = await registerTotp(cx, userId, { issuer: "Home", label: "x" })
  const code = (late: number) =>
    new TOTP({ secret }).generate({ timestamp: provider.clock.now() + late * 30_000 })
  await verifyTotp(cx, userId, code(-1))
  return async (browser, name) =>
    browser.post(await browser.signIn(path(), name), { code: code(0) })
}

const optionsIn = ({ page }: VisitedPage) =>
  JSON.parse(
    (/data-key-options="([^"]*)"/.exec(page)?.[1] ?? "{}")
      .replaceAll("&quot;", '"')
      .replaceAll("&amp;", "&"),
  )

const useKey =
  (kind: "passkey" | "u2f") =>
  async (userId: string): Promise<UseFactor> => {
    const cx = provider.cx()
    const { tokenId, options } = await beginKey(cx, userId, { kind })
    const key = createKey(options, { origin: issuer })
    await finishKey(cx, userId, { kind, tokenId, credential: key.creation, name: "" })
    const isVerified = kind === "passkey"
    return async (browser, name) => {
      const at = await (isVerified ? browser.go(path()) : browser.signIn(path(), name))
      const credential = JSON.stringify(
        key.assertion(optionsIn(at), { origin: issuer, isVerified }),
      )
      if (!isVerified) return browser.post(at, { credential })
      const body = new URLSearchParams({ ...hiddenFields(at.page), credential })
      return browser.go("/ui/login/passkey", { method: "POST", body })
    }
  }

describe("a script after authentication", () => {
  test("receives the sign-in method and request, and sets metadata", async () => {
    await bindScript(
      1,
      `api.v1.user.appendMetadata("seen", [
        v1.authMethod, v1.authError, v1.getUser().username, v1.authRequest.applicationId,
        v1.authRequest.transferState, v1.authRequest.request.oidc.scopes.includes("openid"),
        v1.httpRequest.method, new Date() - v1.authRequest.creationDate !== NaN,
      ])
      api.metadata.push({ key: "older", value: { n: 1 } })`,
    )
    const { code = "" } = responseOf(await browserOf(provider).signIn(path(), "pat"))
    expect(code).not.toBe("")
    const seen = ["password", "none", "pat", client.id, "s-7", true, "POST", true]
    expect(metadataValue(pat, "seen")).toEqual(seen)
    expect(metadataValue(pat, "older")).toEqual({ n: 1 })
  })

  test.each([
    ["an authenticator app", useOtp, { method: "OTP", factors: [0] }],
    ["a security key", useKey("u2f"), { method: "U2F", factors: [1] }],
    ["a passkey alone", useKey("passkey"), { method: "passwordless", factors: [2] }],
  ])("receives that the user has used %s", async (description, prepare, { method, factors }) => {
    const name = description.replaceAll(" ", "-")
    const userId = await provider.addPerson(name)
    const show = await prepare(userId)
    await bindScript(
      1,
      `const { userId, loginName, resourceOwner, mfasVerified, authTime } = v1.authRequest
      const who = [userId, loginName, resourceOwner, authTime.getTime()]
      api.v1.user.appendMetadata(v1.authMethod, [who, mfasVerified])`,
    )
    const browser = browserOf(provider)
    expect(responseOf(await show(browser, name))).toHaveProperty("code")
    const who = [userId, name, provider.setup.orgId, provider.clock.now()]
    expect(metadataValue(userId, method)).toEqual([who, factors])
    // A password is reported only until the next factor.
    const first = method === "passwordless" ? undefined : [who, []]
    expect(metadataValue(userId, "password")).toEqual(first)
    // A factor used in this browser is valid for as long as elsewhere.
    for (const [hours, counted] of [
      [1, factors],
      [19, []],
    ] as const) {
      provider.clock.advance(hours * 3_600_000)
      await browser.signIn(authorizePath(client.id, { prompt: "login" }), name)
      const [[, , , time], shown] = metadataValue(userId, "password")
      expect([time, shown]).toEqual([provider.clock.now(), counted])
    }
  })

  test.each([
    ["login", [2], {}],
    ["consent", [3], {}],
    ["select_account", [4], {}],
    ["create", [5], {}],
    ["login consent", [2, 3], { max_age: "90" }],
  ])("receives all requested values: %s", async (prompt, numbers, more) => {
    await bindScript(
      1,
      `const { authRequest, httpRequest } = v1
      api.v1.user.appendMetadata("asked", [authRequest, httpRequest])`,
    )
    const scope = `openid urn:core:iam:org:id:${provider.setup.orgId}`
    const fields = { prompt, scope, ui_locales: "de", login_hint: "pat", ...more }
    await browserOf(provider).signIn(authorizePath(client.id, fields), "pat")
    const now = new Date(provider.clock.now()).toISOString()
    const browserInfo = { userAgent: "", acceptLanguage: "", remoteIp: "" }
    expect(metadataValue(pat, "asked")).toEqual([
      {
        id: expect.stringMatching(/./),
        agentId: expect.stringMatching(/./),
        browserInfo,
        creationDate: now,
        changeDate: now,
        authTime: now,
        instanceId: "i1",
        applicationId: client.id,
        callbackUri: redirectUri,
        transferState: "s-1",
        prompt: numbers,
        uiLocales: ["de"],
        loginHint: "pat",
        mfasVerified: [],
        ...("max_age" in more && { maxAuthAge: 90_000_000_000 }),
        request: { oidc: { scopes: scope.split(" ") } },
        userId: pat,
        loginName: "pat",
        resourceOwner: provider.setup.orgId,
        requestedOrgId: provider.setup.orgId,
        audience: expect.arrayContaining([client.id, provider.projectId]),
      },
      {
        method: "POST",
        url: `${issuer}/ui/login/password`,
        host: new URL(issuer).host,
        remoteAddr: "",
        headers: { "user-agent": [""], "accept-language": [""] },
      },
    ])
  })

  test("rejects a user with its own message, who is then not signed in", async () => {
    await bindScript(1, `throw new Error("Not on <Sundays>")`)
    const browser = browserOf(provider)
    const at = await browser.signIn(path(), "pat")
    expect(at.response.status).toBe(403)
    expect(at.page).toContain("Not on &lt;Sundays&gt;")
    const again = await browser.go(authorizePath(client.id, { prompt: "none" }))
    expect(responseOf(again).error).toBe("login_required")
  })

  test.each(Object.entries(passwordChoices))("rejects a user who %s", async (description, come) => {
    await bindScript(1, `if (v1.authMethod === "password") throw "Not today"`)
    const browser = browserOf(provider)
    const { id, at } = await come(browser, description.replaceAll(" ", "-"))
    const end = await browser.post(at, { password: chosenPassword, repeat: chosenPassword })
    expect([end.response.status, end.page.includes("Not today")]).toEqual([403, true])
    expect(await checkPassword(provider.cx(), id, chosenPassword)).not.toBe("ok")
  })

  test("does not run after a wrong password", async () => {
    await bindScript(1, `api.v1.user.appendMetadata("wrong", 1)`)
    const at = await browserOf(provider).signIn(path(), "pat", "Wrong-Horse-7")
    expect(at.page).toContain("password")
    expect(metadataValue(pat, "wrong")).toBeUndefined()
  })

  test("does not block the sign-in if it is allowed to fail", async () => {
    await bindScript(1, `throw new Error("no")`, true)
    expect(responseOf(await browserOf(provider).signIn(path(), "pat")).code).toBeDefined()
  })

  test("never blocks users who can edit it", async () => {
    const cx = provider.cx()
    const userId = await provider.addPerson("mender")
    await provider.store.transact(cx, (tx) =>
      addMember(tx, {
        userId,
        target: { level: "org", id: provider.setup.orgId },
        roles: ["ORG_OWNER"],
      }),
    )
    await bindScript(1, `throw new Error("no")`)
    expect(responseOf(await browserOf(provider).signIn(path(), "mender")).code).toBeDefined()
    expect(responseOf(await browserOf(provider).signIn(path(), "olga")).code).toBeDefined()
  })
})

describe("a user who registers", () => {
  const given = { email: "rita@example.net", givenName: "Rita", familyName: "Roth" }
  const secret = "Own-Battery-9"
  beforeAll(async () => {
    const say = () => ({ allowRegister: true })
    const cx = provider.cx()
    await changePolicy(cx, undefined, { policy: login, apply: say })
    await createOrganization(cx, "globex", { name: "Globex" })
    await createProject(cx, "lent", { orgId: "globex", name: "Lent" })
    await addRoles(cx, "lent", [{ key: "reader", displayName: "Reader" }])
    const { orgId: grantedOrgId } = provider.setup
    const lent = { projectId: "lent", grantedOrgId, roleKeys: ["reader"] }
    await createGrant(cx, "lending", lent)
  })

  async function register(text: typeof given) {
    const browser = browserOf(provider)
    const form = await browser.go(authorizePath(client.id, { prompt: "create" }))
    const sent = await browser.post(form, text)
    const id = new URL(sent.path, "https://x").searchParams.get("userId") ?? ""
    const code = registrationCode(provider.cx(), id)?.plain ?? ""
    const choice = await browser.post(sent, { code })
    return { id, end: await browser.post(choice, { password: secret, repeat: secret }) }
  }

  test("has the profile that one script sets, and the metadata of another", async () => {
    await bindScript(
      2,
      `const { human } = v1.user
      api.setFirstName(human.firstName.toUpperCase())
      api.setLastName("R.")
      api.setNickName("Ri")
      api.setDisplayName("Rita R.")
      api.setPreferredLanguage("de")
      api.setGender(1)
      api.setUsername("rita")
      api.setPhone("+41791234567")
      api.setPhoneVerified(true)
      const { prompt } = v1.authRequest
      const { method } = v1.httpRequest
      api.v1.user.appendMetadata("by", [human.email, human.isEmailVerified, prompt, method])
      api.setEmail("roth@example.net")
      api.setEmailVerified(true)
      api.metadata.push({ key: "older", value: 2 })`,
    )
    await bindScript(
      3,
      `const { authRequest, httpRequest } = v1
      if (authRequest.prompt[0] !== 5 || httpRequest.method !== "POST") throw "by what?"
      const roles = [v1.getUser().human.gender === 1 && "editor"]
      api.v1.appendUserGrant({ projectId: "${provider.projectId}", roles })`,
    )
    const { id, end } = await register(given)
    expect(responseOf(end)).toHaveProperty("code")
    expect(findProfile(provider.cx(), id)).toMatchObject({
      userName: "rita",
      givenName: "RITA",
      familyName: "R.",
      nickName: "Ri",
      name: "Rita R.",
      preferredLanguage: "de",
      gender: "female",
      phone: "+41791234567",
      phoneVerified: true,
      email: "roth@example.net",
      emailVerified: true,
    })
    expect(metadataValue(id, "by")).toEqual([given.email, true, [5], "POST"])
    expect(metadataValue(id, "older")).toBe(2)
    const held = listRolesByOrg(provider.cx(), id, provider.projectId)
    expect(held.map(({ keys }) => keys)).toEqual([["editor"]])
  })

  test.each([
    ["names the grant", { projectGrantId: "lending" }, true],
    ["names none", {}, true],
    ["names another one", { projectGrantId: "elsewhere" }, false],
  ])("receives roles on a granted project if a script %s", async (options, over, isGiven) => {
    const grant = { projectId: "lent", ...over, roles: ["reader"] }
    await bindScript(3, `api.v1.appendUserGrant(${JSON.stringify(grant)})`)
    const email = `${options.replaceAll(" ", "-")}@example.net`
    const { id, end } = await register({ ...given, email })
    expect(end.response.status < 400).toBe(isGiven)
    expect(findProfile(provider.cx(), id)?.email).toBe(isGiven ? email : undefined)
    const held = listRolesByOrg(provider.cx(), id, "lent")
    const own = { orgId: provider.setup.orgId, keys: ["reader"] }
    expect(held).toEqual(isGiven ? [own] : [])
  })

  test("receives no roles on the console's project", async () => {
    const grant = { projectId: provider.ownProjectId, roles: [] }
    await bindScript(3, `api.userGrants.push(${JSON.stringify(grant)})`)
    const { id, end } = await register({ ...given, email: "evil@example.net" })
    expect(end.response.status).toBe(403)
    expect(end.page).toContain("a script of the organization failed")
    expect(findProfile(provider.cx(), id)).toBeUndefined()
  })

  test("is rejected with the script's message if it refuses", async () => {
    await bindScript(2, `if (!v1.user.human.email.endsWith("@acme.com")) throw "Only for Acme"`)
    const { id, end } = await register({ ...given, email: "other@example.net" })
    expect([end.response.status, end.page.includes("Only for Acme")]).toEqual([403, true])
    expect(findProfile(provider.cx(), id)).toBeUndefined()
  })
})

testAllUsed(3)
