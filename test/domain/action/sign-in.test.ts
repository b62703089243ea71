import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { rolesHeld } from "../../../src/domain/authorization/index.ts"
import { addMember } from "../../../src/domain/member/index.ts"
import { changePolicy } from "../../../src/domain/policy/commands.ts"
import { login } from "../../../src/domain/policy/index.ts"
import { addRoles } from "../../../src/domain/project/index.ts"
import { heldMetadata, profile, registrationCode } from "../../../src/domain/user/index.ts"
import {
  answerOf,
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
} from "../../oauth/provider.ts"
import { bind } from "./bound.ts"

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
const bound = async (triggerType: 1 | 2 | 3, body: string, allowedToFail = false) => {
  const scripts = [`function f${triggerType}({ v1 }, api) { ${body} }`]
  unbind.push(await bind(provider, { flowType: 3, triggerType, scripts, allowedToFail }))
}
const path = () => authorizePath(client.id, { state: "s-7" })
const noted = (userId: string, key: string) => {
  const value = heldMetadata(provider.cx(), userId).get(key)
  return value && JSON.parse(Buffer.from(value).toString())
}

describe("a script after authentication", () => {
  test("sees how somebody signs in, for what, and notes it", async () => {
    await bound(
      1,
      `api.v1.user.appendMetadata("seen", [
        v1.authMethod, v1.authError, v1.getUser().username, v1.authRequest.applicationId,
        v1.authRequest.transferState, v1.authRequest.request.oidc.scopes.includes("openid"),
        v1.httpRequest.method, new Date() - v1.authRequest.creationDate !== NaN,
      ])
      api.metadata.push({ key: "older", value: { n: 1 } })`,
    )
    const { code = "" } = answerOf(await browserOf(provider).signIn(path(), "pat"))
    expect(code).not.toBe("")
    const seen = ["password", "none", "pat", client.id, "s-7", true, "POST", true]
    expect(noted(pat, "seen")).toEqual(seen)
    expect(noted(pat, "older")).toEqual({ n: 1 })
  })

  test("keeps somebody out, in its own words, who then is not signed in", async () => {
    await bound(1, `throw new Error("Not on <Sundays>")`)
    const browser = browserOf(provider)
    const at = await browser.signIn(path(), "pat")
    expect(at.response.status).toBe(403)
    expect(at.page).toContain("Not on &lt;Sundays&gt;")
    const again = await browser.go(authorizePath(client.id, { prompt: "none" }))
    expect(answerOf(again).error).toBe("login_required")
  })

  test("is asked for nobody whose password is wrong", async () => {
    await bound(1, `api.v1.user.appendMetadata("wrong", 1)`)
    const at = await browserOf(provider).signIn(path(), "pat", "Wrong-Horse-7")
    expect(at.page).toContain("password")
    expect(noted(pat, "wrong")).toBeUndefined()
  })

  test("lets in where it may fail", async () => {
    await bound(1, `throw new Error("no")`, true)
    expect(answerOf(await browserOf(provider).signIn(path(), "pat")).code).toBeDefined()
  })

  test("never keeps out who may mend it", async () => {
    const cx = provider.cx()
    const userId = await provider.addPerson("mender")
    await provider.store.transact(cx, (tx) =>
      addMember(tx, {
        userId,
        target: { level: "org", id: provider.setup.orgId },
        roles: ["ORG_OWNER"],
      }),
    )
    await bound(1, `throw new Error("no")`)
    expect(answerOf(await browserOf(provider).signIn(path(), "mender")).code).toBeDefined()
    expect(answerOf(await browserOf(provider).signIn(path(), "olga")).code).toBeDefined()
  })
})

describe("whoever makes an account", () => {
  const given = { email: "rita@example.net", givenName: "Rita", familyName: "Roth" }
  const secret = "Own-Battery-9"
  beforeAll(async () => {
    const say = () => ({ allowRegister: true })
    await changePolicy(provider.cx(), undefined, { policy: login, say })
  })

  async function register(said: typeof given) {
    const browser = browserOf(provider)
    const form = await browser.go(authorizePath(client.id, { prompt: "create" }))
    const sent = await browser.post(form, said)
    const id = new URL(sent.path, "https://x").searchParams.get("userId") ?? ""
    const code = registrationCode(provider.cx(), id)?.plain ?? ""
    const choice = await browser.post(sent, { code })
    return { id, end: await browser.post(choice, { password: secret, repeat: secret }) }
  }

  test("is who a script says, and has what another one gives", async () => {
    await bound(
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
    await bound(
      3,
      `const { authRequest, httpRequest } = v1
      if (authRequest.prompt[0] !== 5 || httpRequest.method !== "POST") throw "by what?"
      const roles = [v1.getUser().human.gender === 1 && "editor"]
      api.v1.appendUserGrant({ projectId: "${provider.projectId}", roles })`,
    )
    const { id, end } = await register(given)
    expect(answerOf(end)).toHaveProperty("code")
    expect(profile(provider.cx(), id)).toMatchObject({
      ...{ userName: "rita", givenName: "RITA", familyName: "R.", nickName: "Ri", name: "Rita R." },
      ...{ preferredLanguage: "de", gender: "female", phone: "+41791234567", phoneVerified: true },
      ...{ email: "roth@example.net", emailVerified: true },
    })
    expect(noted(id, "by")).toEqual([given.email, true, [5], "POST"])
    expect(noted(id, "older")).toBe(2)
    const held = rolesHeld(provider.cx(), id, provider.projectId)
    expect(held.map(({ keys }) => keys)).toEqual([["editor"]])
  })

  test("is given nothing on the project of the console", async () => {
    const grant = { projectId: provider.ownProjectId, roles: [] }
    await bound(3, `api.userGrants.push(${JSON.stringify(grant)})`)
    const { id, end } = await register({ ...given, email: "evil@example.net" })
    expect(end.response.status).toBe(403)
    expect(end.page).toContain("a script of the organisation has failed")
    expect(profile(provider.cx(), id)).toBeUndefined()
  })

  test("makes none where a script refuses, in its words", async () => {
    await bound(2, `if (!v1.user.human.email.endsWith("@acme.com")) throw "Only for Acme"`)
    const { id, end } = await register({ ...given, email: "other@example.net" })
    expect([end.response.status, end.page.includes("Only for Acme")]).toEqual([403, true])
    expect(profile(provider.cx(), id)).toBeUndefined()
  })
})
