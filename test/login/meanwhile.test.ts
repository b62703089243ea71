import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest"
import {
  changeApplication,
  deactivateApplication,
  removeApplication,
} from "../../src/domain/app/index.ts"
import { createCode } from "../../src/domain/credential/code.ts"
import { createPassword, setPassword } from "../../src/domain/credential/commands.ts"
import { giveConsent } from "../../src/domain/grant/commands.ts"
import { denyConsent } from "../../src/domain/grant/index.ts"
import { activateOrganization } from "../../src/domain/org/commands.ts"
import { addOrganization, deactivateOrganization, isOrgActive } from "../../src/domain/org/index.ts"
import { changeProject, createProject } from "../../src/domain/project/index.ts"
import { inviteUser } from "../../src/domain/registration/invite.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { deactivateUser, lockUser, removeUser } from "../../src/domain/user/index.ts"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  password,
  redirectUri,
  type Visited,
} from "../oauth/provider.ts"
import { continuedTo } from "../support/visitor.ts"

const own = "Own-Battery-9"
const home = "bakery"

let provider: Provider
beforeAll(async () => {
  provider = await openProvider()
  const { store } = provider
  await store.transact(provider.cx(), (tx) => addOrganization(tx, home, { name: "Bakery" }))
})
afterAll(() => provider.close())
afterEach(() => vi.restoreAllMocks())

let people = 0
let name: string
let id: string
let client: NewClient
beforeEach(async () => {
  name = `mona-${++people}`
  id = await provider.addPerson(name, home)
  client = await provider.addClient()
})

type Changes = Readonly<Record<string, string | undefined>>
const path = (changes: Changes = {}) => authorizePath(client.id, changes)

/** The page that asks for the password, and the browser that shows it. */
async function asked(changes: Changes = {}, browser = browserOf(provider)) {
  const page = await browser.go(path(changes))
  // What began is written in its own time; what is counted here comes after it.
  await provider.store.log.settle()
  return { browser, page: await browser.post(page, { loginName: name }) }
}

const requestIn = ({ page }: Visited) => /name="authRequest" value="([^"]+)"/.exec(page)?.[1] ?? ""
const given = () => ({ loginName: name, password })

/** Does something after the last look before the step that signs in, and before that step. */
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

const registered = (...redirectUris: readonly string[]) =>
  changeApplication(provider.cx(), client.appId, { oidc: { redirectUris } })

/** Gives the person a password that they have to replace. */
async function mustChange(): Promise<void> {
  const next = await createPassword(password, { names: [], changeRequired: true })
  await setPassword(provider.cx(), id, next)
}

