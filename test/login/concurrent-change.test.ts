import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest"
import {
  deactivateApplication,
  removeApplication,
  updateApplication,
} from "../../src/domain/app/index.ts"
import { createCode } from "../../src/domain/credential/code.ts"
import { createPassword, setPassword } from "../../src/domain/credential/commands.ts"
import { recordConsent } from "../../src/domain/grant/commands.ts"
import { denyConsent } from "../../src/domain/grant/index.ts"
import { activateOrganization } from "../../src/domain/org/commands.ts"
import { addOrganization, deactivateOrganization, isOrgActive } from "../../src/domain/org/index.ts"
import { createProject, updateProject } from "../../src/domain/project/index.ts"
import { inviteUser } from "../../src/domain/registration/invite.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { deactivateUser, lockUser, removeUser } from "../../src/domain/user/index.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  password,
  redirectUri,
  responseOf,
  sendTokenRequest,
  type VisitedPage,
} from "../oauth/provider.ts"
import { refreshTarget } from "../support/http-browser.ts"

const ownPassword = "Own-Battery-9"
const homeOrgId = "bakery"

let provider: Provider
beforeAll(async () => {
  provider = await openProvider()
  const { store } = provider
  await store.transact(provider.cx(), (tx) => addOrganization(tx, homeOrgId, { name: "Bakery" }))
})
afterAll(() => provider.close())
afterEach(() => vi.restoreAllMocks())

let userCount = 0
let name: string
let id: string
let client: NewClient
beforeEach(async () => {
  name = `mona-${++userCount}`
  id = await provider.addPerson(name, homeOrgId)
  client = await provider.addClient()
})

type Changes = Readonly<Record<string, string | undefined>>
const path = (changes: Changes = {}) => authorizePath(client.id, changes)

/** The password page, and its browser. */
async function openPasswordPage(changes: Changes = {}, browser = browserOf(provider)) {
  const page = await browser.go(path(changes))
  // The start of the sign-in is written asynchronously; the counted events come after it.
  await provider.store.log.settle()
  return { browser, page: await browser.post(page, { loginName: name }) }
}

const requestIn = ({ page }: VisitedPage) =>
  /name="authRequest" value="([^"]+)"/.exec(page)?.[1] ?? ""
const credentials = () => ({ loginName: name, password })

/** Runs `act` after the last check before the transaction that signs in. */
function beforeTheStep(act: () => Promise<unknown>): void {
  const { store } = provider
  const transact = store.transact.bind(store)
  vi.spyOn(store, "transact").mockImplementationOnce(async (cx, decide) => {
    await act()
    return transact(cx, decide)
  })
}

const typesSince = async (position: number) =>
  (await provider.store.log.read(position, 1000)).map(({ type }) => type)

const setRedirectUris = (...redirectUris: readonly string[]) =>
  updateApplication(provider.cx(), client.appId, { oidc: { redirectUris } })

/** Gives the user a password that must be changed. */
async function requirePasswordChange(): Promise<void> {
  const next = await createPassword(password, { names: [], changeRequired: true })
  await setPassword(provider.cx(), id, next)
}

