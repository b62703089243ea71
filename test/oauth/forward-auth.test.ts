import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  deactivateApplication,
  type RemoteUser,
  updateApplication,
} from "../../src/domain/app/index.ts"
import { addAuthorization, updateAuthorization } from "../../src/domain/authorization/index.ts"
import { createPassword } from "../../src/domain/credential/commands.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { addRoles, createProject } from "../../src/domain/project/index.ts"
import { createUser } from "../../src/domain/user/create.ts"
import {
  browserOf,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  password,
} from "./provider.ts"

const host = "wiki.example.com"
const callback = `https://${host}/.latchkey/callback`

let provider: Provider
let client: NewClient
let pat: string
beforeAll(async () => {
  provider = await openProvider()
  const cx = provider.cx()
  await createProject(cx, "wiki", { orgId: provider.setup.orgId, name: "Wiki" })
  await addRoles(
    cx,
    "wiki",
    ["admin", "editor"].map((key) => ({ key, displayName: key })),
  )
  client = await provider.addClient(
    {
      redirectUris: [callback],
      pkce: "required",
      postLogoutRedirectUris: [`https://${host}/bye`],
      accessRules: [
        { prefix: "/admin", everybody: false, roles: ["admin"] },
        { prefix: "/public/", everybody: true, roles: [] },
      ],
    },
    "wiki",
  )
  pat = await provider.addPerson("pat")
  const given = { userId: pat, projectId: "wiki", orgId: provider.setup.orgId }
  await provider.store.transact(cx, (tx) =>
    addAuthorization(tx, "a1", { ...given, roleKeys: ["editor"] }),
  )
})
afterAll(() => provider.close())

