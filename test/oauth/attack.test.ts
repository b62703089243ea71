import { createPrivateKey } from "node:crypto"
import { decodeJwt, SignJWT } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { deactivateApplication, updateApplication } from "../../src/domain/app/index.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { deactivateOrganization } from "../../src/domain/org/index.ts"
import { createProject, project } from "../../src/domain/project/index.ts"
import { createUser } from "../../src/domain/user/create.ts"
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
} from "./provider.ts"

let provider: Provider
let web: NewClient
beforeAll(async () => {
  provider = await openProvider()
  web = await provider.addClient()
})
afterAll(() => provider.close())

/** A client of another project, whose ID the attacker chose. */
async function foreignClient(projectId = provider.cx().ids.next()): Promise<NewClient> {
  await createProject(provider.cx(), projectId, { orgId: provider.setup.orgId, name: "Theirs" })
  return provider.addClient({}, projectId)
}

/** A project from a version that did not compare its ID with those of clients. */
async function clientOfOlderProject(
  projectId: string,
  config: Parameters<Provider["addClient"]>[0] = {},
): Promise<NewClient> {
  const data = {
    name: "Theirs",
    projectRoleAssertion: false,
    projectRoleCheck: false,
    hasProjectCheck: false,
    privateLabelingSetting: "unspecified",
  }
  await provider.store.transact(provider.cx(), (tx) =>
    tx.append(project, projectId, [{ type: "project.added", data }], provider.setup.orgId),
  )
  return provider.addClient(config, projectId)
}

const tokenOf = async (client: NewClient, code: string | undefined) =>
  sendTokenRequest(provider, codeFields(code ?? ""), `${client.id}:${client.secret}`)

describe("the scope of the management API", () => {
  const scope = "openid urn:core:iam:org:project:id:core:aud"

  test("is not granted silently because the application sends a login_hint", async () => {
    const evil = await foreignClient()
    const browser = browserOf(provider)
    const first = responseOf(await browser.signIn(authorizePath(evil.id)))
    const { answer } = await tokenOf(evil, first.code)
    const hints = [{ login_hint: "olga" }, { id_token_hint: String(answer.id_token) }]
    for (const hint of hints) {
      const shown = await browser.go(authorizePath(evil.id, { scope, ...hint }))
      expect(shown.path).toMatch(/^\/ui\/login\/consent\?/)
      const silent = await browser.go(authorizePath(evil.id, { scope, ...hint, prompt: "none" }))
      expect(responseOf(silent).error).toBe("consent_required")
    }
  })

  test("is shown to the user for consent", async () => {
    const evil = await foreignClient()
    const page = await browserOf(provider).go(authorizePath(evil.id, { scope }))
    expect(page.page).toContain("It can manage this Latchkey instance on your behalf.")
    const harmless = await browserOf(provider).go(authorizePath(evil.id))
    expect(harmless.page).not.toContain("It can manage")
  })
})

describe("a hint", () => {
  test("does not reveal which login names exist", async () => {
    await provider.addPerson("victoria")
    const browser = browserOf(provider)
    await browser.signIn(authorizePath(web.id))
    const answer = async (login_hint: string) => {
      const { path } = await browser.go(authorizePath(web.id, { login_hint, prompt: "none" }))
      return responseOf({ path } as never).error
    }
    expect(await answer("victoria")).toBe("login_required")
    expect(await answer("nobody-at-all")).toBe("login_required")
  })

  test("does not reveal the user of an id_token to an application", async () => {
    const end = responseOf(await browserOf(provider).signIn(authorizePath(web.id)))
    const { answer } = await tokenOf(web, end.code)
    const hint = { scope: "openid", id_token_hint: String(answer.id_token) }
    const page = await browserOf(provider).go(authorizePath(web.id, hint))
    expect(page.page).toContain("<form")
    expect(page.page).not.toMatch(/olga/i)
    const password = await browserOf(provider).go(page.path.replace("loginname", "password"))
    expect(password.page).not.toMatch(/olga/i)
  })
})

