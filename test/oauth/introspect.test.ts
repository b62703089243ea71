import { generateKeyPairSync } from "node:crypto"
import { decodeJwt } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createApplication } from "../../src/domain/app/commands.ts"
import * as app from "../../src/domain/app/index.ts"
import * as project from "../../src/domain/project/index.ts"
import {
  createPersonalToken,
  removePersonalToken,
} from "../../src/domain/service-account/personal-token.ts"
import { addKeyClient, addServiceAccount, encodeBasic, signAssertion } from "./clients.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"

const grantTypes = ["authorization_code", "refresh_token"] as const
const hour = 3_600_000

let provider: Provider
let client: NewClient
beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient({ grantTypes })
})
afterAll(() => provider.close())

/** A project with an API in it. */
const addApi = async (id = provider.cx().ids.next()) => {
  const cx = provider.cx()
  await project.createProject(cx, id, { orgId: provider.setup.orgId, name: `Project ${id}` })
  const appId = cx.ids.next()
  const config = { kind: "api", api: { authMethod: "basic" } } as const
  const made = await createApplication(cx, appId, { projectId: id, name: "API", config })
  return { projectId: id, api: { appId, id: made.clientId, secret: made.secret ?? "" } }
}

const begin = async (of = client, scope = "openid profile email offline_access") => {
  const path = authorizePath(of.id, { scope })
  const { code = "" } = responseOf(await browserOf(provider).signIn(path))
  const { answer } = await sendTokenRequest(provider, codeFields(code), `${of.id}:${of.secret}`)
  return { access: String(answer.access_token), refresh: String(answer.refresh_token), code }
}

const post = (fields: Record<string, string>, basic?: string) => {
  const headers: Record<string, string> = basic
    ? { authorization: `Basic ${Buffer.from(basic).toString("base64")}` }
    : {}
  const body = new URLSearchParams(fields)
  return provider.send("/oauth/v2/introspect", { method: "POST", body, headers })
}

const introspect = async (token: string, of = client) => {
  const response = await post({ token }, `${of.id}:${of.secret}`)
  expect([response.status, response.headers.get("cache-control")]).toEqual([200, "no-store"])
  return response.json()
}

const inactive = { active: false }

