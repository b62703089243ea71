import { createLocalJWKSet, decodeJwt, jwtVerify } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import * as app from "../../src/domain/app/index.ts"
import { createPassword, setPassword } from "../../src/domain/credential/index.ts"
import { grant } from "../../src/domain/grant/index.ts"
import { activateOrganization, createOrganization } from "../../src/domain/org/commands.ts"
import * as org from "../../src/domain/org/index.ts"
import * as project from "../../src/domain/project/index.ts"
import { reactivateUser, unlockUser } from "../../src/domain/user/commands.ts"
import { deactivateUser, lockUser, removeUser } from "../../src/domain/user/index.ts"
import { newProofKey, requestBoundToken } from "./proof.ts"
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

const second = 1000
const hour = 3600 * second
const day = 24 * hour

let provider: Provider
let client: NewClient
beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient({ grantTypes: ["authorization_code", "refresh_token"] })
})
afterAll(() => provider.close())

const basicOf = (of: NewClient) => `${of.id}:${of.secret}`
const scope = "openid profile email offline_access"

/** Signs a user in, and redeems the code. */
const signIn = async (of = client, changes: Record<string, string> = {}, name = "olga") => {
  const browser = browserOf(provider)
  const { code = "" } = responseOf(
    await browser.signIn(authorizePath(of.id, { scope, ...changes }), name),
  )
  const as = of.secret ? basicOf(of) : undefined
  const fields = codeFields(code, of.secret ? {} : { client_id: of.id })
  const { status, answer } = await sendTokenRequest(provider, fields, as)
  expect(status).toBe(200)
  return { browser, code, answer, token: String(answer.refresh_token) }
}

const refresh = (token: string, of = client, changes: Record<string, string> = {}) => {
  const fields = { grant_type: "refresh_token", refresh_token: token, ...changes }
  return of.secret
    ? sendTokenRequest(provider, fields, basicOf(of))
    : sendTokenRequest(provider, { ...fields, client_id: of.id })
}

const statusOf = async (token: unknown) => {
  const headers = { authorization: `Bearer ${token}` }
  return (await provider.send("/oidc/v1/userinfo", { headers })).status
}

const expectRejected = async (token: string, of = client, changes = {}) => {
  const { status, answer } = await refresh(token, of, changes)
  expect([status, answer.error]).toEqual([400, "invalid_grant"])
  expect(answer).not.toHaveProperty("access_token")
}

