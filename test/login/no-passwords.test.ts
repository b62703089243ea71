// allow_username_password is off: no page asks for a password, and no password signs in.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { beginKey, finishKey } from "../../src/domain/factor/key/key.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { org } from "../../src/domain/org/index.ts"
import { addPolicy } from "../../src/domain/policy/commands.ts"
import { login } from "../../src/domain/policy/index.ts"
import {
  authorizePath,
  browserOf,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  password,
} from "../oauth/provider.ts"
import { createKey } from "../support/authenticator.ts"
import { addLoginPageCaller } from "../support/operation-caller.ts"
import { setUpByPassword } from "../support/set-up-by-password.ts"

let provider: Provider
let client: NewClient
let id: string
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  id = await provider.addPerson("nina")
})
afterEach(() => provider.close())

const path = (more = {}) => authorizePath(client.id, more)
const turnOffPasswords = (orgId?: string, more: object = {}) =>
  addPolicy(provider.cx(), orgId, {
    policy: login,
    apply: () => ({ allowUsernamePassword: false, ...more }),
  })

async function enterLoginName(loginName: string, at = path()) {
  const browser = browserOf(provider)
  return browser.post(await browser.go(at), { loginName })
}

async function addPasskey() {
  const cx = provider.cx()
  const { tokenId, options } = await beginKey(cx, id, { kind: "passkey" })
  const key = createKey(options, { origin: issuer })
  await finishKey(cx, id, { kind: "passkey", tokenId, credential: key.creation, name: "" })
}

describe("the page after the login name", () => {
  test("offers a passkey and no password field, for every name", async () => {
    expect((await enterLoginName("nina")).page).toContain('type="password"')
    await turnOffPasswords()
    const [known, unknown] = [await enterLoginName("nina"), await enterLoginName("nobody")]
    for (const { page, response } of [known, unknown]) {
      expect(response.status).toBe(200)
      expect(page).not.toContain('type="password"')
      expect(page).toContain("Sign in with a passkey")
    }
    const bare = ({ page }: { readonly page: string }, name: string) =>
      page
        .replaceAll(/value="[^"]*"|as=[^"]+|authRequest=\d+|data-key-options="[^"]*"/g, "")
        .replaceAll(name, "NAME")
        .replaceAll(/>[A-Z]{1,2}</g, "><")
    expect(bare(unknown, "nobody")).toBe(bare(known, "nina"))
  })

  test("offers an emailed link if the policy allows it", async () => {
    await turnOffPasswords(undefined, { allowMagicLink: true })
    expect((await enterLoginName("nina")).page).toContain("Email me a sign-in link instead")
  })

  test("follows the organization that the name, or the application, belongs to", async () => {
    await createOrganization(provider.cx(), "other", { name: "Other" })
    await turnOffPasswords("other")
    const { primaryDomain } = provider.cx().store.state(provider.cx(), org, "other")
    expect((await enterLoginName(`x@${primaryDomain}`)).page).not.toContain('type="password"')
    const scope = "openid urn:core:iam:org:id:other"
    expect((await enterLoginName("x", path({ scope }))).page).not.toContain('type="password"')
    expect((await enterLoginName("x")).page).toContain('type="password"')
  })
})

describe("a password", () => {
  test("is rejected for a user with a passkey, by a page and by the session API", async () => {
    await addPasskey()
    await turnOffPasswords()
    const end = await setUpByPassword(browserOf(provider), path(), "nina")
    expect(end.response.status).toBe(422)
    expect(end.page).toContain("You can&#x27;t sign in with a password here. Use your passkey.")
    const call = await addLoginPageCaller(provider)
    const checks = {
      user: { search: { case: "loginName", value: "nina" } },
      password: { password },
    }
    await expect(call("session.v2.SessionService/CreateSession", { checks })).rejects.toMatchObject(
      {
        id: "session.passkey_required",
      },
    )
    const wrong = { ...checks, password: { password: "Wrong-Horse-7" } }
    const tried = call("session.v2.SessionService/CreateSession", { checks: wrong })
    await expect(tried).rejects.toMatchObject({ id: "session.password_wrong" })
  })

  test("still sets up a passkey for a user without one, so that nobody is locked out", async () => {
    await turnOffPasswords()
    const setup = await setUpByPassword(browserOf(provider), path(), "nina")
    expect(setup.path).toContain("/ui/login/mfa/set")
    expect(setup.page).toContain('value="passkey"')
    expect(setup.page).not.toContain('value="skip"')
  })
})