describe("introspection (RFC 7662)", () => {
  test.each(["bearer", "jwt"] as const)("returns the client's own %s token", async (type) => {
    const of = await provider.addClient({ tokenType: type })
    const { access } = await begin(of, "openid profile email")
    const now = Math.floor(provider.clock.now() / 1000)
    const answer = await introspect(access, of)
    expect(answer).toMatchObject({
      active: true,
      scope: "openid profile email",
      client_id: of.id,
      token_type: "Bearer",
      exp: now + 43_200,
      iat: now,
      nbf: now - 60,
      sub: provider.setup.ownerId,
      aud: [of.id, provider.projectId],
      iss: issuer,
      username: "olga",
      preferred_username: "olga",
      given_name: "Olga",
      email: "olga@example.com",
      email_verified: true,
    })
    expect(answer.jti).toEqual(type === "jwt" ? decodeJwt(access).jti : expect.any(String))
    expect(answer).not.toHaveProperty("cnf")
    expect(answer).not.toHaveProperty("act")
  })

  test("returns no more claims of a user than the scopes allow (spec §4.3)", async () => {
    const { access } = await begin(client, "openid")
    const told = await introspect(access)
    expect(told).toMatchObject({ active: true, scope: "openid" })
    for (const claim of ["username", "email", "given_name", "name", "phone_number"]) {
      expect(told).not.toHaveProperty(claim)
    }
  })

  test("gives every token its own ID", async () => {
    const { access, refresh } = await begin()
    const fields = { grant_type: "refresh_token", refresh_token: refresh }
    const { answer } = await sendTokenRequest(provider, fields, `${client.id}:${client.secret}`)
    const [one, two] = [await introspect(access), await introspect(String(answer.access_token))]
    expect(two.active).toBe(true)
    expect(one.jti).not.toBe(two.jti)
  })

  test("responds only to an API whose project is in the audience (spec §4.3)", async () => {
    const { projectId, api } = await addApi()
    const stranger = await addApi()
    const scope = `openid email urn:core:iam:org:project:id:${projectId}:aud`
    const { access } = await begin(client, scope)
    expect(await introspect(access, api)).toMatchObject({
      active: true,
      client_id: client.id,
      aud: [client.id, provider.projectId, projectId],
      email: "olga@example.com",
    })
    expect(await introspect(access, stranger.api)).toEqual(inactive)
    const { access: without } = await begin(client, "openid")
    expect(await introspect(without, api)).toEqual(inactive)
  })

  test("responds to an application of the same project, whose ID is in the audience", async () => {
    const sibling = await provider.addClient()
    const { access } = await begin()
    expect((await introspect(access, sibling)).active).toBe(true)
  })

  test("does not respond to a service account, which is not an application", async () => {
    const { access } = await begin()
    const robot = await addServiceAccount(provider)
    const response = await post({ token: access }, encodeBasic(robot.id, robot.secret))
    expect(await response.json()).toEqual(inactive)
  })

  test("supports personal access tokens, whose audience is our own project", async () => {
    const robot = await addServiceAccount(provider)
    const expires = provider.clock.now() + hour
    const { token, id } = await createPersonalToken(provider.cx(), robot.userId, expires)
    const within = await provider.addClient({}, provider.ownProjectId)
    expect(await introspect(token, within)).toMatchObject({
      active: true,
      sub: robot.userId,
      aud: [provider.ownProjectId],
      exp: expires / 1000,
    })
    const { api } = await addApi()
    expect(await introspect(token, api)).toEqual(inactive)
    await removePersonalToken(provider.cx(), robot.userId, id)
    expect(await introspect(token, within)).toEqual(inactive)
  })

  test("supports tokens of service accounts", async () => {
    const { projectId, api } = await addApi()
    const robot = await addServiceAccount(provider, "jwt")
    const scope = `profile urn:core:iam:org:project:id:${projectId}:aud`
    const fields = { grant_type: "client_credentials", scope }
    const { answer } = await sendTokenRequest(provider, fields, encodeBasic(robot.id, robot.secret))
    expect(await introspect(String(answer.access_token), api)).toMatchObject({
      active: true,
      sub: robot.userId,
      aud: [projectId],
      username: robot.id,
      scope,
    })
  })
})

describe("a token is inactive, without further claims, when it", () => {
  const of: Readonly<Record<string, () => Promise<string>>> = {
    "is nonsense": async () => "nonsense",
    "looks like a JWT": async () => "a.b.c",
    "is cut short": async () => (await begin()).access.slice(0, -1),
    "is a refresh token": async () => (await begin()).refresh,
    "is a code": async () => {
      const path = authorizePath(client.id)
      return responseOf(await browserOf(provider).signIn(path)).code ?? ""
    },
    "is an id_token": async () => {
      const { code = "" } = responseOf(await browserOf(provider).signIn(authorizePath(client.id)))
      const { answer } = await sendTokenRequest(
        provider,
        codeFields(code),
        `${client.id}:${client.secret}`,
      )
      return String(answer.id_token)
    },
    "was revoked": async () => {
      const { access } = await begin()
      const headers = {
        authorization: `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString("base64")}`,
      }
      const body = new URLSearchParams({ token: access })
      await provider.send("/oauth/v2/revoke", { method: "POST", body, headers })
      return access
    },
    "hangs from a sign-in that ended (spec §3)": async () => {
      const browser = browserOf(provider)
      const { code = "" } = responseOf(await browser.signIn(authorizePath(client.id)))
      const { answer } = await sendTokenRequest(
        provider,
        codeFields(code),
        `${client.id}:${client.secret}`,
      )
      expect((await introspect(String(answer.access_token))).active).toBe(true)
      await browser.go(`/oidc/v1/endsession?id_token_hint=${answer.id_token}`)
      return String(answer.access_token)
    },
    "has expired": async () => {
      const { access } = await begin()
      provider.clock.advance(12 * hour - 1000)
      expect((await introspect(access)).active).toBe(true)
      provider.clock.advance(1000)
      return access
    },
  }
  test.each(Object.entries(of))("%s", async (_, make) => {
    const token = await make()
    const response = await post({ token }, `${client.id}:${client.secret}`)
    expect([response.status, await response.text()]).toEqual([200, '{"active":false}'])
  })
})

