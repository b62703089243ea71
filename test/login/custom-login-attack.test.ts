// Attacks on a custom login page, by one, or around it.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { deactivateApplication, updateApplication } from "../../src/domain/app/commands.ts"
import { findClient } from "../../src/domain/app/index.ts"
import { listValidConsents } from "../../src/domain/grant/consent/remember.ts"
import { createOrganization, deactivateOrganization } from "../../src/domain/org/commands.ts"
import { createProject } from "../../src/domain/project/index.ts"
import { deactivateUser, lockUser } from "../../src/domain/user/index.ts"
import { Prompt } from "../../src/gen/core/oidc/v2/authorization_pb.ts"
import {
  authorizePath,
  browserOf,
  issuer,
  openProvider,
  type Provider,
  password,
  redirectUri,
} from "../oauth/provider.ts"
import { enableRegistration, sendMetadata } from "../oauth/registration.ts"
import { openTestServer } from "../scenario/house.ts"
import {
  type Application,
  addCustomLoginApp,
  type CustomLoginPage,
  createCustomLoginPage,
  pageUri,
  type StoredSession,
} from "../support/custom-login-page.ts"
import { addLoginPageCaller, addServiceCaller, callAs } from "../support/operation-caller.ts"

let provider: Provider
let page: CustomLoginPage
let app: Application
beforeAll(async () => {
  provider = await openProvider()
  page = createCustomLoginPage(await addLoginPageCaller(provider))
  app = await addCustomLoginApp(provider)
})
afterAll(() => provider.close())

let userCount = 0
let name: string
let id: string
let kept: StoredSession
beforeEach(async () => {
  name = `mal-${++userCount}`
  id = await provider.addPerson(name)
  kept = await page.signIn(name, password)
})

const beginSignIn = async (application = app, parameters: Record<string, string> = {}) => {
  const { path, finish } = await application.begin(parameters)
  return { finish, request: await page.open(path) }
}
const idOf = (end: Promise<unknown>) => end.then(() => "done").catch(({ id: why }) => why)

describe("a session", () => {
  test("of another user can't be used with one's own token", async () => {
    await provider.addPerson(`victim-${name}`)
    const victim = await page.signIn(`victim-${name}`, password)
    const { request } = await beginSignIn()
    const mixed = { sessionId: victim.sessionId, sessionToken: kept.sessionToken }
    expect(await idOf(page.finish(request, mixed))).toBe("session.token_wrong")
    expect(await idOf(page.finish(request, { ...mixed, sessionId: "absent" }))).toBe(
      "session.token_wrong",
    )
  })

  test("is invalid with a token from before its last change", async () => {
    const { request, finish } = await beginSignIn()
    const next = await page.check(kept, {})
    expect(await idOf(page.finish(request, kept))).toBe("session.token_wrong")
    expect((await finish(await page.finish(request, next))).claims.sub).toBe(id)
  })

  test("without a check signs nobody in", async () => {
    const { request } = await beginSignIn()
    const user = { search: { case: "userId", value: id } }
    const named = await page.call("session.v2.SessionService/CreateSession", { checks: { user } })
    expect(await idOf(page.finish(request, named))).toBe("session.unproven")
  })

  test.each(["ended", "expired", "locked", "deactivated", "without a home"])(
    "that is %s signs nobody in",
    async (options) => {
      const lifetime = { seconds: 60n, nanos: 0 }
      const orgId = provider.cx().ids.next()
      await createOrganization(provider.cx(), orgId, { name: `Org ${name}` })
      const other = await provider.addPerson(`off-${name}`, orgId)
      const checks = {
        user: { search: { case: "userId", value: other } },
        password: { password },
      }
      const over: StoredSession = await page.call("session.v2.SessionService/CreateSession", {
        checks,
        lifetime,
      })
      const { request } = await beginSignIn()
      if (options === "ended") await page.end(over)
      if (options === "expired") provider.clock.advance(60_000)
      if (options === "locked") await lockUser(provider.cx(), other)
      if (options === "deactivated") await deactivateUser(provider.cx(), other)
      if (options === "without a home") await deactivateOrganization(provider.cx(), orgId)
      expect(await idOf(page.finish(request, over))).toMatch(/^session\.(unproven|token_wrong)$/)
    },
  )

  test("of our own pages can't be used by a custom page", async () => {
    const browser = browserOf(provider)
    await browser.signIn("/ui/login", name)
    const { sessions } = await page.call("session.v2.SessionService/ListSessions", {
      queries: [{ query: { case: "userIdQuery", value: { id } } }],
    })
    const { request } = await beginSignIn()
    for (const { id: sessionId } of sessions) {
      const tried = page.finish(request, { sessionId, sessionToken: browser.cookie() })
      expect(await idOf(tried)).toBe("session.token_wrong")
    }
  })
})

