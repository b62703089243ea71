// What somebody tries who knows the pages, and a password: no step is skipped, and no note is good
// for another page, another browser or another request.
import { TOTP } from "otpauth"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { registerTotp, verifyTotp } from "../../src/domain/factor/totp.ts"
import { addPolicy } from "../../src/domain/policy/commands.ts"
import { login } from "../../src/domain/policy/index.ts"
import {
  answerOf,
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
  password,
  type Visited,
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
const says = (values: object) =>
  addPolicy(provider.cx(), undefined, { policy: login, say: () => values })
const requestIn = ({ path: at }: Visited) =>
  new URL(at, "https://x").searchParams.get("authRequest") ?? ""
const noteIn = ({ path: at }: Visited) => new URL(at, "https://x").searchParams.get("as") ?? ""

async function withTotp(): Promise<string> {
  const cx = provider.cx()
  const { secret } = await registerTotp(cx, id, { issuer: "Home", label: name })
  const timestamp = provider.clock.now() - 30_000
  await verifyTotp(cx, id, new TOTP({ secret }).generate({ timestamp }))
  return secret
}

describe("who knows a password, and not the second factor", () => {
  test.each([
    "/oauth/v2/authorize/callback?id=REQUEST",
    "/ui/login/mfa/set?authRequest=REQUEST",
    "/ui/login/consent?authRequest=REQUEST",
    "/ui/login/password?authRequest=REQUEST",
    "/ui/login/accounts?authRequest=REQUEST",
    "/ui/login/register/password?authRequest=REQUEST",
  ])("gets no further by the address of a later step: %s", async (address) => {
    await withTotp()
    const browser = browserOf(provider)
    const asked = await browser.signIn(path(), name)
    expect(asked.path).toContain(verifyPath)
    const end = await browser.go(address.replace("REQUEST", requestIn(asked)))
    expect(end.path.startsWith("/ui/login/")).toBe(true)
    expect(answerOf(await browser.go(path({ prompt: "none" }))).error).toBe("login_required")
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
  ])("posts to another step in vain: %s %j", async (action, fields) => {
    await withTotp()
    const browser = browserOf(provider)
    const asked = await browser.signIn(path(), name)
    const csrf = /csrf" value="([^"]*)/.exec(asked.page)?.[1] ?? ""
    const body = new URLSearchParams({ csrf, authRequest: requestIn(asked), ...fields })
    const end = await browser.go(action, { method: "POST", body })
    expect(end.path.startsWith("/ui/login/")).toBe(true)
    expect(answerOf(await browser.go(path({ prompt: "none" }))).error).toBe("login_required")
  })

  test("can't put off what the policy forces, nor answer it with a factor of another", async () => {
    await says({ forceMfa: true })
    const browser = browserOf(provider)
    const asked = await browser.signIn(path(), name)
    expect(asked.path).toContain("/ui/login/mfa/set")
    for (const factor of ["skip", "otp_email", "otp_sms", "recovery_codes", ""]) {
      const end = await browser.post(asked, { factor })
      expect(end.path, factor).toContain("/ui/login/mfa/set")
    }
    expect(answerOf(await browser.go(path({ prompt: "none" }))).error).toBe("login_required")
  })
})

describe("a note in an address", () => {
  const passwordPage = async (browser = browserOf(provider)) => {
    const first = await browser.go(path())
    return { browser, at: await browser.post(first, { loginName: name }) }
  }

  test("says its name to nobody who reads the address", async () => {
    const { at } = await passwordPage()
    const read = Buffer.from(noteIn(at), "base64url").toString("latin1")
    expect([at.path, noteIn(at), read].join(" ")).not.toContain(name)
  })

  test("is nothing to another browser", async () => {
    const { at } = await passwordPage()
    const other = browserOf(provider)
    const theirs = await other.go(path())
    const search = new URLSearchParams({ authRequest: requestIn(theirs), as: noteIn(at) })
    const end = await other.go(`/ui/login/password?${search}`)
    expect(end.path).toContain("/ui/login/loginname")
    expect(end.page).not.toContain(name)
  })

  test("is nothing to another page, and nothing once it was changed", async () => {
    const { browser, at } = await passwordPage()
    const authRequest = requestIn(at)
    const note = noteIn(at)
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
    // Each tab loads its page again, after the other has gone on.
    const again = await browser.go(one.path)
    expect(again.page).toContain(`value="${name}"`)
    const end = await browser.post(two, { loginName: "olga", password })
    expect(answerOf(end)).toMatchObject({ state: "two", code: expect.any(String) })
    // Who was about to come as somebody else is not let in as who has come meanwhile.
    const first = await browser.post(again, { loginName: name, password })
    expect(first.path).toContain(`/ui/login/loginname?authRequest=${requestIn(one)}`)
    const named = await browser.post(first, { loginName: name })
    const other = answerOf(await browser.post(named, { loginName: name, password }))
    expect(other).toMatchObject({ state: "one", code: expect.any(String) })
  })
})