describe("what is taken away right before the step that signs in", () => {
  test("keeps the request of a redirect URI open, and tells no code", async () => {
    const { browser, page } = await asked()
    const before = provider.store.log.durable()
    beforeTheStep(() => registered(`${redirectUri}/2`))
    const end = await browser.post(page, given())
    expect([end.response.status, end.response.headers.get("location")]).toEqual([400, null])
    expect(await typesSince(before)).not.toContain("auth_request.code.added")
    await registered(redirectUri)
    expect(answerOf(await browser.go(end.path))).toHaveProperty("code")
  })

  test.each([
    ["stopped", () => deactivateApplication(provider.cx(), client.appId)],
    ["removed", () => removeApplication(provider.cx(), client.appId)],
  ])("tells an application nothing that is %s", async (_, act) => {
    const { browser, page } = await asked()
    const before = provider.store.log.durable()
    beforeTheStep(act)
    const end = await browser.post(page, given())
    expect([end.response.status, end.response.headers.get("location")]).toEqual([400, null])
    expect(await typesSince(before)).not.toContain("auth_request.code.added")
  })

  test.each([
    ["locked", () => lockUser(provider.cx(), id), 403],
    ["deactivated", () => deactivateUser(provider.cx(), id), 403],
    ["removed", () => removeUser(provider.cx(), id), 422],
    ["without an organisation", () => deactivateOrganization(provider.cx(), home), 403],
    ["given another password", () => setPassword(provider.cx(), id, other), 422],
  ])("lets nobody in who is %s", async (_, act, status) => {
    const { browser, page } = await asked()
    const before = provider.store.log.durable()
    beforeTheStep(act)
    const end = await browser.post(page, given())
    expect([end.response.status, end.response.headers.getSetCookie()]).toEqual([status, []])
    const types = await typesSince(before)
    expect(types.filter((type) => /^session|^user_agent|^auth_request/.test(type))).toEqual([])
    if (!isOrgActive(provider.cx(), home)) await activateOrganization(provider.cx(), home)
  })

  let other: Awaited<ReturnType<typeof createPassword>>
  beforeAll(async () => {
    other = await createPassword(own, { names: [] })
  })

  test("asks who chose a new password in an organisation that was stopped again", async () => {
    await mustChange()
    const { browser, page } = await asked()
    const choice = await browser.post(page, given())
    const before = provider.store.log.durable()
    beforeTheStep(() => deactivateOrganization(provider.cx(), home))
    const end = await browser.post(choice, { password: own, repeat: own })
    await activateOrganization(provider.cx(), home)
    expect(end.path).not.toContain("code=")
    expect(await typesSince(before)).not.toContain("auth_request.code.added")
  })

  test("bars who may not enter any more", async () => {
    const guarded = { orgId: home, name: "Guarded" }
    await createProject(provider.cx(), `guarded-${name}`, guarded)
    client = await provider.addClient({}, `guarded-${name}`)
    const { browser, page } = await asked()
    const guard = { projectRoleCheck: true }
    beforeTheStep(() => changeProject(provider.cx(), `guarded-${name}`, guard))
    const end = await browser.post(page, given())
    expect([end.path.split("?")[0], end.response.status]).toEqual(["/ui/login/consent", 403])
  })
})

describe("what another tab does right before the step that signs in", () => {
  test("counts when it refuses", async () => {
    const { browser, page } = await asked()
    const request = requestIn(page)
    const deny = () => provider.store.transact(provider.cx(), (tx) => denyConsent(tx, request))
    beforeTheStep(deny)
    const { error, code } = answerOf(await browser.post(page, given()))
    expect([error, code]).toEqual(["access_denied", undefined])
  })

  test("is no consent of who signs in", async () => {
    const { browser, page } = await asked({ prompt: "consent" })
    const request = requestIn(page)
    const allow = () =>
      provider.store.transact(provider.cx(), (tx) => giveConsent(tx, request, "x"))
    beforeTheStep(allow)
    expect((await browser.post(page, given())).path).toMatch(/^\/ui\/login\/consent/)
  })

  test("ends a request that is too old when the try has waited", async () => {
    const { browser, page } = await asked()
    const before = provider.store.log.durable()
    beforeTheStep(async () => provider.clock.advance(60 * 60_000))
    const end = await browser.post(page, given())
    expect([end.response.status, end.response.headers.getSetCookie()]).toEqual([400, []])
    expect(await typesSince(before)).toEqual([])
  })
})

