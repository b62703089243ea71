import { TOTP } from "otpauth"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { sentCode } from "../../src/domain/credential/sent-code.ts"
import { beginKey, finishKey, removeKey } from "../../src/domain/factor/key/key.ts"
import { createPasskeyLink } from "../../src/domain/factor/key/link.ts"
import { relyingPartyOf } from "../../src/domain/factor/key/relying-party.ts"
import { addOtp } from "../../src/domain/factor/otp.ts"
import { keysOf, secondFactorsOf } from "../../src/domain/factor/ready.ts"
import { generateRecoveryCodes } from "../../src/domain/factor/recovery-code.ts"
import { registerTotp, removeTotp, verifyTotp } from "../../src/domain/factor/totp.ts"
import { instance } from "../../src/domain/instance/index.ts"
import { addPolicy, changePolicy } from "../../src/domain/policy/commands.ts"
import { login } from "../../src/domain/policy/index.ts"
import { enterBrowser, session, sessionIdsOf } from "../../src/domain/session/index.ts"
import { reactivateUser } from "../../src/domain/user/commands.ts"
import { deactivateUser } from "../../src/domain/user/index.ts"
import { user } from "../../src/domain/user-model/model.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  password,
  redirectUri,
  responseOf,
  sendTokenRequest,
  type VisitedPage,
} from "../oauth/provider.ts"
import { type Authenticator, createKey } from "../support/authenticator.ts"
import { setUpByPassword } from "../support/set-up-by-password.ts"

let provider: Provider
let client: NewClient
let id: string
const name = "nina"
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  id = await provider.addPerson(name)
})
afterEach(() => provider.close())

const path = (changes = {}) => authorizePath(client.id, changes)
const verifyPath = "/ui/login/mfa/verify"
const setPath = "/ui/login/mfa/set"
const setLoginPolicy = (values: object) =>
  addPolicy(provider.cx(), undefined, { policy: login, apply: () => values }).catch(() =>
    changePolicy(provider.cx(), undefined, { policy: login, apply: () => values }),
  )
const allFactors = {
  secondFactors: ["otp", "u2f", "otp_email", "otp_sms", "recovery_codes"],
} as const

const codeOf = (secret: string, late = 0) =>
  new TOTP({ secret }).generate({ timestamp: provider.clock.now() + late * 30_000 })

async function addTotp(): Promise<string> {
  const cx = provider.cx()
  const { secret } = await registerTotp(cx, id, { issuer: "Home", label: name })
  await verifyTotp(cx, id, codeOf(secret, -1))
  return secret
}

async function addAuthenticator(kind: "passkey" | "u2f"): Promise<Authenticator> {
  const cx = provider.cx()
  const { tokenId, options } = await beginKey(cx, id, { kind })
  const key = createKey(options, { origin: issuer })
  await finishKey(cx, id, { kind, tokenId, credential: key.creation, name: "" })
  return key
}

const optionsIn = ({ page }: VisitedPage) =>
  JSON.parse(
    (/data-key-options="([^"]*)"/.exec(page)?.[1] ?? "{}")
      .replaceAll("&quot;", '"')
      .replaceAll("&amp;", "&"),
  )

/** The claims of the ID token for a code. */
async function claimsOf(code: string): Promise<any> {
  const { answer } = await sendTokenRequest(
    provider,
    codeFields(code),
    `${client.id}:${client.secret}`,
  )
  return JSON.parse(Buffer.from(`${answer.id_token}`.split(".")[1] ?? "", "base64url").toString())
}

