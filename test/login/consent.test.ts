import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createAuthorization } from "../../src/domain/authorization/index.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { changeProject, createProject } from "../../src/domain/project/index.ts"
import {
  answerOf,
  authorizePath,
  browserOf,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  type Visited,
} from "../oauth/provider.ts"

let provider: Provider
let client: NewClient
beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient({ devMode: true })
  await provider.addPerson("pat")
})
afterAll(() => provider.close())

const asking = (changes: Readonly<Record<string, string>> = {}) =>
  authorizePath(client.id, { prompt: "consent", ...changes })

const sessionIn = ({ page }: Visited) => /name="session" value="(\d+)"/.exec(page)?.[1] ?? ""

describe("prompt=consent (OpenID Connect Core §3.1.2.1)", () => {
  test("shows who lets in whom, to what, and answers when it is allowed", async () => {
    const browser = browserOf(provider)
    const asked = await browser.signIn(asking({ scope: "openid profile" }))
    expect(asked.path).toMatch(/^\/ui\/login\/consent\?authRequest=/)
    expect(asked.page).toContain("Allow Example App access to your account?")
    expect(asked.page).toContain("Olga Owner")
    expect(asked.page).toContain("your name")
    expect(asked.page).toContain("development mode")
    expect(answerOf(await browser.post(asked, { answer: "allow" }))).toHaveProperty("code")
  })

  test("tells the client when it is refused", async () => {
    const browser = browserOf(provider)
    const asked = await browser.signIn(asking())
    const { error, state, iss } = answerOf(await browser.post(asked, { answer: "cancel" }))
    expect([error, state, iss]).toEqual(["access_denied", "s-1", issuer])
    // Back in the browser: there is nothing left to decide.
    const again = await browser.go(asked.path)
    expect(again.page).toContain("This sign-in is finished")
    expect(again.page).not.toContain("<form")
  })

  test("asks each time", async () => {
    const browser = browserOf(provider)
    await browser.post(await browser.signIn(asking()), { answer: "allow" })
    expect((await browser.go(asking())).page).toContain("Allow Example App access to your account?")
    expect(answerOf(await browser.go(authorizePath(client.id)))).toHaveProperty("code")
  })

  test("goes nowhere by a form of another site or another browser", async () => {
    const browser = browserOf(provider)
    const asked = await browser.signIn(asking())
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
    // Still waits: nothing of that was an answer.
    expect((await browser.go(asked.path)).page).toContain(
      "Allow Example App access to your account?",
    )
    // RFC 3986 §3.2.2: the same host, as a browser writes it that was given it in full.
    const inFull = { cookie: browser.cookie(), origin: `${issuer}.` }
    expect((await post(inFull, { csrf })).status).toBe(303)
  })

  test("counts for the account that was shown, and for no other", async () => {
    const browser = browserOf(provider)
    const first = await browser.signIn(asking())
    const olga = sessionIn(first)
    // In another tab, somebody else takes over the same request.
    const named = await browser.go(first.path.replace("consent", "loginname"))
    const pat = await browser.post(await browser.post(named, { loginName: "pat" }), {
      loginName: "pat",
      password: "Correct-Horse-7",
    })
    expect(pat.page).toContain("pat")
    expect(sessionIn(pat)).not.toBe(olga)
    const stale = await browser.post(pat, { session: olga, answer: "allow" })
    expect(stale.path).toMatch(/^\/ui\/login\/consent/)
    expect(answerOf(await browser.post(pat, { answer: "allow" }))).toHaveProperty("code")
  })

  test("is no entrance for who has to sign in first", async () => {
    const browser = browserOf(provider)
    const start = await browser.go(asking())
    const page = await browser.go(start.path.replace("loginname", "consent"))
    expect(page.path).toMatch(/^\/ui\/login\/loginname/)
    const posted = await browser.post(page, { answer: "allow" })
    expect(posted.path).not.toContain("code=")
  })
})

describe("who may not use an application", () => {
  const bars = [
    ["roles", { projectRoleCheck: true }, "Your account has no role in this application."],
    ["project", { hasProjectCheck: true }, "Your organization has no access to this application."],
  ] as const

  test.each(bars)("is told so, and can go back: %s", async (_, flags, text) => {
    const cx = provider.cx()
    const orgId = cx.ids.next()
    await createOrganization(cx, orgId, { name: `Else ${orgId}` })
    const projectId = cx.ids.next()
    await createProject(cx, projectId, { orgId, name: "Guarded" })
    await changeProject(cx, projectId, flags)
    const guarded = await provider.addClient({}, projectId)
    const browser = browserOf(provider)
    const page = await browser.signIn(authorizePath(guarded.id))
    expect([page.response.status, page.page.includes(text)]).toEqual([403, true])
    expect(page.page).toContain("Use another account")
    const silent = await browser.go(authorizePath(guarded.id, { prompt: "none" }))
    expect(answerOf(silent).error).toBe("access_denied")
    const back = await browser.post(page, { answer: "cancel" })
    expect(answerOf(back).error).toBe("access_denied")
  })

  test("comes in with a role", async () => {
    const cx = provider.cx()
    const projectId = cx.ids.next()
    await createProject(cx, projectId, { orgId: provider.setup.orgId, name: "Roles" })
    await changeProject(cx, projectId, { projectRoleCheck: true })
    const guarded = await provider.addClient({}, projectId)
    const userId = await provider.addPerson("ruth")
    const browser = browserOf(provider)
    const page = await browser.signIn(authorizePath(guarded.id), "ruth")
    expect(page.response.status).toBe(403)
    const orgId = provider.setup.orgId
    await createAuthorization(cx, cx.ids.next(), { userId, projectId, orgId, roleKeys: [] })
    expect(answerOf(await browser.go(page.path))).toHaveProperty("code")
  })

  test("is of another organisation than the scope names", async () => {
    const cx = provider.cx()
    const orgId = cx.ids.next()
    await createOrganization(cx, orgId, { name: "Other" })
    await provider.addPerson("otto", orgId)
    const scope = `openid urn:core:iam:org:id:${orgId}`
    const browser = browserOf(provider)
    const page = await browser.signIn(authorizePath(client.id, { scope }))
    expect(page.page).toContain("Only users of another organization can sign in here.")
    // Another account of the right organisation goes on with the very same request.
    const named = await browser.go(page.path.replace("consent", "loginname"))
    const asked = await browser.post(named, { loginName: "otto" })
    const end = await browser.post(asked, { loginName: "otto", password: "Correct-Horse-7" })
    expect(answerOf(end)).toHaveProperty("code")
    const nobody = authorizePath(client.id, { scope: "openid urn:core:iam:org:id:0" })
    expect((await browser.go(nobody)).path).toMatch(/^\/ui\/login\/accounts/)
  })
})
