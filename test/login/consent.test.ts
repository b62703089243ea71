import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createAuthorization } from "../../src/domain/authorization/index.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { createProject, updateProject } from "../../src/domain/project/index.ts"
import {
  authorizePath,
  browserOf,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  type VisitedPage,
} from "../oauth/provider.ts"

let provider: Provider
let client: NewClient
beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient({ devMode: true })
  await provider.addPerson("pat")
})
afterAll(() => provider.close())

const consentPath = (changes: Readonly<Record<string, string>> = {}) =>
  authorizePath(client.id, { prompt: "consent", ...changes })

const sessionIn = ({ page }: VisitedPage) => /name="session" value="(\d+)"/.exec(page)?.[1] ?? ""

describe("prompt=consent (OpenID Connect Core §3.1.2.1)", () => {
  test("shows the user, the client and the scopes, and responds after consent", async () => {
    const browser = browserOf(provider)
    const asked = await browser.signIn(consentPath({ scope: "openid profile" }))
    expect(asked.path).toMatch(/^\/ui\/login\/consent\?authRequest=/)
    expect(asked.page).toContain("Allow Example App access to your account?")
    expect(asked.page).toContain("Olga Owner")
    expect(asked.page).toContain("your name")
    expect(asked.page).toContain("development mode")
    expect(responseOf(await browser.post(asked, { answer: "allow" }))).toHaveProperty("code")
  })

  test("notifies the client when consent is denied", async () => {
    const browser = browserOf(provider)
    const asked = await browser.signIn(consentPath())
    const { error, state, iss } = responseOf(await browser.post(asked, { answer: "cancel" }))
    expect([error, state, iss]).toEqual(["access_denied", "s-1", issuer])
    // Back in the browser: nothing is left to decide.
    const again = await browser.go(asked.path)
    expect(again.page).toContain("This sign-in is finished")
    expect(again.page).not.toContain("<form")
  })

  test("asks each time", async () => {
    const browser = browserOf(provider)
    await browser.post(await browser.signIn(consentPath()), { answer: "allow" })
    expect((await browser.go(consentPath())).page).toContain(
      "Allow Example App access to your account?",
    )
    expect(responseOf(await browser.go(authorizePath(client.id)))).toHaveProperty("code")
  })

  test("accepts no form of another site or another browser", async () => {
    const browser = browserOf(provider)
    const asked = await browser.signIn(consentPath())
    const session = sessionIn(asked)
    const [path = "", id = ""] = /authRequest=(\d+)/.exec(asked.path) ?? []
    expect(path).not.toBe("")
    const fields = { authRequest: id, session, answer: "allow" }
    const post = (headers: Record<string, string>, more = {}) =>
      provider.send("/ui/login/consent", {
        method: "POST",
        headers,
        body: new URLSearchParams({ ...fields, ...more }),
      })
    const [, csrf = ""] = /name="csrf" value="([^"]*)"/.exec(asked.page) ?? []
    const elsewhere = { cookie: browser.cookie(), origin: "https://evil.example" }
    await post(elsewhere, { csrf })
    await post({ ...elsewhere, origin: `${issuer}.evil.example` }, { csrf })
    await post({ cookie: browser.cookie() }, { csrf: "guess" })
    expect((await post({}, { csrf })).status).toBe(403)
    const other = browserOf(provider)
    await other.signIn(authorizePath(client.id))
    expect((await post({ cookie: other.cookie() }, { csrf })).status).toBe(403)
    expect((await other.go(asked.path)).response.status).toBe(400)
    // The request is still pending, so none of the forms was a decision.
    expect((await browser.go(asked.path)).page).toContain(
      "Allow Example App access to your account?",
    )
    // RFC 3986 §3.2.2: the same host in the fully qualified form, as some browsers send it.
    const inFull = { cookie: browser.cookie(), origin: `${issuer}.` }
    expect((await post(inFull, { csrf })).status).toBe(303)
  })

  test("applies only to the account that was shown", async () => {
    const browser = browserOf(provider)
    const first = await browser.signIn(consentPath())
    const olga = sessionIn(first)
    // In another tab, another user takes over the same request.
    const named = await browser.go(first.path.replace("consent", "loginname"))
    const pat = await browser.post(await browser.post(named, { loginName: "pat" }), {
      loginName: "pat",
      password: "Correct-Horse-7",
    })
    expect(pat.page).toContain("pat")
    expect(sessionIn(pat)).not.toBe(olga)
    const stale = await browser.post(pat, { session: olga, answer: "allow" })
    expect(stale.path).toMatch(/^\/ui\/login\/consent/)
    expect(responseOf(await browser.post(pat, { answer: "allow" }))).toHaveProperty("code")
  })

  test("is not available before sign-in", async () => {
    const browser = browserOf(provider)
    const start = await browser.go(consentPath())
    const page = await browser.go(start.path.replace("loginname", "consent"))
    expect(page.path).toMatch(/^\/ui\/login\/loginname/)
    const posted = await browser.post(page, { answer: "allow" })
    expect(posted.path).not.toContain("code=")
  })
})