describe("an authenticator app", () => {
  test("is required after the password, and appears in the tokens", async () => {
    const secret = await addTotp()
    const browser = browserOf(provider)
    const page = await browser.signIn(path({ acr_values: "2 1" }), name)
    expect(page.path).toContain(verifyPath)
    expect(page.page).toContain("from your authenticator app")
    const wrong = await browser.post(page, { code: "12345" })
    expect(wrong.response.status).toBe(422)
    expect(wrong.page).toContain("invalid or has expired")
    // The format that some apps show.
    const grouped = codeOf(secret).replace(/^.../, "$&-")
    const end = responseOf(await browser.post(wrong, { code: grouped }))
    const claims = await claimsOf(end.code ?? "")
    expect(claims.amr).toEqual(["pwd", "otp", "mfa"])
    expect(claims.acr).toBe("2")
    // An existing session does, until it is too old.
    expect(responseOf(await browser.go(path({ prompt: "none" })))).toHaveProperty("code")
    provider.clock.advance(19 * 3_600_000)
    expect(responseOf(await browser.go(path({ prompt: "none" }))).error).toBe("login_required")
    expect((await browser.go(path())).path).toContain(verifyPath)
  })

  test("comes before the page that confirms the sign-in", async () => {
    const secret = await addTotp()
    const browser = browserOf(provider)
    const end = await browser.signIn("/ui/login", name)
    expect(end.path).toBe("/ui/account")
    expect((await browser.go("/ui/login/signedin")).path).toBe("/ui/account")
    const asked = await browser.go(path())
    expect(responseOf(await browser.post(asked, { code: codeOf(secret) }))).toHaveProperty("code")
    expect((await browser.go("/ui/login/signedin")).page).toContain("You are signed in")
  })

  test("can't be bypassed by any URL", async () => {
    await addTotp()
    const browser = browserOf(provider)
    const page = await browser.signIn(path(), name)
    const request = new URL(page.path, issuer).searchParams.get("authRequest") ?? ""
    expect(responseOf(await browser.go(path({ prompt: "none" }))).error).toBe("login_required")
    for (const address of [
      `/oauth/v2/callback?id=${request}`,
      `/oidc/v1/callback?id=${request}`,
      `/ui/login/accounts?authRequest=${request}`,
      `${setPath}?authRequest=${request}`,
      path(),
    ]) {
      const at = await browser.go(address)
      expect(at.path.startsWith(redirectUri)).toBe(false)
    }
    // No other factor can be set up instead either.
    for (const factor of ["skip", "otp", "passkey"]) {
      const at = await browser.go(setPath, {
        method: "POST",
        body: new URLSearchParams({
          factor,
          authRequest: request,
          csrf: /name="csrf" value="([^"]+)"/.exec(page.page)?.[1] ?? "",
        }),
      })
      expect(at.path).toContain(verifyPath)
    }
  })

  test("is valid for this browser's request only", async () => {
    const secret = await addTotp()
    const mine = browserOf(provider)
    const page = await mine.signIn(path(), name)
    const other = browserOf(provider)
    await other.go(path())
    const stolen = await other.post(page, { code: codeOf(secret) })
    expect(stolen.response.status).toBe(403)
    expect(responseOf(await mine.post(page, { code: codeOf(secret) }))).toHaveProperty("code")
  })

  test("that was removed ends the sign-in that waits for it", async () => {
    await addTotp()
    const browser = browserOf(provider)
    const page = await browser.signIn(path(), name)
    await removeTotp(provider.cx(), id)
    const after = await browser.post(page, { code: "123456" })
    expect(after.path).toContain("/ui/login/loginname")
  })
})

test("a recovery code replaces an app, once", async () => {
  await addTotp()
  await setLoginPolicy(allFactors)
  const { codes } = await generateRecoveryCodes(provider.cx(), id)
  const [code = ""] = codes
  const browser = browserOf(provider)
  const page = await browser.signIn(path(), name)
  const other = /href="([^"]*factor=recovery_codes)"/.exec(page.page)?.[1] ?? ""
  const asked = await browser.go(other.replaceAll("&amp;", "&"))
  expect(asked.page).toContain("Each code works once")
  expect(responseOf(await browser.post(asked, { code }))).toHaveProperty("code")
  const again = browserOf(provider)
  await again.signIn(path(), name)
  const page2 = await again.go(verifyPath.concat("?", new URL(page.path, issuer).search.slice(1)))
  expect(page2.path.startsWith(redirectUri)).toBe(false)
})