describe("an audience", () => {
  test("never contains another client, even if an older project has its ID", async () => {
    await expect(foreignClient(web.id)).rejects.toMatchObject({ code: "already_exists" })
    const evil = await clientOfOlderProject(web.id, { idTokenProjectAudience: true })
    const scope = `openid urn:core:iam:org:project:id:${web.id}:aud`
    const end = responseOf(await browserOf(provider).signIn(authorizePath(evil.id, { scope })))
    const { answer } = await tokenOf(evil, end.code)
    expect(decodeJwt(String(answer.id_token)).aud).toEqual([evil.id])
  })

  test("of an exchanged ID token contains no client with the project's ID", async () => {
    const grantTypes = ["authorization_code", "token_exchange"] as const
    const prey = await provider.addClient()
    const evil = await clientOfOlderProject(prey.id, { grantTypes, tokenType: "jwt" })
    const end = responseOf(await browserOf(provider).signIn(authorizePath(evil.id)))
    const { answer } = await tokenOf(evil, end.code)
    const fields = {
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: String(answer.id_token),
      subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
      requested_token_type: "urn:ietf:params:oauth:token-type:jwt",
    }
    const exchanged = await sendTokenRequest(provider, fields, `${evil.id}:${evil.secret}`)
    expect(decodeJwt(String(exchanged.answer.access_token)).aud).toEqual([evil.id])
  })

  test("of a client differs from that of a project with the same, older ID", async () => {
    const prey = await provider.addClient()
    const grantTypes = ["authorization_code", "token_exchange"] as const
    const evil = await clientOfOlderProject(prey.id, { grantTypes: [...grantTypes] })
    const end = responseOf(await browserOf(provider).signIn(authorizePath(prey.id)))
    const { answer } = await tokenOf(prey, end.code)
    const token = String(answer.access_token)
    const as = `${evil.id}:${evil.secret}`
    const authorization = `Basic ${Buffer.from(as).toString("base64")}`
    const body = new URLSearchParams({ token })
    const init = { method: "POST", headers: { authorization }, body }
    const told = await provider.send("/oauth/v2/introspect", init)
    expect(await told.json()).toEqual({ active: false })
    const subject_token_type = "urn:ietf:params:oauth:token-type:access_token"
    const grant_type = "urn:ietf:params:oauth:grant-type:token-exchange"
    const exchange = { grant_type, subject_token: token, subject_token_type }
    expect((await sendTokenRequest(provider, exchange, as)).answer.error).toBe("invalid_request")
  })

  test("does not match another client when a service account has its ID", async () => {
    const cx = provider.cx()
    const machine = { kind: "machine", name: "Evil", accessTokenType: "bearer" } as const
    const orgId = provider.setup.orgId
    const made = createUser(cx, web.id, { ...machine, orgId, userName: "evil" })
    await expect(made).rejects.toMatchObject({ code: "already_exists" })
  })
})

type KeyFile = { readonly keyId: string; readonly key: string }

async function requestByAssertion(id: unknown, { keyId, key }: KeyFile, kid: unknown = keyId) {
  const now = Math.floor(provider.clock.now() / 1000)
  const claims = { iss: id, sub: id, aud: issuer, iat: now, exp: now + 300 }
  const assertion = await new SignJWT(JSON.parse(JSON.stringify(claims)))
    .setProtectedHeader(JSON.parse(JSON.stringify({ alg: "RS256", kid })))
    .sign(createPrivateKey(key))
  const grant_type = "urn:ietf:params:oauth:grant-type:jwt-bearer"
  return sendTokenRequest(provider, { grant_type, assertion, scope: "openid" })
}

describe("an assertion", () => {
  const wrong = [5, true, null, [], {}, ["x"], { a: 1 }].map((value) => ({ value }))
  test.each(wrong)(
    "with $value for iss or kid is rejected without an internal error",
    async ({ value }) => {
      const file = JSON.parse(provider.setup.serviceKey ?? "")
      const both = [
        await requestByAssertion(value, file),
        await requestByAssertion(file.userId, file, value),
      ]
      for (const { status, answer } of both) {
        expect([status, answer.error]).toEqual([400, "invalid_grant"])
      }
    },
  )
})

