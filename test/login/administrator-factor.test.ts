// force_mfa_managers: administrators need a second factor, and other users don't.
import { createPrivateKey } from "node:crypto"
import { SignJWT } from "jose"
import { TOTP } from "otpauth"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { importRecoveryCodes } from "../../src/domain/factor/recovery-code.ts"
import { createIdp, linkIdp } from "../../src/domain/idp/commands.ts"
import { addMember, removeMember, type Target } from "../../src/domain/member/index.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { addPolicy, changePolicy } from "../../src/domain/policy/commands.ts"
import { type Login, login } from "../../src/domain/policy/index.ts"
import { createGrant } from "../../src/domain/project-grant/index.ts"
import {
  authorizePath,
  browserOf,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  password,
  responseOf,
  sendTokenRequest,
} from "../oauth/provider.ts"
import { createKey } from "../support/authenticator.ts"
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

type KeyFile = { readonly userId: string; readonly keyId: string; readonly key: string }

async function assertionOf({ userId, keyId, key }: KeyFile): Promise<string> {
  const now = Math.floor(provider.clock.now() / 1000)
  return new SignJWT({ iss: userId, sub: userId, aud: issuer, iat: now, exp: now + 300 })
    .setProtectedHeader({ alg: "RS256", kid: keyId })
    .sign(createPrivateKey(key))
}

const optionsIn = (page: string) =>
  JSON.parse(
    (/data-key-options="([^"]*)"/.exec(page)?.[1] ?? "{}")
      .replaceAll("&quot;", '"')
      .replaceAll("&amp;", "&"),
  )

const setPath = "/ui/login/mfa/set"
const path = () => authorizePath(client.id)
const enablePolicy = (more: Partial<Login> = {}) =>
  addPolicy(provider.cx(), undefined, {
    policy: login,
    apply: () => ({ forceMfaManagers: true, ...more }),
  })
const policyOff = { forceMfaManagers: false }
const addAdministrator = (target: Target, roles: readonly string[]) =>
  provider.cx().store.transact(provider.cx(), (tx) => addMember(tx, { userId: id, target, roles }))

const signIn = () => browserOf(provider).signIn(path(), "nina")

const levels: readonly [string, () => Promise<Target>, string][] = [
  ["the instance", async () => ({ level: "instance" }), "IAM_OWNER_VIEWER"],
  ["an organization", async () => ({ level: "org", id: provider.setup.orgId }), "ORG_OWNER"],
  ["a project", async () => ({ level: "project", id: provider.projectId }), "PROJECT_OWNER_VIEWER"],
  ["a project grant", async () => ({ level: "grant", id: await grant() }), "PROJECT_GRANT_OWNER"],
]

async function grant(): Promise<string> {
  const cx = provider.cx()
  await createOrganization(cx, "other", { name: "Other" })
  const id = cx.ids.next()
  await createGrant(cx, id, {
    projectId: provider.projectId,
    grantedOrgId: "other",
    roleKeys: [],
  })
  return id
}