describe("a user who can't use an application", () => {
  const bars = [
    ["roles", { projectRoleCheck: true }, "Your account has no role in this application."],
    ["project", { hasProjectCheck: true }, "Your organization has no access to this application."],
  ] as const

  test.each(bars)("sees the reason, and can return: %s", async (_, flags, text) => {
    const cx = provider.cx()
    const orgId = cx.ids.next()
    await createOrganization(cx, orgId, { name: `Else ${orgId}` })
    const projectId = cx.ids.next()
    await createProject(cx, projectId, { orgId, name: "Guarded" })
    await updateProject(cx, projectId, flags)
    const guarded = await provider.addClient({}, projectId)
    const browser = browserOf(provider)
    const page = await browser.signIn(authorizePath(guarded.id))
    expect([page.response.status, page.page.includes(text)]).toEqual([403, true])
    expect(page.page).toContain("Use another account")
    const silent = await browser.go(authorizePath(guarded.id, { prompt: "none" }))
    expect(responseOf(silent).error).toBe("access_denied")
    const back = await browser.post(page, { answer: "cancel" })
    expect(responseOf(back).error).toBe("access_denied")
  })

  test("can use it with a role", async () => {
    const cx = provider.cx()
    const projectId = cx.ids.next()
    await createProject(cx, projectId, { orgId: provider.setup.orgId, name: "Roles" })
    await updateProject(cx, projectId, { projectRoleCheck: true })
    const guarded = await provider.addClient({}, projectId)
    const userId = await provider.addPerson("ruth")
    const browser = browserOf(provider)
    const page = await browser.signIn(authorizePath(guarded.id), "ruth")
    expect(page.response.status).toBe(403)
    const orgId = provider.setup.orgId
    await createAuthorization(cx, cx.ids.next(), { userId, projectId, orgId, roleKeys: [] })
    expect(responseOf(await browser.go(page.path))).toHaveProperty("code")
  })

  test("belongs to another organization than the scope requires", async () => {
    const cx = provider.cx()
    const orgId = cx.ids.next()
    await createOrganization(cx, orgId, { name: "Other" })
    await provider.addPerson("otto", orgId)
    const scope = `openid urn:core:iam:org:id:${orgId}`
    const browser = browserOf(provider)
    const page = await browser.signIn(authorizePath(client.id, { scope }))
    expect(page.page).toContain("Only users of another organization can sign in here.")
    // Another account of the right organization continues the same request.
    const named = await browser.go(page.path.replace("consent", "loginname"))
    const asked = await browser.post(named, { loginName: "otto" })
    const end = await browser.post(asked, { loginName: "otto", password: "Correct-Horse-7" })
    expect(responseOf(end)).toHaveProperty("code")
    const nobody = authorizePath(client.id, { scope: "openid urn:core:iam:org:id:0" })
    expect((await browser.go(nobody)).path).toMatch(/^\/ui\/login\/accounts/)
  })
})