describe("a deactivated organization", () => {
  test("ends the sessions of its users, and rejects their sign-ins", async () => {
    const cx = provider.cx()
    const orgId = cx.ids.next()
    await createOrganization(cx, orgId, { name: "Closing" })
    await provider.addPerson("clara", orgId)
    const browser = browserOf(provider)
    await browser.signIn(authorizePath(web.id), "clara")
    await deactivateOrganization(cx, orgId)
    const silent = await browser.go(authorizePath(web.id, { prompt: "none" }))
    expect(responseOf(silent).error).toBe("login_required")
    const end = await browserOf(provider).signIn(authorizePath(web.id), "clara")
    expect([end.response.status, end.response.headers.getSetCookie()]).toEqual([403, []])
    const wrong = await browserOf(provider).signIn(authorizePath(web.id), "clara", "Wrong-Horse-7")
    expect(wrong.response.status).toBe(422)
  })
})

describe("a body", () => {
  test("above the limit is not read, whatever its declared length", async () => {
    const form = { "content-type": "application/x-www-form-urlencoded" }
    for (const path of ["/oauth/v2/token", "/oidc/v1/userinfo", "/ui/login/loginname"]) {
      let sent = 0
      const body = new ReadableStream({
        pull: (stream) => {
          sent++
          if (sent > 1000) stream.close()
          else stream.enqueue(new Uint8Array(10_000).fill(97))
        },
      })
      const response = await provider.send(path, { method: "POST", headers: form, body })
      expect(response.status).toBeGreaterThanOrEqual(400)
      expect(response.status).toBeLessThan(500)
      expect(sent).toBeLessThan(20)
    }
  })
})

describe("a redirect URI", () => {
  test("can't terminate the policy directive that contains it", async () => {
    const uri = "https://app.example;script-src/callback"
    const odd = await provider.addClient({ redirectUris: [uri] })
    const page = await browserOf(provider).go(authorizePath(odd.id, { redirect_uri: uri }))
    const policy = page.response.headers.get("content-security-policy") ?? ""
    expect(policy.split(";").filter((each) => each.trim().startsWith("script-src"))).toHaveLength(1)
    expect(policy).not.toContain("app.example")
  })

  test("with non-ASCII characters can't be registered, because browsers change it", async () => {
    const redirectUris = ["https://app.example.com/日本"]
    await expect(provider.addClient({ redirectUris })).rejects.toThrow("ASCII")
  })

  test("removed or disabled during a sign-in receives nothing", async () => {
    const taken = await provider.addClient({ redirectUris: [redirectUri, `${redirectUri}/2`] })
    const stopped = await provider.addClient({
      responseTypes: ["id_token_token"],
      grantTypes: ["implicit"],
    })
    const implicit = { response_type: "id_token token", code_challenge: undefined }
    const path = authorizePath(stopped.id, { ...implicit, code_challenge_method: undefined })
    for (const [client, address, act] of [
      [taken, authorizePath(taken.id), () => change(taken, [`${redirectUri}/2`])],
      [stopped, path, () => deactivateApplication(provider.cx(), stopped.appId)],
    ] as const) {
      const browser = browserOf(provider)
      const named = await browser.post(await browser.go(address), { loginName: "olga" })
      await act()
      const end = await browser.post(named, { loginName: "olga", password })
      expect(end.response.status, client.id).toBe(400)
      expect(end.response.headers.get("location"), client.id).toBeNull()
    }
    await change(taken, [redirectUri])
    expect(responseOf(await browserOf(provider).signIn(authorizePath(taken.id)))).toHaveProperty(
      "code",
    )
  })

  const change = ({ appId }: NewClient, redirectUris: readonly string[]) =>
    updateApplication(provider.cx(), appId, { oidc: { redirectUris } })

  test("returns the state unchanged, and no injected header", async () => {
    const state = "a\r\nset-cookie: x=y\u0000\u{1f600}"
    const { headers } = await provider.send(authorizePath(web.id, { prompt: "none", state }))
    expect(new URL(headers.get("location") ?? "").searchParams.get("state")).toBe(state)
    expect(headers.getSetCookie().join()).not.toContain("x=y")
  })
})