test("a code by email is sent on request, and works once", async () => {
  await setLoginPolicy(allFactors)
  const cx = provider.cx()
  await cx.store.transact(cx, (tx) =>
    tx.append(user, id, [{ type: "user.human.email.verified", data: {} }]),
  )
  await addOtp(cx, id, "email")
  const browser = browserOf(provider)
  const page = await browser.signIn(path(), name)
  expect(page.page).toContain("We&#x27;ll send a code to your email address")
  const messages = async () =>
    (await provider.store.log.read(0, 10_000)).filter(({ type }) => type === "message.added")
  expect(await messages()).toHaveLength(0)
  const sent = await browser.post(page, { send: "code" })
  const [message] = await messages()
  const secret: any = message?.private
  const code = provider.secrets.open("seal", secret.sealed, `message/${id}/verify_email_otp`)
  expect(code).toMatch(/^\d{8}$/)
  const wrong = await browser.post(sent, { send: "", code: "00000000" })
  expect(wrong.response.status).toBe(422)
  expect(responseOf(await browser.post(wrong, { send: "", code: code ?? "" }))).toHaveProperty(
    "code",
  )
})

describe("a key", () => {
  test("is a second factor", async () => {
    const key = await addAuthenticator("u2f")
    const browser = browserOf(provider)
    const page = await browser.signIn(path(), name)
    const proof = (origin: string) =>
      JSON.stringify(key.assertion(optionsIn(page), { origin, isVerified: false }))
    const wrong = await browser.post(page, { credential: proof("https://evil.example") })
    expect(wrong.response.status).toBe(422)
    const end = responseOf(await browser.post(page, { credential: proof(issuer) }))
    expect((await claimsOf(end.code ?? "")).amr).toEqual(["pwd", "pop", "user", "mfa"])
  })

  test("that is a passkey signs in alone, once for each challenge", async () => {
    const key = await addAuthenticator("passkey")
    const browser = browserOf(provider)
    const page = await browser.go(path({ acr_values: "2" }))
    const fields = {
      credential: JSON.stringify(key.assertion(optionsIn(page), { origin: issuer })),
      challenge: /name="challenge" value="([^"]+)"/.exec(page.page)?.[1] ?? "",
      authRequest: /name="authRequest" value="([^"]+)"/.exec(page.page)?.[1] ?? "",
      csrf: /name="csrf" value="([^"]+)"/.exec(page.page)?.[1] ?? "",
    }
    const send = (user: ReturnType<typeof browserOf>, changes = {}) =>
      user.go("/ui/login/passkey", {
        method: "POST",
        body: new URLSearchParams({ ...fields, ...changes }),
      })
    expect((await send(browser, { challenge: "" })).response.status).toBe(422)
    expect((await send(browser, { credential: "{}" })).response.status).toBe(422)
    const end = responseOf(await send(browser))
    const claims = await claimsOf(end.code ?? "")
    expect(claims).toMatchObject({ sub: id, amr: ["pop", "user", "mfa"], acr: "2" })
    // A challenge for one browser is invalid in another.
    const other = browserOf(provider)
    const theirs = await other.go(path())
    const csrf = /name="csrf" value="([^"]+)"/.exec(theirs.page)?.[1] ?? ""
    const request = /name="authRequest" value="([^"]+)"/.exec(theirs.page)?.[1] ?? ""
    const stolen = await send(other, { csrf, authRequest: request })
    expect(stolen.response.status).toBe(422)
  })

  test("that was removed here is reported to the browser as unknown; no other is", async () => {
    const key = await addAuthenticator("passkey")
    const show = async () => {
      const browser = browserOf(provider)
      const page = await browser.go(path())
      const credential = JSON.stringify(key.assertion(optionsIn(page), { origin: issuer }))
      const hidden = (name: string) =>
        new RegExp(`name="${name}" value="([^"]+)"`).exec(page.page)?.[1] ?? ""
      const fields = { credential, challenge: hidden("challenge"), csrf: hidden("csrf") }
      const init = { method: "POST", body: new URLSearchParams(fields) }
      return browser.go("/ui/login/passkey", init)
    }
    await setLoginPolicy({ allowPasswordless: true, multiFactors: [] })
    await deactivateUser(provider.cx(), id)
    expect((await show()).page).not.toContain("data-unknown-key")
    await reactivateUser(provider.cx(), id)
    const [{ id: tokenId = "" } = {}] = keysOf(provider.store.state(provider.cx(), user, id))
    await removeKey(provider.cx(), id, { kind: "passkey", tokenId })
    const { page } = await show()
    const [, told = ""] = /data-unknown-key="([^"]+)"/.exec(page) ?? []
    const { id: credentialId } = JSON.parse(
      JSON.stringify(
        key.assertion(optionsIn(await browserOf(provider).go(path())), { origin: issuer }),
      ),
    )
    expect(JSON.parse(told.replaceAll("&quot;", '"'))).toEqual({
      rpId: new URL(issuer).hostname,
      credentialId,
    })
    // It is offered as an alternative, and needs a button press.
    expect(page).toContain("belongs to no account here")
    expect(page).toContain('name="loginName"')
    expect(page).not.toContain("data-key-offered")
  })

  test.each([
    ["deactivated", () => deactivateUser(provider.cx(), id)],
    ["not allowed to", () => setLoginPolicy({ allowPasswordless: false })],
  ])("of a user who is %s is rejected", async (_, stop) => {
    const key = await addAuthenticator("passkey")
    const browser = browserOf(provider)
    const page = await browser.go(path())
    await stop()
    const at = await browser.go("/ui/login/passkey", {
      method: "POST",
      body: new URLSearchParams({
        credential: JSON.stringify(key.assertion(optionsIn(page), { origin: issuer })),
        challenge: /name="challenge" value="([^"]+)"/.exec(page.page)?.[1] ?? "",
        csrf: /name="csrf" value="([^"]+)"/.exec(page.page)?.[1] ?? "",
      }),
    })
    expect(at.response.status).toBe(422)
  })
})