describe("access removed right before the transaction that signs in", () => {
  test("keeps the request of a removed redirect URI open, and issues no code", async () => {
    const { browser, page } = await openPasswordPage()
    const before = provider.store.log.durable()
    beforeTheStep(() => setRedirectUris(`${redirectUri}/2`))
    const end = await browser.post(page, credentials())
    expect([end.response.status, end.response.headers.get("location")]).toEqual([400, null])
    expect(await typesSince(before)).not.toContain("auth_request.code.added")
    await setRedirectUris(redirectUri)
    expect(responseOf(await browser.go(end.path))).toHaveProperty("code")
  })

  test.each([
    ["stopped", () => deactivateApplication(provider.cx(), client.appId)],
    ["removed", () => removeApplication(provider.cx(), client.appId)],
  ])("sends nothing to an application that is %s", async (_, act) => {
    const { browser, page } = await openPasswordPage()
    const before = provider.store.log.durable()
    beforeTheStep(act)
    const end = await browser.post(page, credentials())
    expect([end.response.status, end.response.headers.get("location")]).toEqual([400, null])
    expect(await typesSince(before)).not.toContain("auth_request.code.added")
  })

  test.each([
    ["locked", () => lockUser(provider.cx(), id), 403],
    ["deactivated", () => deactivateUser(provider.cx(), id), 403],
    ["removed", () => removeUser(provider.cx(), id), 422],
    ["without an organization", () => deactivateOrganization(provider.cx(), homeOrgId), 403],
    ["given another password", () => setPassword(provider.cx(), id, other), 422],
  ])("rejects a user who is %s", async (_, act, status) => {
    const { browser, page } = await openPasswordPage()
    const before = provider.store.log.durable()
    beforeTheStep(act)
    const end = await browser.post(page, credentials())
    expect([end.response.status, end.response.headers.getSetCookie()]).toEqual([status, []])
    const types = await typesSince(before)
    expect(types.filter((type) => /^session|^user_agent|^auth_request/.test(type))).toEqual([])
    if (!isOrgActive(provider.cx(), homeOrgId)) await activateOrganization(provider.cx(), homeOrgId)
  })

  let other: Awaited<ReturnType<typeof createPassword>>
  beforeAll(async () => {
    other = await createPassword(ownPassword, { names: [] })
  })

  test("rejects a new password in an organization that was deactivated meanwhile", async () => {
    await requirePasswordChange()
    const { browser, page } = await openPasswordPage()
    const choice = await browser.post(page, credentials())
    const before = provider.store.log.durable()
    beforeTheStep(() => deactivateOrganization(provider.cx(), homeOrgId))
    const end = await browser.post(choice, { password: ownPassword, repeat: ownPassword })
    await activateOrganization(provider.cx(), homeOrgId)
    expect(end.path).not.toContain("code=")
    expect(await typesSince(before)).not.toContain("auth_request.code.added")
  })

  test("rejects users who lost access", async () => {
    const guarded = { orgId: homeOrgId, name: "Guarded" }
    await createProject(provider.cx(), `guarded-${name}`, guarded)
    client = await provider.addClient({}, `guarded-${name}`)
    const { browser, page } = await openPasswordPage()
    const guard = { projectRoleCheck: true }
    beforeTheStep(() => updateProject(provider.cx(), `guarded-${name}`, guard))
    const end = await browser.post(page, credentials())
    expect([end.path.split("?")[0], end.response.status]).toEqual(["/ui/login/consent", 403])
  })
})

describe("another tab right before the transaction that signs in", () => {
  test("takes precedence when it denies", async () => {
    const { browser, page } = await openPasswordPage()
    const request = requestIn(page)
    const deny = () => provider.store.transact(provider.cx(), (tx) => denyConsent(tx, request))
    beforeTheStep(deny)
    const { error, code } = responseOf(await browser.post(page, credentials()))
    expect([error, code]).toEqual(["access_denied", undefined])
  })

  test("gives no consent for the user who signs in", async () => {
    const { browser, page } = await openPasswordPage({ prompt: "consent" })
    const request = requestIn(page)
    const allow = () =>
      provider.store.transact(provider.cx(), (tx) => recordConsent(tx, request, "x"))
    beforeTheStep(allow)
    expect((await browser.post(page, credentials())).path).toMatch(/^\/ui\/login\/consent/)
  })

  test("ends a request that expired while the attempt waited", async () => {
    const { browser, page } = await openPasswordPage()
    const before = provider.store.log.durable()
    beforeTheStep(async () => provider.clock.advance(60 * 60_000))
    const end = await browser.post(page, credentials())
    expect([end.response.status, end.response.headers.getSetCookie()]).toEqual([400, []])
    expect(await typesSince(before)).toEqual([])
  })
})