describe("a request", () => {
  test("of our own pages is not accepted from a custom page, and vice versa", async () => {
    const ours = await provider.addClient()
    const browser = browserOf(provider)
    const { path } = await browser.go(authorizePath(ours.id))
    const own = new URL(path, "https://x").searchParams.get("authRequest") ?? ""
    expect(await idOf(page.finish({ id: own }, kept))).toBe("auth_request.missing")
    const { request } = await beginSignIn()
    for (const at of ["/ui/login/loginname", "/ui/login/accounts", "/ui/login/consent"]) {
      const shown = await browser.go(`${at}?authRequest=${request.id}`)
      expect([at, shown.response.status]).toEqual([at, 400])
    }
    await browser.signIn("/ui/login", name)
    const end = await browser.go(`/oauth/v2/authorize/callback?id=${request.id}`)
    expect(end.path).not.toContain("code=")
  })

  test("is completed once, however many complete it concurrently", async () => {
    const { request, finish } = await beginSignIn()
    const all = await Promise.allSettled(
      Array.from({ length: 20 }, () => page.finish(request, kept)),
    )
    const answered = all.flatMap((end) => (end.status === "fulfilled" ? [end.value] : []))
    expect(answered).toHaveLength(1)
    await finish(answered[0] ?? "")
    expect(await idOf(page.finish(request, kept))).toBe("auth_request.missing")
    expect(await idOf(page.refuse(request, { error: 3 }))).toBe("auth_request.missing")
    await expect(finish(answered[0] ?? "")).rejects.toMatchObject({ error: "invalid_grant" })
  })

  test("that was denied is finished, and another one's code doesn't fit", async () => {
    const [first, second] = [await beginSignIn(), await beginSignIn()]
    const url = await page.finish(first.request, kept)
    await expect(second.finish(url)).rejects.toThrow()
    await page.refuse(second.request, { error: 3 })
    expect(await idOf(page.finish(second.request, kept))).toBe("auth_request.missing")
  })

  test("expires after an hour", async () => {
    const { request } = await beginSignIn()
    provider.clock.advance(3_600_000)
    expect(await idOf(page.finish(request, kept))).toBe("auth_request.missing")
  })

  test("of a deleted application, or a removed redirect URI, redirects nowhere", async () => {
    for (const change of [
      (appId: string) => deactivateApplication(provider.cx(), appId),
      (appId: string) =>
        updateApplication(provider.cx(), appId, {
          oidc: { redirectUris: ["https://elsewhere.example.com/"] },
        }),
    ]) {
      const other = await addCustomLoginApp(provider)
      const { request } = await beginSignIn(other)
      await change(other.appId)
      for (const end of [page.finish(request, kept), page.refuse(request, { error: 3 })]) {
        expect(await idOf(end)).toBe("auth_request.application_gone")
      }
    }
  })

  test("of another organization's application rejects users whom it excludes", async () => {
    const orgId = provider.cx().ids.next()
    await createOrganization(provider.cx(), orgId, { name: `Other ${name}` })
    const [roles, closed] = [provider.cx().ids.next(), provider.cx().ids.next()]
    await createProject(provider.cx(), roles, { orgId, name: "Roles", projectRoleCheck: true })
    await createProject(provider.cx(), closed, { orgId, name: "Closed", hasProjectCheck: true })
    const restricted = { scope: `openid urn:core:iam:org:id:${orgId}` }
    for (const { request } of [
      await beginSignIn(await addCustomLoginApp(provider, {}, roles)),
      await beginSignIn(await addCustomLoginApp(provider, {}, closed)),
      await beginSignIn(app, restricted),
    ]) {
      expect(await idOf(page.finish(request, kept))).toBe("auth_request.barred")
    }
  })

  test("contains no text that could break out of a URL", async () => {
    const { request, finish } = await beginSignIn()
    for (const bad of [
      { error: 3, errorDescription: 'a"b' },
      { error: 3, errorDescription: "a\r\nset-cookie: x" },
      { error: 3, errorUri: "javascript:alert(1)" },
      { error: 3, errorUri: "https://x.example/ y" },
      { error: 0 },
    ]) {
      expect(await idOf(page.refuse(request, bad))).toBe("request.field_invalid")
    }
    const url = await page.refuse(request, { error: 3, errorDescription: "no & code=1#x" })
    expect(url.startsWith(`${redirectUri}?`)).toBe(true)
    expect(new URL(url).searchParams.get("code")).toBeNull()
    await expect(finish(url)).rejects.toMatchObject({ error: "access_denied" })
  })
})