describe("a policy that requires a factor", () => {
  beforeEach(() => setLoginPolicy({ ...allFactors, forceMfa: true }))

  test("requires the setup of one, which can't be skipped, and which signs in", async () => {
    const browser = browserOf(provider)
    const page = await browser.signIn(path(), name)
    expect(page.path).toContain(setPath)
    expect(page.page).not.toContain("Not now")
    expect((await browser.post(page, { factor: "skip" })).path).not.toContain(redirectUri)
    const app = await browser.post(page, { factor: "otp" })
    const secret = /<code>([^<]+)</.exec(app.page)?.[1]?.replaceAll(" ", "") ?? ""
    const wrong = await browser.post(app, { code: "12345" })
    expect(wrong.response.status).toBe(422)
    expect(wrong.page.replaceAll(" ", "")).toContain(secret)
    const end = responseOf(await browser.post(wrong, { code: codeOf(secret) }))
    expect((await claimsOf(end.code ?? "")).amr).toEqual(["pwd", "otp", "mfa"])
    const again = await browserOf(provider).signIn(path(), name)
    expect(again.path).toContain(verifyPath)
  })

  test("requires the setup of a passkey, which is verified by that", async () => {
    const browser = browserOf(provider)
    const page = await browser.signIn(path(), name)
    const asked = await browser.post(page, { factor: "passkey" })
    const wrong = await browser.post(asked, { credential: "{}" })
    expect(wrong.response.status).toBe(422)
    const credential = JSON.stringify(createKey(optionsIn(wrong), { origin: issuer }).creation)
    expect(responseOf(await browser.post(wrong, { credential }))).toHaveProperty("code")
  })

  test("signs nobody in without one", async () => {
    const browser = browserOf(provider)
    await browser.signIn(path(), name)
    expect(responseOf(await browser.go(path({ prompt: "none" }))).error).toBe("login_required")
  })
})