describe("an answer that the form gets itself", () => {
  /** Sends the last form of a page by hand: where its answer leads is not followed. */
  async function sent(cookie: string, page: Visited, more: Record<string, string>) {
    const hidden = [...page.page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)]
    const fields = Object.fromEntries(hidden.map(([, key = "", value = ""]) => [key, value]))
    const [, action = ""] = /<form[^>]*action="([^"]*)"/.exec(page.page) ?? []
    const body = new URLSearchParams({ ...fields, ...more })
    return provider.send(action, { method: "POST", headers: { cookie }, body })
  }

  /** The page that a form leads to, for the browser that got the new cookie. */
  const onward = ({ headers }: Response) => {
    const cookie = headers.getSetCookie()[0]?.split(";")[0] ?? ""
    return provider.send(headers.get("location") ?? "", { headers: { cookie } })
  }

  const silent = async (cookie: string) => {
    const browser = browserOf(provider)
    browser.setCookie(cookie)
    return answerOf(await browser.go(path({ prompt: "none" })))
  }

  const ways = {
    "a password": async () => ({ ...(await asked()), more: given() }),
    "a new password": async () => {
      await mustChange()
      const { browser, page } = await asked()
      const more = { password: own, repeat: own }
      return { browser, page: await browser.post(page, given()), more }
    },
    "an invitation": async () => {
      id = provider.cx().ids.next()
      await createUser(provider.cx(), id, {
        kind: "human",
        orgId: home,
        userName: `${name}-2`,
        profile: { givenName: "Mona", familyName: "Novak" },
        email: { value: `${name}-2@example.org`, verified: false },
      })
      const code = createCode(provider.cx(), id, { of: "invite", returned: true })
      await inviteUser(provider.cx(), id, { code })
      const { browser, page } = await asked()
      const link = `/ui/login/verify?userId=${id}&invite=true&authRequest=${requestIn(page)}`
      const shown = await browser.post(await browser.go(link), { code: code.plain })
      return { browser, page: shown, more: { password: own, repeat: own } }
    },
  }
  test.each(Object.entries(ways))(
    "to %s replaces the cookie, and is kept by nobody",
    async (_, way) => {
      const { browser, page, more } = await way()
      const planted = browser.cookie()
      const answer = await sent(planted, page, more)
      expect(answer.status).toBe(303)
      expect(answer.headers.get("cache-control")).toBe("no-store")
      const next = await onward(answer)
      expect(continuedTo(await next.text())).toContain(`${redirectUri}?code=`)
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

  test("by form_post brings the cookie, and is kept by nobody", async () => {
    const { browser, page } = await asked({ response_mode: "form_post" })
    const answer = await sent(browser.cookie(), page, given())
    const { status, headers } = await onward(answer)
    expect([status, headers.get("cache-control")]).toEqual([200, "no-store"])
    expect(headers.get("referrer-policy")).toBe("no-referrer")
    const [line = ""] = answer.headers.getSetCookie()
    expect(await silent(line.split(";")[0] ?? "")).toHaveProperty("code")
  })

  test("is not for another browser, nor for who has only the form", async () => {
    const { page } = await asked()
    const thief = await asked()
    for (const cookie of ["", thief.browser.cookie()]) {
      const answer = await sent(cookie, page, given())
      expect([answer.status, answer.headers.get("location")]).toEqual([403, null])
    }
    const [mine, theirs] = [requestIn(page), requestIn(thief.page)]
    const crossed = { ...thief.page, page: thief.page.page.replaceAll(theirs, mine) }
    const answer = await sent(thief.browser.cookie(), crossed, given())
    expect(answer.headers.get("location")).toMatch(/^\/ui\/login\/error\?/)
  })

  test.each([
    ["select_account", { prompt: "select_account" }],
    ["login", { prompt: "login" }],
    ["max_age", { max_age: "0" }],
    ["a scope of their organisation", { scope: `openid urn:core:iam:org:id:${home}` }],
  ])("is about who signs in, with %s, and not about who was there", async (_, changes) => {
    const browser = browserOf(provider)
    await browser.signIn(path(), "olga")
    provider.clock.advance(1000)
    const { searchParams } = new URL((await browser.go(path(changes))).path, redirectUri)
    const first = `/ui/login/loginname?authRequest=${searchParams.get("authRequest")}`
    const page = await browser.post(await browser.go(first), { loginName: name })
    provider.clock.advance(1000)
    const { code = "" } = answerOf(await browser.post(page, given()))
    const { answer } = await askToken(provider, codeFields(code), `${client.id}:${client.secret}`)
    const [, claims = ""] = String(answer.id_token).split(".")
    const { sub, auth_time } = JSON.parse(Buffer.from(claims, "base64url").toString())
    expect(sub).toBe(id)
    expect(auth_time).toBe(Math.floor(provider.clock.now() / 1000))
  })
})