describe("an administrator", () => {
  test.each(levels)("at the level of %s sets up a factor at the next sign-in", async (...row) => {
    const [, targetOf, role] = row
    await enablePolicy()
    expect(responseOf(await signIn())).toHaveProperty("code")
    const target = await targetOf()
    await addAdministrator(target, [role])
    const browser = browserOf(provider)
    const setup = await browser.signIn(path(), "nina")
    expect(setup.path).toContain(setPath)
    expect(setup.page).not.toContain('value="skip"')
    const app = await browser.post(setup, { factor: "otp" })
    const secret = /<code>([^<]+)</.exec(app.page)?.[1]?.replaceAll(" ", "") ?? ""
    const code = new TOTP({ secret }).generate({ timestamp: provider.clock.now() })
    expect(responseOf(await browser.post(app, { code }))).toHaveProperty("code")
    expect((await signIn()).path).toContain("/ui/login/mfa/verify")
  })

  test("signs in with a passkey alone, which is two factors at once", async () => {
    await addAdministrator({ level: "instance" }, ["IAM_OWNER"])
    await enablePolicy()
    const browser = browserOf(provider)
    const setup = await browser.signIn(path(), "nina")
    const asked = await browser.post(setup, { factor: "passkey" })
    const credential = JSON.stringify(createKey(optionsIn(asked.page), { origin: issuer }).creation)
    expect(responseOf(await browser.post(asked, { credential }))).toHaveProperty("code")
    expect(responseOf(await browser.go(path()))).toHaveProperty("code")
  })

  test("must add a factor in a session from before the role", async () => {
    await enablePolicy()
    const browser = browserOf(provider)
    await browser.signIn(path(), "nina")
    await addAdministrator({ level: "instance" }, ["IAM_OWNER"])
    const again = await browser.go(authorizePath(client.id, { prompt: "none" }))
    expect(responseOf(again).error).toBe("login_required")
  })

  test("needs none without the role, or while the policy is off", async () => {
    await addAdministrator({ level: "instance" }, ["IAM_OWNER"])
    expect(responseOf(await signIn())).toHaveProperty("code")
    await enablePolicy()
    expect((await signIn()).path).toContain(setPath)
    await provider
      .cx()
      .store.transact(provider.cx(), (tx) =>
        removeMember(tx, { userId: id, target: { level: "instance" } }),
      )
    expect(responseOf(await signIn())).toHaveProperty("code")
  })

  test.each(["turns it off", "never mentions it"])(
    "needs one while the instance requires it, if their organization %s",
    async (name) => {
      const { orgId } = provider.setup
      await addAdministrator({ level: "org", id: orgId }, ["ORG_OWNER"])
      await enablePolicy()
      const owner = provider.cx({
        caller: { kind: "user", userId: id, orgId, clientId: "console" },
      })
      await addPolicy(owner, orgId, {
        policy: login,
        apply: () => ({ allowRegister: true, ...(name === "turns it off" && policyOff) }),
      })
      expect((await signIn()).path).toContain(setPath)
      await changePolicy(provider.cx(), undefined, { policy: login, apply: () => policyOff })
      expect(responseOf(await signIn())).toHaveProperty("code")
    },
  )

  test("is signed in if no factor can be set up, and can change that", async () => {
    await addAdministrator({ level: "instance" }, ["IAM_OWNER"])
    await enablePolicy({ secondFactors: ["otp_sms", "recovery_codes"], multiFactors: [] })
    expect(responseOf(await signIn())).toHaveProperty("code")
    // Imported recovery codes alone are not a second factor.
    const codes = ["AAAAA-AAAAA"]
    await provider.store.transact(provider.cx(), (tx) => importRecoveryCodes(tx, id, codes))
    expect(responseOf(await signIn())).toHaveProperty("code")
  })

  test("is not signed in that way if the application requires a factor", async () => {
    await addAdministrator({ level: "instance" }, ["IAM_OWNER"])
    await enablePolicy({ secondFactors: ["otp_sms"], multiFactors: [] })
    const claims = JSON.stringify({ id_token: { acr: { essential: true, value: "2" } } })
    const end = await browserOf(provider).signIn(authorizePath(client.id, { claims }), "nina")
    expect(end.path).toContain(setPath)
  })
})

test("a service account with a role gets its tokens as before", async () => {
  await enablePolicy()
  const assertion = await assertionOf(JSON.parse(provider.setup.serviceKey))
  const { status, answer } = await sendTokenRequest(provider, {
    grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
    assertion,
    scope: "openid",
  })
  expect([status, answer.token_type]).toEqual([200, "Bearer"])
})

describe("from an identity provider", () => {
  async function arrive() {
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
        isCreationAllowed: false,
        isAutoCreation: false,
        isAutoUpdate: false,
        autoLinking: "off",
        isTrustedForAddresses: false,
      },
      secret: "s3cret",
    })
    await linkIdp(provider.cx(), undefined, idpId)
    const come = async () => {
      const browser = browserOf({
        send: (to, init) => provider.send(to, init, { outside: upstream.outside }),
      })
      const first = await browser.go(path())
      const [, href = ""] = /href="([^"]*externalidp[^"]*)"/.exec(first.page) ?? []
      const away = await browser.go(href.replaceAll("&amp;", "&"))
      return { browser, at: await browser.go(upstream.signIn(away.path, { sub: "nina-1" })) }
    }
    const { browser, at } = await come()
    await browser.post(at, { choice: "link", loginName: "nina", password })
    return async () => (await come()).at
  }

  test("an administrator needs one, also if only local sign-ins require one", async () => {
    const come = await arrive()
    await enablePolicy({ forceMfaLocalOnly: true })
    expect(responseOf(await come())).toHaveProperty("code")
    await addAdministrator({ level: "project", id: provider.projectId }, ["PROJECT_OWNER"])
    expect((await come()).path).toContain(setPath)
  })

  test("an administrator needs none if none is available and the policy is local", async () => {
    const come = await arrive()
    await enablePolicy({ forceMfaLocalOnly: true, secondFactors: ["otp_sms"], multiFactors: [] })
    await addAdministrator({ level: "project", id: provider.projectId }, ["PROJECT_OWNER"])
    expect(responseOf(await come())).toHaveProperty("code")
    const local = await signIn()
    expect(local.path).toContain(setPath)
  })
})