describe("the introspection endpoint authenticates its caller (spec §5 and §7)", () => {
  const refused = async (fields: Record<string, string>, basic?: string) => {
    const response = await post(fields, basic)
    expect([response.status, (await response.json()).error]).toEqual([401, "invalid_client"])
  }

  test("accepts client_secret_basic and private_key_jwt", async () => {
    const { access } = await begin()
    expect((await introspect(access)).active).toBe(true)
    const keyed = await addKeyClient(provider)
    const response = await post({ token: access, ...(await signAssertion(provider, keyed)) })
    expect([response.status, (await response.json()).active]).toEqual([200, true])
  })

  test("rejects every other method, and unauthenticated callers", async () => {
    const { access: token } = await begin()
    const native = await provider.addClient({ appType: "native", authMethod: "none" })
    const posting = await provider.addClient({ authMethod: "post" })
    await refused({ token })
    await refused({ token, client_id: native.id })
    await refused({ token, client_id: client.id, client_secret: client.secret })
    await refused({ token, client_id: posting.id, client_secret: posting.secret })
    await refused({ token }, `${client.id}:wrong`)
    await refused({ token }, `${client.id}:`)
    await refused({ token }, "nobody:secret")
    // RFC 7662 §2.1 allows bearer tokens for this; the interface does not.
    const headers = { authorization: `Bearer ${token}` }
    const body = new URLSearchParams({ token })
    const response = await provider.send("/oauth/v2/introspect", { method: "POST", body, headers })
    expect(response.status).toBe(401)
  })

  test("rejects an assertion that another party signed, or that was used", async () => {
    const { access: token } = await begin()
    const keyed = await addKeyClient(provider)
    const { privateKey: key } = generateKeyPairSync("rsa", { modulusLength: 2048 })
    await refused({ token, ...(await signAssertion(provider, keyed, { key })) })
    const once = await signAssertion(provider, keyed, { claims: { jti: "once" } })
    expect((await post({ token, ...once })).status).toBe(200)
    await refused({ token, ...once })
  })

  test("rejects a deactivated API", async () => {
    const { projectId, api } = await addApi()
    const scope = `openid urn:core:iam:org:project:id:${projectId}:aud`
    const { access } = await begin(client, scope)
    expect((await introspect(access, api)).active).toBe(true)
    await app.deactivateApplication(provider.cx(), api.appId)
    await refused({ token: access }, `${api.id}:${api.secret}`)
  })

  test("requires a token, once, in a form, by POST", async () => {
    const as = `${client.id}:${client.secret}`
    const none = await post({}, as)
    expect([none.status, (await none.json()).error]).toEqual([400, "invalid_request"])
    const authorization = `Basic ${Buffer.from(as).toString("base64")}`
    const type = { "content-type": "application/x-www-form-urlencoded", authorization }
    const twice = { method: "POST", body: "token=a&token=b", headers: type }
    expect((await provider.send("/oauth/v2/introspect", twice)).status).toBe(400)
    const get = await provider.send("/oauth/v2/introspect?token=x")
    expect([get.status, get.headers.get("allow")]).toEqual([405, "POST"])
  })
})