describe("a response to the form itself", () => {
  /** Submits the last form of a page without following its redirect. */
  async function sent(cookie: string, page: VisitedPage, more: Record<string, string>) {
    const hidden = [...page.page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)]
    const fields = Object.fromEntries(hidden.map(([, key = "", value = ""]) => [key, value]))
    const [, action = ""] = /<form[^>]*action="([^"]*)"/.exec(page.page) ?? []
    const body = new URLSearchParams({ ...fields, ...more })
    return provider.send(action, { method: "POST", headers: { cookie }, body })
  }

  /** The page after a form, in the browser that got the new cookie. */
  const onward = ({ headers }: Response) => {
    const cookie = headers.getSetCookie()[0]?.split(";")[0] ?? ""
    return provider.send(headers.get("location") ?? "", { headers: { cookie } })
  }

  const silent = async (cookie: string) => {
    const browser = browserOf(provider)
    browser.setCookie(cookie)
    return responseOf(await browser.go(path({ prompt: "none" })))
  }

  const ways = {
    "a password": async () => ({ ...(await openPasswordPage()), more: credentials() }),
    "a new password": async () => {
      await requirePasswordChange()
      const { browser, page } = await openPasswordPage()
      const more = { password: ownPassword, repeat: ownPassword }
      return { browser, page: await browser.post(page, credentials()), more }
    },
    "an invitation": async () => {
      id = provider.cx().ids.next()
      await createUser(provider.cx(), id, {
        kind: "human",
        orgId: homeOrgId,
        userName: `${name}-2`,
        profile: { givenName: "Mona", familyName: "Novak" },
        email: { value: `${name}-2@example.org`, verified: false },
      })
      const code = createCode(provider.cx(), id, { of: "invite", returned: true })
      await inviteUser(provider.cx(), id, { code })
      const { browser, page } = await openPasswordPage()
      const link = `/ui/login/verify?userId=${id}&invite=true&authRequest=${requestIn(page)}`
      const shown = await browser.post(await browser.go(link), { code: code.plain })
      return { browser, page: shown, more: { password: ownPassword, repeat: ownPassword } }
    },
  }
  test.each(Object.entries(ways))(
    "to %s replaces the cookie, and is not cached",
    async (_, method) => {
      const { browser, page, more } = await method()
      const planted = browser.cookie()
      const answer = await sent(planted, page, more)
      expect(answer.status).toBe(303)
      expect(answer.headers.get("cache-control")).toBe("no-store")
      const next = await onward(answer)
      expect(refreshTarget(await next.text())).toContain(`${redirectUri}?code=`)
      expect(next.headers.get("cache-control")).toBe("no-store")
      expect(next.headers.get("referrer-policy")).toBe("no-referrer")
      expect(next.headers.get("content-security-policy")).toContain("form-action 'self';")
      const [line = "", ...others] = answer.headers.getSetCookie()
      expect(others).toEqual([expect.stringMatching(/^__Host-latchkey-device=/)])
      expect(line).toMatch(/^__Host-latchkey=.*HttpOnly/)
      expect(line).toContain("Secure")
      expect(await silent(line.split(";")[0] ?? "")).toHaveProperty("code")
      expect((await silent(planted)).error).toBe("login_required")
    },
  )

  test("by form_post sets the cookie, and is not cached", async () => {
    const { browser, page } = await openPasswordPage({ response_mode: "form_post" })
    const answer = await sent(browser.cookie(), page, credentials())
    const { status, headers } = await onward(answer)
    expect([status, headers.get("cache-control")]).toEqual([200, "no-store"])
    expect(headers.get("referrer-policy")).toBe("no-referrer")
    const [line = ""] = answer.headers.getSetCookie()
    expect(await silent(line.split(";")[0] ?? "")).toHaveProperty("code")
  })

  test("is rejected in another browser, and with the form alone", async () => {
    const { page } = await openPasswordPage()
    const thief = await openPasswordPage()
    for (const cookie of ["", thief.browser.cookie()]) {
      const answer = await sent(cookie, page, credentials())
      expect([answer.status, answer.headers.get("location")]).toEqual([403, null])
    }
    const [mine, theirs] = [requestIn(page), requestIn(thief.page)]
    const crossed = { ...thief.page, page: thief.page.page.replaceAll(theirs, mine) }
    const answer = await sent(thief.browser.cookie(), crossed, credentials())
    expect(answer.headers.get("location")).toMatch(/^\/ui\/login\/error\?/)
  })

  test.each([
    ["select_account", { prompt: "select_account" }],
    ["login", { prompt: "login" }],
    ["max_age", { max_age: "0" }],
    ["a scope of the organization", { scope: `openid urn:core:iam:org:id:${homeOrgId}` }],
  ])("is for the user who signs in, with %s, and not for the previous one", async (_, changes) => {
    const browser = browserOf(provider)
    await browser.signIn(path(), "olga")
    provider.clock.advance(1000)
    const { searchParams } = new URL((await browser.go(path(changes))).path, redirectUri)
    const first = `/ui/login/loginname?authRequest=${searchParams.get("authRequest")}`
    const page = await browser.post(await browser.go(first), { loginName: name })
    provider.clock.advance(1000)
    const { code = "" } = responseOf(await browser.post(page, credentials()))
    const { answer } = await sendTokenRequest(
      provider,
      codeFields(code),
      `${client.id}:${client.secret}`,
    )
    const [, claims = ""] = String(answer.id_token).split(".")
    const { sub, auth_time } = JSON.parse(Buffer.from(claims, "base64url").toString())
    expect(sub).toBe(id)
    expect(auth_time).toBe(Math.floor(provider.clock.now() / 1000))
  })
})