test("an application that requires a factor has one set up", async () => {
  const claims = JSON.stringify({ id_token: { acr: { essential: true, value: "2" } } })
  const browser = browserOf(provider)
  const page = await browser.signIn(path({ claims }), name)
  expect(page.path).toContain(setPath)
  const app = await browser.post(page, { factor: "otp" })
  const secret = /<code>([^<]+)</.exec(app.page)?.[1]?.replaceAll(" ", "") ?? ""
  const end = responseOf(await browser.post(app, { code: codeOf(secret) }))
  expect((await claimsOf(end.code ?? "")).acr).toBe("2")
})

test("force_mfa_local_only applies to local sign-ins", async () => {
  await setLoginPolicy({ forceMfaLocalOnly: true })
  expect((await browserOf(provider).signIn(path(), name)).path).toContain(setPath)
})

test.each([
  ["secondFactorCheckLifetime", { kind: "totp", isUserVerified: false }],
  ["multiFactorCheckLifetime", { kind: "webauthn", isUserVerified: true }],
] as const)("%s limits the validity of a check", async (field, proof) => {
  const lifetimes = { secondFactorCheckLifetime: 0, multiFactorCheckLifetime: 0 }
  await setLoginPolicy({ ...lifetimes, [field]: 60 })
  await addTotp()
  const browser = browserOf(provider)
  await browser.signIn(path(), name)
  const cx = provider.cx()
  const [sessionId = ""] = sessionIdsOf(cx, id)
  const { agentId } = provider.store.state(cx, session, sessionId)
  const shown = { ...proof, methods: [] }
  const entrance = { userId: id, secure: true, proof: () => shown, also: () => undefined }
  const line = await enterBrowser<never>(cx, { id: agentId, hash: "" }, entrance)
  browser.setCookie(line.split(";")[0] ?? "")
  provider.clock.advance(60_000)
  expect(responseOf(await browser.go(path({ prompt: "none" })))).toHaveProperty("code")
  provider.clock.advance(1000)
  expect(responseOf(await browser.go(path({ prompt: "none" }))).error).toBe("login_required")
})

test("a password only sets up a passkey if the policy excludes passwords", async () => {
  await setLoginPolicy({ allowUsernamePassword: false })
  const browser = browserOf(provider)
  const setup = await setUpByPassword(browser, path(), name)
  expect(setup.path).toContain(setPath)
  expect(setup.page).not.toContain('value="skip"')
  const asked = await browser.post(setup, { factor: "passkey" })
  const key = createKey(optionsIn(asked), { origin: issuer })
  const end = await browser.post(asked, { credential: JSON.stringify(key.creation) })
  expect(responseOf(end)).toHaveProperty("code")
  // From now on the password signs no one in.
  const again = await setUpByPassword(browserOf(provider), path(), name)
  expect(again.response.status).toBe(422)
  expect(again.page).toContain("Use your passkey.")
})

test("passwordCheckLifetime limits the validity of a sign-in for other applications", async () => {
  await setLoginPolicy({ passwordCheckLifetime: 60 })
  const browser = browserOf(provider)
  await browser.signIn(path(), name)
  provider.clock.advance(60_000)
  expect(responseOf(await browser.go(path({ prompt: "none" })))).toHaveProperty("code")
  provider.clock.advance(1000)
  expect(responseOf(await browser.go(path({ prompt: "none" }))).error).toBe("login_required")
  const again = await browser.go(path())
  expect(again.path).toContain("/ui/login/password?")
  provider.clock.advance(1)
  const end = await browser.post(again, { loginName: name, password })
  expect(responseOf(end)).toHaveProperty("code")
})