type ProxyRequest = {
  readonly target?: string
  readonly cookie?: string
  readonly at?: string
  readonly client?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** The proxy's request for a browser that requests a page of the protected host. */
const requestAccess = ({ target = "/", cookie = "", at = "", ...more }: ProxyRequest = {}) =>
  provider.send(`/forward-auth/id.example.com/${more.client ?? client.id}${at}`, {
    headers: {
      accept: "text/html",
      "x-forwarded-host": host,
      "x-forwarded-uri": target,
      ...(cookie && { cookie }),
      ...more.headers,
    },
  })

const cookiesOf = (answer: Response): string =>
  answer.headers
    .getSetCookie()
    .map((line) => line.split(";")[0])
    .join("; ")

const readHeaders = { "x-forwarded-method": "GET" }

const redirectOf = (answer: Response): URL => new URL(answer.headers.get("location") ?? "", issuer)

/** The page that a rejection redirects the browser to. */
async function openExplanation(refused: Response): Promise<Response> {
  const [, href = ""] = /url=([^"]*)"/.exec(await refused.text()) ?? []
  const { pathname, search } = new URL(href.replaceAll("&amp;", "&"))
  expect(pathname).toBe("/forward-auth/refused")
  return provider.send(pathname + search)
}

/** Signs in, and returns the session cookie of the protected host. */
async function signIn(loginName: string, target = "/page?x=1&y=2") {
  const begun = await requestAccess({ target, headers: readHeaders })
  const browser = browserOf(provider)
  const visited = await browser.signIn(
    redirectOf(begun).pathname + redirectOf(begun).search,
    loginName,
  )
  const back = new URL(visited.path)
  const way = cookiesOf(begun)
  const done = await requestAccess({ target: back.pathname + back.search, cookie: way })
  return { done, back, way, browser, cookie: cookiesOf(done) }
}

const setRemoteUser = (remoteUser: RemoteUser) =>
  updateApplication(provider.cx(), client.appId, {
    oidc: { remoteUser },
  })

describe("a host behind a proxy with forward authentication", () => {
  test("redirects an anonymous user to the sign-in, with a code and PKCE", async () => {
    const answer = await requestAccess({ target: "/page" })
    expect(answer.status).toBe(303)
    const to = redirectOf(answer)
    expect(to.origin + to.pathname).toBe(`${issuer}/oauth/v2/authorize`)
    expect(to.searchParams.get("redirect_uri")).toBe(callback)
    expect(to.searchParams.get("code_challenge_method")).toBe("S256")
    expect(answer.headers.get("set-cookie")).toMatch(
      /^__Host-latchkey-at-way-\d+=[\w-]{43}; HttpOnly; Path=\/; SameSite=Lax; Max-Age=3600;/,
    )
    expect(answer.headers.get("set-cookie")).toMatch(/; Secure$/)
  })

  test("returns to the requested page, with the user's headers", async () => {
    const { done, cookie } = await signIn("pat")
    expect(done.headers.get("location")).toBe(`https://${host}/page?x=1&y=2`)
    const answer = await requestAccess({ cookie })
    expect(answer.status).toBe(200)
    expect(answer.headers.get("remote-user")).toBe("pat")
    expect(answer.headers.get("remote-user-id")).toBe(pat)
    expect(answer.headers.get("remote-email")).toBe("pat@example.org")
    expect(answer.headers.get("remote-name")).toBe("Pat Person")
    expect(answer.headers.get("remote-groups")).toBe("editor")
    expect(answer.headers.get("cache-control")).toBe("no-store")
  })

  test("receives no address that only another organization has verified", async () => {
    const boss = { kind: "user", userId: "boss", orgId: "other", clientId: "console" } as const
    await createOrganization(provider.cx(), "other", { name: "Other" })
    await createUser(provider.cx({ caller: boss }), "prepared", {
      kind: "human",
      orgId: "other",
      userName: "prepared",
      profile: { givenName: "C", familyName: "Eo" },
      email: { value: "ceo@corp.test", verified: true },
      password: await createPassword(password, { names: [] }),
    })
    const given = { userId: "prepared", projectId: "wiki", orgId: provider.setup.orgId }
    await provider.store.transact(provider.cx(), (tx) =>
      addAuthorization(tx, "a2", { ...given, roleKeys: ["editor"] }),
    )
    const { cookie } = await signIn("prepared")
    const { headers } = await requestAccess({ cookie })
    expect(headers.get("remote-user")).toContain("prepared")
    expect(headers.get("remote-email")).toBe("")
  })

  test("identifies the user as the application is configured", async () => {
    const { cookie } = await signIn("pat")
    const named = async (remoteUser: RemoteUser) => {
      await setRemoteUser(remoteUser)
      const { status, headers } = await requestAccess({ cookie })
      return [status, headers.get("remote-user"), headers.get("remote-user-id")]
    }
    try {
      expect(await named("user_id")).toEqual([200, pat, pat])
      expect(await named("email")).toEqual([200, "pat@example.org", pat])
    } finally {
      expect(await named("login_name")).toEqual([200, "pat", pat])
    }
  })

  test("rejects users without the address that identifies them, except publicly", async () => {
    await setRemoteUser("email")
    try {
      const { cookie } = await signIn("prepared")
      expect((await requestAccess({ cookie, at: "/check" })).status).toBe(403)
      const page = await openExplanation(await requestAccess({ cookie }))
      expect([page.status, await page.text()]).toEqual([
        403,
        expect.stringContaining("by a verified email address"),
      ])
      const open = await requestAccess({ cookie, target: "/public/x" })
      expect([open.status, open.headers.get("remote-user-id")]).toEqual([200, ""])
    } finally {
      await setRemoteUser("login_name")
    }
  })

  test("enforces roles, with immediate effect", async () => {
    const { cookie } = await signIn("pat")
    const asked = { target: "/admin", cookie }
    const refused = await requestAccess(asked)
    expect([refused.status, refused.headers.get("location")]).toEqual([403, null])
    expect((await requestAccess({ ...asked, at: "/check" })).status).toBe(403)
    const page = await openExplanation(refused)
    expect(page.status).toBe(403)
    expect(await page.text()).toContain(`https://${host}/.latchkey/sign-in`)
    await updateAuthorization(provider.cx(), "a1", ["editor", "admin"])
    expect((await requestAccess(asked)).headers.get("remote-groups")).toBe("editor,admin")
    await updateAuthorization(provider.cx(), "a1", ["editor"])
    expect((await requestAccess({ ...asked, at: "/check" })).status).toBe(403)
  })

  test("allows anonymous access to public pages, and sends no user", async () => {
    const headers = { "remote-user": "admin", "remote-user-id": pat }
    const answer = await requestAccess({ target: "/public/x", headers })
    expect(answer.status).toBe(200)
    expect(answer.headers.get("remote-user")).toBe("")
    expect(answer.headers.get("remote-user-id")).toBe("")
    expect((await requestAccess({ target: "/public/../admin", at: "/check" })).status).toBe(401)
  })

  test("responds to programs, and nginx, with a status instead of a redirect", async () => {
    const program = await requestAccess({ headers: { accept: "application/json" } })
    expect(program.status).toBe(401)
    expect((await requestAccess({ at: "/check" })).status).toBe(401)
  })

  test.each([
    ["a form that was sent too late", { "x-forwarded-method": "POST" }],
    ["a request whose method the proxy does not name", {}],
  ])("returns to the start page after %s", async (_, headers) => {
    const begun = await requestAccess({ target: "/save", headers })
    const browser = browserOf(provider)
    const { path } = await browser.signIn(
      redirectOf(begun).pathname + redirectOf(begun).search,
      "pat",
    )
    const back = new URL(path)
    const done = await requestAccess({
      target: back.pathname + back.search,
      cookie: cookiesOf(begun),
    })
    expect(done.headers.get("location")).toBe(`https://${host}/`)
  })
})

describe("a session cookie of the host", () => {
  test("is valid at its host in any spelling (RFC 9110 §4.2.3)", async () => {
    const { cookie } = await signIn("pat")
    for (const same of [`${host}:443`, `${host}.`, host.toUpperCase()]) {
      const headers = { "x-forwarded-host": same }
      expect((await requestAccess({ cookie, at: "/check", headers })).status, same).toBe(200)
    }
  })

  test("is valid at its own host and for its own application only", async () => {
    const { cookie } = await signIn("pat")
    const other = "other.example.com"
    await updateApplication(provider.cx(), client.appId, {
      oidc: { redirectUris: [callback, `https://${other}/.latchkey/callback`] },
    })
    const elsewhere = await requestAccess({
      cookie,
      at: "/check",
      headers: { "x-forwarded-host": other },
    })
    expect(elsewhere.status).toBe(401)
    const second = await provider.addClient({ redirectUris: [callback] }, "wiki")
    const renamed = cookie.replaceAll(client.id, second.id)
    const answer = await requestAccess({ cookie: renamed, at: "/check", client: second.id })
    expect(answer.status).toBe(401)
  })

  test("is not a token of ours", async () => {
    const { cookie } = await signIn("pat")
    const token = cookie.slice(cookie.indexOf("=") + 1)
    const headers = { authorization: `Bearer ${token}` }
    expect((await provider.send("/oidc/v1/userinfo", { headers })).status).toBe(401)
  })

  test("is rejected when it was altered", async () => {
    const { cookie } = await signIn("pat")
    const altered = `${cookie.slice(0, -2)}${cookie.endsWith("A") ? "BA" : "AA"}`
    for (const each of [altered, cookie.slice(0, -1), `${cookie}A`]) {
      expect((await requestAccess({ cookie: each, at: "/check" })).status).toBe(401)
    }
  })

  test("ends with its session, and with the application's session lifetime", async () => {
    const { cookie, browser } = await signIn("pat")
    expect((await requestAccess({ cookie, at: "/check" })).status).toBe(200)
    const bye = await browser.go("/oidc/v1/endsession")
    await browser.post(bye, {})
    expect((await requestAccess({ cookie, at: "/check" })).status).toBe(401)
    const later = await signIn("pat")
    provider.clock.advance(12 * 3_600_000 + 1000)
    expect((await requestAccess({ cookie: later.cookie, at: "/check" })).status).toBe(401)
  })
})

describe("the callback", () => {
  test("works only in the browser that started, which has its secret", async () => {
    const { back } = await signIn("pat")
    const stolen = await requestAccess({ target: back.pathname + back.search })
    expect(redirectOf(stolen).searchParams.get("why")).toBe("way")
    const begun = await requestAccess({})
    const own = await requestAccess({
      target: back.pathname + back.search,
      cookie: cookiesOf(begun),
    })
    expect(redirectOf(own).searchParams.get("why")).toBe("way")
    expect(own.headers.get("set-cookie")).toBeNull()
  })

  test("redirects nowhere else, whatever the parameters", async () => {
    for (const target of ["//evil.example/", "/\\evil.example", "/@evil.example"]) {
      const { done } = await signIn("pat", target)
      expect(new URL(done.headers.get("location") ?? "").host).toBe(host)
    }
  })

  test("reports a failed sign-in", async () => {
    const begun = await requestAccess({})
    const state = redirectOf(begun).searchParams.get("state")
    const target = `/.latchkey/callback?error=access_denied&state=${state}`
    const answer = await requestAccess({ target, cookie: cookiesOf(begun) })
    expect(redirectOf(answer).searchParams.get("why")).toBe("sign-in")
  })
})

describe("the headers of a proxy", () => {
  test.each([
    ["a host that is not registered", { "x-forwarded-host": "evil.example" }, "redirect URI"],
    ["two hosts", { "x-forwarded-host": `${host}, ${host}` }, "redirect URI"],
    ["no address", { "x-forwarded-uri": "" }, "X-Forwarded-Uri"],
    ["an address elsewhere", { "x-forwarded-uri": "https://evil.example/" }, "X-Forwarded-Uri"],
  ])("%s is rejected, with an explanation for its administrator", async (_, headers, words) => {
    const answer = await requestAccess({ headers })
    expect(answer.status).toBe(403)
    expect(await answer.text()).toContain(words)
    expect(answer.headers.get("location")).toBeNull()
  })

  test.each(["remote_user", "Remote_User-Id", "remote.groups", "REMOTE_EMAIL"])(
    "a request with %s, which programs would trust, is rejected for every user",
    async (name) => {
      const { cookie } = await signIn("pat")
      const headers = { [name]: "admin" }
      for (const at of ["", "/check"]) {
        for (const target of ["/", "/public/x"]) {
          const answer = await requestAccess({ at, target, cookie, headers })
          expect([answer.status, answer.headers.get("remote-user")]).toEqual([403, null])
          expect(await answer.text()).toContain(name.toLowerCase())
        }
      }
      expect((await requestAccess({ cookie, headers: { "remote-user": "admin" } })).status).toBe(
        200,
      )
      expect((await requestAccess({ cookie, headers: { "x-remote_user": "admin" } })).status).toBe(
        200,
      )
    },
  )

  test("an unknown application is rejected", async () => {
    expect((await requestAccess({ client: "1" })).status).toBe(403)
  })

  test("the error page links to registered hosts only", async () => {
    const query = `client_id=${client.id}&host=evil.example&why=role`
    const page = await provider.send(`/forward-auth/refused?${query}`)
    expect(await page.text()).not.toContain("evil.example")
  })
})

test("signing out ends the session cookie, and asks for confirmation at our own host", async () => {
  const answer = await requestAccess({ target: "/.latchkey/sign-out" })
  const to = redirectOf(answer)
  expect(to.origin + to.pathname).toBe(`${issuer}/oidc/v1/endsession`)
  expect(to.searchParams.get("post_logout_redirect_uri")).toBe(`https://${host}/bye`)
  expect(answer.headers.get("set-cookie")).toContain("Max-Age=0")
})

test("a deactivated application rejects every request", async () => {
  const { cookie } = await signIn("pat")
  await deactivateApplication(provider.cx(), client.appId)
  expect((await requestAccess({ cookie, at: "/check" })).status).toBe(401)
})