describe("a dynamically registered application", () => {
  const stranger = "https://phish.example/callback"
  async function registeredAt(uri: string): Promise<string> {
    await enableRegistration(provider, { consentLifetimeSeconds: 86_400 })
    const { answer } = await sendMetadata(provider, {
      client_name: "Prize",
      redirect_uris: [uri],
      token_endpoint_auth_method: "none",
    })
    const id = String(answer.client_id)
    const appId = findClient(provider.cx(), id)?.appId ?? ""
    const loginVersion = { version: "v2", baseUri: pageUri } as const
    await updateApplication(provider.cx(), appId, { oidc: { loginVersion } })
    return id
  }
  async function refusedAt(uri: string, request: Record<string, string> = {}) {
    const id = await registeredAt(uri)
    const changes = { redirect_uri: uri, prompt: "login", ...request }
    const { path } = await browserOf(provider).go(authorizePath(id, changes))
    return new URL(await page.refuse(await page.open(path), { error: 3 }))
  }

  test("is not redirected to automatically after a denial, posted or not", async () => {
    for (const asked of [{}, { response_mode: "form_post" }, { response_mode: "fragment" }]) {
      const url = await refusedAt(stranger, asked)
      expect(url.origin).toBe(issuer)
      const at = await browserOf(provider).go(url.pathname + url.search)
      expect([at.response.status, at.response.headers.get("location")]).toEqual([200, null])
      expect(at.page).toContain("Prize is not verified")
      expect(at.page).not.toContain("data-autosubmit")
      expect(at.page).toContain(stranger)
    }
  })

  test("is redirected to on the user's own device", async () => {
    const url = await refusedAt("http://127.0.0.1:1/back")
    expect(url.origin).toBe("http://127.0.0.1:1")
    expect(url.searchParams.get("error")).toBe("access_denied")
  })

  test("requires consent each time, which is remembered if allowed", async () => {
    const clientId = await registeredAt(redirectUri)
    const asking = authorizePath(clientId)
    for (const _ of [1, 2]) {
      const { path } = await browserOf(provider).go(asking)
      const request = await page.open(path)
      expect(request.prompt).toContain(Prompt.CONSENT)
      const again = await page.signIn(name, password)
      expect(new URL(await page.finish(request, again)).searchParams.has("code")).toBe(true)
      const { appId = "" } = findClient(provider.cx(), clientId) ?? {}
      expect(listValidConsents(provider.cx(), id, appId)).toHaveLength(1)
    }
  })
})

describe("a caller that is not a login page", () => {
  test("can't complete a request, whatever its permissions", async () => {
    const { request } = await beginSignIn()
    const { ownerId: userId, orgId } = provider.setup
    const robot = await addServiceCaller(provider, { name: `robot-${name}`, roles: [] })
    for (const caller of [
      { kind: "user", userId, orgId, clientId: "console" } as const,
      { kind: "user", userId: id, orgId, clientId: "console" } as const,
      robot,
      { kind: "anonymous" } as const,
    ]) {
      const other = createCustomLoginPage(callAs(provider, caller))
      const ends = [
        other.open(`https://x/?authRequest=${request.id}`),
        other.finish(request, kept),
        other.device("BCDF-GHJK"),
        other.decide({ id: "1" }, { case: "deny", value: {} }),
      ]
      for (const end of ends) {
        expect(await idOf(end)).toMatch(/^access\.(denied|token_missing)$/)
      }
    }
  })

  test("can't complete a request of another instance", async () => {
    const { request } = await beginSignIn()
    const tried = page.call(
      "oidc.v2.OIDCService/CreateCallback",
      { authRequestId: request.id, callbackKind: { case: "session", value: kept } },
      { instance: "i2" },
    )
    await expect(tried).rejects.toThrow()
  })
})

test("a session token in a URL is ignored", async () => {
  const house = await openTestServer()
  const query = new URLSearchParams({ session_id: "1", session_token: "secret" })
  for (const path of [
    "/core.session.v2.SessionService/GetSession",
    "/core.session.v2.SessionService/DeleteSession",
    "/v2/sessions/1",
  ]) {
    const got = await fetch(`${house.url}${path}?${query}`, { headers: house.headers })
    expect([path, got.status >= 400]).toEqual([path, true])
    expect(await got.text()).not.toContain("secret")
  }
  await house.close()
})