test("factors that the policy excludes are not required", async () => {
  await addTotp()
  await setLoginPolicy({ secondFactors: ["u2f"], multiFactors: [] })
  expect(responseOf(await browserOf(provider).signIn(path(), name))).toHaveProperty("code")
})

test("a factor is offered as often as the policy says, and can be skipped", async () => {
  await setLoginPolicy({ mfaInitSkipLifetime: 3600 })
  const signIn = async (browser: ReturnType<typeof browserOf>) => {
    const page = await browser.go(path())
    // Time passes while the user types.
    provider.clock.advance(1000)
    return browser.post(await browser.post(page, { loginName: name }), {
      loginName: name,
      password,
    })
  }
  const browser = browserOf(provider)
  const page = await signIn(browser)
  expect(page.path).toContain(setPath)
  expect(responseOf(await browser.post(page, { factor: "skip" }))).toHaveProperty("code")
  expect(responseOf(await signIn(browserOf(provider)))).toHaveProperty("code")
  provider.clock.advance(3_600_000)
  expect((await signIn(browserOf(provider))).path).toContain(setPath)
})

test("a link for a passkey stays valid by its own key after ten wrong codes", async () => {
  const { codeId, code } = await createPasskeyLink(provider.cx(), id, { returned: false })
  const { key } = sentCode(provider.cx(), id, "passkey") ?? { key: "" }
  const browser = browserOf(provider)
  const address = `/ui/login/passkey/set?userId=${id}&codeId=${codeId}`
  const typed = await browser.go(address)
  for (let count = 0; count < 10; count++) await browser.post(typed, { code: "wrong" })
  expect((await browser.post(typed, { code })).response.status).toBe(429)
  const begun = await browser.post(await browser.go(address), { code: `${code}&key=${key}` })
  expect(begun.page).toContain("data-key-options")
  expect(begun.page).toContain(`name="key" value="${key}"`)
})

test("a link registers a passkey and signs in, once", async () => {
  const { codeId, code } = await createPasskeyLink(provider.cx(), id, { returned: true })
  const address = `/ui/login/passkey/set?userId=${id}&codeId=${codeId}`
  const browser = browserOf(provider)
  const page = await browser.go(address)
  const wrong = await browser.post(page, { code: "wrong" })
  expect(wrong.response.status).toBe(422)
  expect(wrong.page).not.toContain(name)
  const asked = await browser.post(page, { code })
  const credential = JSON.stringify(createKey(optionsIn(asked), { origin: issuer }).creation)
  const end = await browser.post(asked, { credential })
  expect(end.path).toContain("/ui/login/signedin")
  expect(secondFactorsOf(provider.store.state(provider.cx(), user, id))).toEqual([])
  const again = await browser.post(await browserOf(provider).go(address), { code })
  expect(again.response.status).not.toBe(200)
  const stranger = await browser.go("/ui/login/passkey/set?userId=nobody&codeId=1")
  expect((await browser.post(stranger, { code })).response.status).toBe(422)
})

test("the instance's host with a final dot uses the same passkeys", () => {
  const cx = provider.cx()
  expect(relyingPartyOf(cx, "ID.example.com.")).toEqual(relyingPartyOf(cx))
  expect(() => relyingPartyOf(cx, "id.example.com..")).toThrow(
    /domain must be one of the domains or trusted domains of this instance/,
  )
  expect(() => relyingPartyOf(cx, ".")).toThrow(
    /domain must be one of the domains or trusted domains of this instance/,
  )
})

test("browsers learn the related origins of the instance", async () => {
  const cx = provider.cx()
  await cx.store.transact(cx, (tx) =>
    tx.append(instance, cx.instance, [
      { type: "instance.trusted_domain.added", data: { domain: "login.example.com" } },
    ]),
  )
  const answer = await provider.send("/.well-known/webauthn")
  expect(answer.headers.get("content-type")).toContain("application/json")
  expect(await answer.json()).toEqual({ origins: [issuer, "https://login.example.com"] })
})