describe("a refresh token", () => {
  test("is issued for the scope offline_access to applications that can use it", async () => {
    const { answer } = await signIn()
    expect(answer.refresh_token).toEqual(expect.any(String))
    expect(answer.scope).toBe(scope)
    expect((await signIn(client, { scope: "openid" })).answer).not.toHaveProperty("refresh_token")
    const plain = await provider.addClient()
    const { answer: without } = await signIn(plain)
    expect(without).not.toHaveProperty("refresh_token")
    // OpenID Connect Core §11: it is ignored, and the response shows that.
    expect(without.scope).toBe("openid profile email")
  })

  test("issues new tokens of every kind (RFC 6749 §6)", async () => {
    const { answer: first, token } = await signIn()
    provider.clock.advance(5 * second)
    const { status, headers, answer } = await refresh(token)
    expect([status, headers.get("cache-control")]).toEqual([200, "no-store"])
    expect(answer).toMatchObject({ token_type: "Bearer", expires_in: 43_200, scope })
    expect(answer.access_token).not.toBe(first.access_token)
    expect(answer.refresh_token).not.toBe(token)
    expect(await statusOf(answer.access_token)).toBe(200)
    expect(await statusOf(first.access_token)).toBe(200)
  })

  test("keeps sub and auth_time in the id_token, without its nonce (OIDC Core §12.2)", async () => {
    const { answer: first, token } = await signIn()
    provider.clock.advance(hour)
    const { answer } = await refresh(token)
    const keys = await (await provider.send("/oauth/v2/keys")).json()
    const currentDate = new Date(provider.clock.now())
    const options = { issuer, audience: client.id, currentDate }
    const { payload } = await jwtVerify(String(answer.id_token), createLocalJWKSet(keys), options)
    const { nonce, ...before } = decodeJwt(String(first.id_token))
    expect(nonce).toBe("n-1")
    expect(payload).not.toHaveProperty("nonce")
    for (const claim of ["iss", "sub", "aud", "azp", "auth_time", "amr", "sid"]) {
      expect(payload[claim], claim).toEqual(before[claim])
    }
    expect(payload.iat).toBe(Number(before.iat) + 3600)
  })

  test("keeps the time of its own sign-in when the user signs in again", async () => {
    const { browser, token, answer } = await signIn()
    provider.clock.advance(hour)
    await browser.signIn(authorizePath(client.id, { prompt: "login" }))
    const again = await refresh(token)
    expect(decodeJwt(String(again.answer.id_token)).auth_time).toBe(
      decodeJwt(String(answer.id_token)).auth_time,
    )
  })

  test("works for a client without a secret", async () => {
    const native = await provider.addClient({
      appType: "native",
      authMethod: "none",
      grantTypes: ["authorization_code", "refresh_token"],
    })
    const { token } = await signIn(native)
    expect((await refresh(token, native)).status).toBe(200)
  })

  test("requires the grant type of the application", async () => {
    const { token } = await signIn()
    const plain = await provider.addClient()
    const { answer } = await refresh(token, plain)
    expect(answer.error).toBe("unauthorized_client")
  })

  test("can't be missing or another kind of token", async () => {
    const fields = { grant_type: "refresh_token" }
    expect((await sendTokenRequest(provider, fields, basicOf(client))).answer.error).toBe(
      "invalid_request",
    )
    const { answer, code, token } = await signIn()
    for (const other of ["nonsense", String(answer.access_token), code, `${token}A`, `${token}=`]) {
      await expectRejected(other)
    }
    await expectRejected(token.slice(0, -1))
    expect((await refresh(token)).status).toBe(200)
  })

  test("is rejected for other clients (RFC 6749 §10.4)", async () => {
    const { token } = await signIn()
    const other = await provider.addClient({ grantTypes: ["authorization_code", "refresh_token"] })
    await expectRejected(token, other)
    // Another client's attempt does not end the session.
    expect((await refresh(token)).status).toBe(200)
  })

  test("requires client authentication", async () => {
    const { token } = await signIn()
    const fields = { grant_type: "refresh_token", refresh_token: token }
    const wrong = await sendTokenRequest(provider, fields, `${client.id}:wrong`)
    expect([wrong.status, wrong.answer.error]).toEqual([401, "invalid_client"])
    const none = await sendTokenRequest(provider, { ...fields, client_id: client.id })
    expect([none.status, none.answer.error]).toEqual([401, "invalid_client"])
  })
})

