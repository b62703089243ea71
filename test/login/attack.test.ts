// Attacks by someone who has the pages and a password: no step can be skipped, and the sealed
// page state is invalid on another page, in another browser or for another request.
import { TOTP } from "otpauth"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { registerTotp, verifyTotp } from "../../src/domain/factor/totp.ts"
import { addPolicy } from "../../src/domain/policy/commands.ts"
import { login } from "../../src/domain/policy/index.ts"
import {
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
  password,
  responseOf,
  type VisitedPage,
} from "../oauth/provider.ts"

const name = "nina"
const verifyPath = "/ui/login/mfa/verify"

let provider: Provider
let client: NewClient
let id: string
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  id = await provider.addPerson(name)
})
afterEach(() => provider.close())

const path = (changes = {}) => authorizePath(client.id, changes)
const setLoginPolicy = (values: object) =>
  addPolicy(provider.cx(), undefined, { policy: login, apply: () => values })
const requestIdOf = ({ path: at }: VisitedPage) =>
  new URL(at, "https://x").searchParams.get("authRequest") ?? ""
const pageStateOf = ({ path: at }: VisitedPage) =>
  new URL(at, "https://x").searchParams.get("as") ?? ""

async function withTotp(): Promise<string> {
  const cx = provider.cx()
  const { secret } = await registerTotp(cx, id, { issuer: "Home", label: name })
  const timestamp = provider.clock.now() - 30_000
  await verifyTotp(cx, id, new TOTP({ secret }).generate({ timestamp }))
  return secret
}

describe("an attacker with a password but no second factor", () => {
  test.each([
    "/oauth/v2/authorize/callback?id=REQUEST",
    "/ui/login/mfa/set?authRequest=REQUEST",
    "/ui/login/consent?authRequest=REQUEST",
    "/ui/login/password?authRequest=REQUEST",
    "/ui/login/accounts?authRequest=REQUEST",
    "/ui/login/register/password?authRequest=REQUEST",
  ])("gets no further with the URL of a later step: %s", async (address) => {
    await withTotp()
    const browser = browserOf(provider)
    const asked = await browser.signIn(path(), name)
    expect(asked.path).toContain(verifyPath)
    const end = await browser.go(address.replace("REQUEST", requestIdOf(asked)))
    expect(end.path.startsWith("/ui/login/")).toBe(true)
    expect(responseOf(await browser.go(path({ prompt: "none" }))).error).toBe("login_required")
  })

  test.each([
    ["/ui/login/mfa/set", { factor: "otp" }],
    ["/ui/login/mfa/set", { factor: "skip" }],
    ["/ui/login/mfa/set", { factor: "passkey" }],
    [verifyPath, { factor: "recovery_codes", code: "AAAAA-AAAAA" }],
    [verifyPath, { factor: "otp_email", send: "code" }],
    [verifyPath, { factor: "none" }],
    ["/ui/login/accounts", { session: "1" }],
    ["/ui/login/consent", { answer: "allow" }],
  ])("can't post to another step: %s %j", async (action, fields) => {
    await withTotp()
    const browser = browserOf(provider)
    const asked = await browser.signIn(path(), name)
    const csrf = /csrf" value="([^"]*)/.exec(asked.page)?.[1] ?? ""
    const body = new URLSearchParams({ csrf, authRequest: requestIdOf(asked), ...fields })
    const end = await browser.go(action, { method: "POST", body })
    expect(end.path.startsWith("/ui/login/")).toBe(true)
    expect(responseOf(await browser.go(path({ prompt: "none" }))).error).toBe("login_required")
  })

  test("can't skip a required factor, or use another user's factor", async () => {
    await setLoginPolicy({ forceMfa: true })
    const browser = browserOf(provider)
    const asked = await browser.signIn(path(), name)
    expect(asked.path).toContain("/ui/login/mfa/set")
    for (const factor of ["skip", "otp_email", "otp_sms", "recovery_codes", ""]) {
      const end = await browser.post(asked, { factor })
      expect(end.path, factor).toContain("/ui/login/mfa/set")
    }
    expect(responseOf(await browser.go(path({ prompt: "none" }))).error).toBe("login_required")
  })
})

describe("the page state in a URL", () => {
  const passwordPage = async (browser = browserOf(provider)) => {
    const first = await browser.go(path())
    return { browser, at: await browser.post(first, { loginName: name }) }
  }

  test("doesn't reveal the login name", async () => {
    const { at } = await passwordPage()
    const read = Buffer.from(pageStateOf(at), "base64url").toString("latin1")
    expect([at.path, pageStateOf(at), read].join(" ")).not.toContain(name)
  })

  test("is invalid in another browser", async () => {
    const { at } = await passwordPage()
    const other = browserOf(provider)
    const theirs = await other.go(path())
    const search = new URLSearchParams({ authRequest: requestIdOf(theirs), as: pageStateOf(at) })
    const end = await other.go(`/ui/login/password?${search}`)
    expect(end.path).toContain("/ui/login/loginname")
    expect(end.page).not.toContain(name)
  })

  test("is invalid on another page, and after a change", async () => {
    const { browser, at } = await passwordPage()
    const authRequest = requestIdOf(at)
    const note = pageStateOf(at)
    const pages = [
      ["/ui/login/password/change", note],
      ["/ui/login/password/set/new", note],
      ["/ui/login/verify/password", note],
      ["/ui/login/register/password", note],
      ["/ui/login/password", `${note.slice(0, -2)}AA`],
      ["/ui/login/password", note.slice(0, -8)],
      ["/ui/login/password", "x"],
    ] as const
    for (const [page, as] of pages) {
      const end = await browser.go(`${page}?${new URLSearchParams({ authRequest, as })}`)
      expect(end.path, page).toMatch(/\/ui\/login\/(loginname|register\/password)/)
      expect(end.page, page).not.toContain('name="repeat"')
    }
  })

  test("keeps the request of its own browser, in each of two tabs", async () => {
    const browser = browserOf(provider)
    const one = await browser.post(await browser.go(path({ state: "one" })), { loginName: name })
    const two = await browser.post(await browser.go(path({ state: "two" })), { loginName: "olga" })
    // Each tab reloads its page after the other has continued.
    const again = await browser.go(one.path)
    expect(again.page).toContain(`value="${name}"`)
    const end = await browser.post(two, { loginName: "olga", password })
    expect(responseOf(end)).toMatchObject({ state: "two", code: expect.any(String) })
    // A user about to sign in as one account is not signed in as another that signed in meanwhile.
    const first = await browser.post(again, { loginName: name, password })
    expect(first.path).toContain(`/ui/login/loginname?authRequest=${requestIdOf(one)}`)
    const named = await browser.post(first, { loginName: name })
    const other = responseOf(await browser.post(named, { loginName: name, password }))
    expect(other).toMatchObject({ state: "one", code: expect.any(String) })
  })
})