describe("the scope of a refresh (RFC 6749 §6)", () => {
  test("can be narrower for one response, and is then unchanged", async () => {
    const { token } = await signIn()
    const narrow = await refresh(token, client, { scope: "openid email" })
    expect(narrow.answer.scope).toBe("openid email")
    const headers = { authorization: `Bearer ${narrow.answer.access_token}` }
    const info = await (await provider.send("/oidc/v1/userinfo", { headers })).json()
    expect(info).toHaveProperty("email")
    expect(info).not.toHaveProperty("given_name")
    const again = await refresh(String(narrow.answer.refresh_token))
    expect(again.answer.scope).toBe(scope)
  })

  test("issues no id_token without openid", async () => {
    const { token } = await signIn()
    const { answer } = await refresh(token, client, { scope: "email" })
    expect(answer).not.toHaveProperty("id_token")
  })

  test("never grows, and requesting more consumes nothing", async () => {
    const { token } = await signIn(client, { scope: "openid offline_access" })
    for (const more of ["openid email", "phone", "openid openid profile"]) {
      const { status, answer } = await refresh(token, client, { scope: more })
      expect([status, answer.error]).toEqual([400, "invalid_scope"])
    }
    expect((await refresh(token)).status).toBe(200)
  })

  test("can be that of the first request, whose unknown scopes are omitted again", async () => {
    const asked = `${scope} dance urn:core:iam:org:project:id:none:aud`
    const { answer, token } = await signIn(client, { scope: asked })
    expect(answer.scope).not.toContain("dance")
    const again = await refresh(token, client, { scope: asked })
    expect([again.status, again.answer.scope]).toEqual([200, answer.scope])
    const last = String(again.answer.refresh_token)
    for (const never of ["openid sing", "dance", "openid phone dance"]) {
      const refusal = await refresh(last, client, { scope: never })
      expect([never, refusal.answer.error]).toEqual([never, "invalid_scope"])
    }
    const narrow = await refresh(last, client, { scope: "dance email" })
    expect(narrow.answer.scope).toBe("email")
  })

  test("removes projects from the audience with their scopes", async () => {
    const cx = provider.cx()
    const projectId = cx.ids.next()
    await project.createProject(cx, projectId, { orgId: provider.setup.orgId, name: "Another" })
    const jwt = await provider.addClient({
      tokenType: "jwt",
      grantTypes: ["authorization_code", "refresh_token"],
    })
    const named = `openid offline_access urn:core:iam:org:project:id:${projectId}:aud`
    const { token } = await signIn(jwt, { scope: named })
    const audience = (answer: Record<string, unknown>) => decodeJwt(String(answer.access_token)).aud
    const all = await refresh(token, jwt)
    expect(audience(all.answer)).toEqual([jwt.id, provider.projectId, projectId])
    const fields = { scope: "openid offline_access" }
    const narrow = await refresh(String(all.answer.refresh_token), jwt, fields)
    expect(audience(narrow.answer)).toEqual([jwt.id, provider.projectId])
  })
})

describe("a refresh token that was used (RFC 9700 §4.14.2)", () => {
  test("returns its successor for ten seconds, because a response can be lost", async () => {
    const { token } = await signIn()
    const first = await refresh(token)
    const events = provider.store.log.durable()
    provider.clock.advance(10 * second - 1)
    const again = await refresh(token)
    expect(again.status).toBe(200)
    // Nothing is renewed; the audit log records it.
    expect(provider.store.log.durable()).toBe(events + 1)
    // Both belong to one generation: using one replaces the other.
    const next = await refresh(String(again.answer.refresh_token))
    expect(next.status).toBe(200)
    provider.clock.advance(11 * second)
    await expectRejected(String(first.answer.refresh_token))
    await expectRejected(String(next.answer.refresh_token))
  })

  test("ends the whole family after that", async () => {
    const { answer, token } = await signIn()
    const first = await refresh(token)
    provider.clock.advance(10 * second)
    await expectRejected(token)
    await expectRejected(String(first.answer.refresh_token))
    expect(await statusOf(answer.access_token)).toBe(401)
    expect(await statusOf(first.answer.access_token)).toBe(401)
  })

  test("ends the whole family immediately when it is older still", async () => {
    const { token } = await signIn()
    const first = await refresh(token)
    const newest = await refresh(String(first.answer.refresh_token))
    await expectRejected(token)
    await expectRejected(String(newest.answer.refresh_token))
    expect(await statusOf(newest.answer.access_token)).toBe(401)
  })

  test("issues one family for twenty concurrent uses", async () => {
    const { token } = await signIn()
    const before = provider.store.log.durable()
    const all = await Promise.all(Array.from({ length: 20 }, () => refresh(token)))
    expect(all.map(({ status }) => status)).toEqual(Array(20).fill(200))
    // One renewal, and an audit event for each response.
    expect(provider.store.log.durable()).toBe(before + 21)
    const [one, ...others] = all.map(({ answer }) => String(answer.refresh_token))
    expect((await refresh(one ?? "")).status).toBe(200)
    // The others belong to the generation that was just replaced.
    const rest = await Promise.all(others.map((other) => refresh(other)))
    expect(rest.every(({ status }) => status === 200)).toBe(true)
    expect(provider.store.log.durable()).toBe(before + 42)
    provider.clock.advance(10 * second)
    await expectRejected(others[0] ?? "")
  })

  test("ends the whole family also after a restart", async () => {
    const { token } = await signIn()
    const first = await refresh(token)
    provider.clock.advance(10 * second)
    const [grantId = "", generation] = openToken(token)
    expect(generation).toBe(1)
    const state = provider.store.state(provider.cx(), grant, grantId)
    expect(state).toMatchObject({ status: "active", offline: { generation: 2 } })
    await expectRejected(token)
    expect(provider.store.state(provider.cx(), grant, grantId).status).toBe("ended")
    await expectRejected(String(first.answer.refresh_token))
  })
})

const openToken = (token: string): readonly [string, number] => {
  const plain = provider.secrets.open("token", token, "refresh_token/i1")
  const [, grantId, generation] = JSON.parse(plain ?? "[]")
  return [grantId, generation]
}

describe("a refresh token expires", () => {
  test("when it is not used for thirty days", async () => {
    const { token } = await signIn()
    provider.clock.advance(30 * day - 1)
    const { status, answer } = await refresh(token)
    expect(status).toBe(200)
    provider.clock.advance(30 * day)
    await expectRejected(String(answer.refresh_token))
  })

  test("ninety days after it was issued, however often it is used", async () => {
    let { token } = await signIn()
    for (let days = 0; days < 90; days += 29) {
      const { status, answer } = await refresh(token)
      expect(status).toBe(200)
      token = String(answer.refresh_token)
      provider.clock.advance(Math.min(29 * day, 90 * day - days * day) - 1)
    }
    expect((await refresh(token)).status).toBe(200)
    provider.clock.advance(4)
    await expectRejected(token)
  })
})

describe("a second use of the code (RFC 6749 §4.1.2)", () => {
  test("ends the refresh token too", async () => {
    const { code, token } = await signIn()
    provider.clock.advance(1001)
    await sendTokenRequest(provider, codeFields(code), basicOf(client))
    await expectRejected(token)
  })
})

describe("the dependencies of a refresh token", () => {
  /** A user and an application of their own. */
  const own = async (name: string) => {
    const cx = provider.cx()
    const orgId = cx.ids.next()
    await createOrganization(cx, orgId, { name: `Org of ${name}` })
    const projectId = cx.ids.next()
    await project.createProject(cx, projectId, { orgId, name })
    const userId = await provider.addPerson(name, orgId)
    const grantTypes = ["authorization_code", "refresh_token"] as const
    const mine = await provider.addClient({ grantTypes }, projectId)
    return { orgId, projectId, userId, mine, ...(await signIn(mine, {}, name)) }
  }
  type Own = Awaited<ReturnType<typeof own>>
  type Cx = ReturnType<Provider["cx"]>
  type Act = (cx: Cx, of: Own) => Promise<unknown>

  const pauses: Readonly<Record<string, readonly [Act, Act]>> = {
    "the project is inactive": [
      (cx, { projectId }) => project.deactivateProject(cx, projectId),
      (cx, { projectId }) => project.activateProject(cx, projectId),
    ],
  }
  test.each(Object.entries(pauses))(
    "while %s, it is rejected and not consumed",
    async (name, round) => {
      const mine = await own(`pause ${name}`.replaceAll(" ", ""))
      await round[0](provider.cx(), mine)
      expect((await refresh(mine.token, mine.mine)).status).toBeGreaterThanOrEqual(400)
      await round[1](provider.cx(), mine)
      expect((await refresh(mine.token, mine.mine)).status).toBe(200)
    },
  )

  const ends: Readonly<Record<string, Act>> = {
    "its user was locked and is back": async (cx, { userId }) => {
      await lockUser(cx, userId)
      await unlockUser(cx, userId)
    },
    "its user was deactivated and is back": async (cx, { userId }) => {
      await deactivateUser(cx, userId)
      await reactivateUser(cx, userId)
    },
    "its organisation was deactivated and is back": async (cx, { orgId }) => {
      await org.deactivateOrganization(cx, orgId)
      await activateOrganization(cx, orgId)
    },
    "its user is removed": (cx, { userId }) => removeUser(cx, userId),
    "the password is changed": async (cx, { userId }) => {
      const fresh = await createPassword("Another-Horse-8", { names: [] })
      return setPassword(cx, userId, fresh)
    },
  }
  test.each(Object.entries(ends))("ends once %s", async (name, end) => {
    const mine = await own(`end ${name}`.replaceAll(" ", ""))
    await end(provider.cx(), mine)
    await expectRejected(mine.token, mine.mine)
    expect(await statusOf(mine.answer.access_token)).toBe(401)
  })

  test("include the application, which can't authenticate while deactivated", async () => {
    const mine = await own("inactiveapp")
    await app.deactivateApplication(provider.cx(), mine.mine.appId)
    expect((await refresh(mine.token, mine.mine)).answer.error).toBe("invalid_client")
  })

  test("do not include the session's age", async () => {
    const mine = await own("oldsession")
    provider.clock.advance(20 * day)
    const { status, answer } = await refresh(mine.token, mine.mine)
    expect(status).toBe(200)
    expect(await statusOf(answer.access_token)).toBe(200)
  })

  test("outlives a sign-out, which ends earlier tokens (Back-Channel §2.7)", async () => {
    const mine = await own("signsout")
    const second = await refresh(mine.token, mine.mine)
    await mine.browser.go(`/oidc/v1/endsession?id_token_hint=${mine.answer.id_token}`)
    expect(await statusOf(mine.answer.access_token)).toBe(401)
    expect(await statusOf(second.answer.access_token)).toBe(401)
    const third = await refresh(String(second.answer.refresh_token), mine.mine)
    expect(third.status).toBe(200)
    expect(await statusOf(third.answer.access_token)).toBe(200)
    provider.clock.advance(5 * day)
    const later = await refresh(String(third.answer.refresh_token), mine.mine)
    expect(await statusOf(later.answer.access_token)).toBe(200)
  })
})

describe("a DPoP key of the client (RFC 9449 §5)", () => {
  const refreshBound = (token: string, of: NewClient, key?: Awaited<typeof newKey>) => {
    const fields = { grant_type: "refresh_token", refresh_token: token }
    const more: Record<string, string> = of.secret ? {} : { client_id: of.id }
    const basic = of.secret ? basicOf(of) : undefined
    return requestBoundToken(provider, { ...fields, ...more }, { key, basic })
  }
  const newKey = newProofKey()
  const beginBound = async (of: NewClient) => {
    const key = await newKey
    const { code = "" } = responseOf(
      await browserOf(provider).signIn(authorizePath(of.id, { scope })),
    )
    const basic = of.secret ? basicOf(of) : undefined
    const more: Record<string, string> = of.secret ? {} : { client_id: of.id }
    const { answer } = await requestBoundToken(provider, codeFields(code, more), { key, basic })
    expect(answer.token_type).toBe("DPoP")
    return String(answer.refresh_token)
  }

  test("binds the refresh token of a client without a secret", async () => {
    const grantTypes = ["authorization_code", "refresh_token"] as const
    const native = await provider.addClient({ grantTypes, appType: "native", authMethod: "none" })
    const token = await beginBound(native)
    for (const key of [undefined, await newProofKey()]) {
      const { status, answer } = await refreshBound(token, native, key)
      expect([status, answer.error]).toEqual([400, "invalid_grant"])
    }
    const { status, answer } = await refreshBound(token, native, await newKey)
    expect([status, answer.token_type]).toEqual([200, "DPoP"])
  })

  test("does not bind it for a confidential client, whose next key can differ", async () => {
    const token = await beginBound(client)
    const next = await refreshBound(token, client, await newProofKey())
    expect([next.status, next.answer.token_type]).toEqual([200, "DPoP"])
  })
})
