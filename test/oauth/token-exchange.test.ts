import { createLocalJWKSet, decodeJwt, jwtVerify } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import * as app from "../../src/domain/app/index.ts"
import { createPassword, setPassword } from "../../src/domain/credential/index.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import * as org from "../../src/domain/org/index.ts"
import * as project from "../../src/domain/project/index.ts"
import { removeMachineSecret } from "../../src/domain/service-account/machine-secret.ts"
import { lockUser, removeUser } from "../../src/domain/user/index.ts"
import { addServiceAccount, encodeBasic } from "./clients.ts"
import { credentialsOf, exchangeGrant, type Fields, openExchange, typeOf } from "./exchange.ts"
import { newProofKey, requestBoundToken } from "./proof.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  type Provider,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"

const accessToken = typeOf("access_token")
const managementScope = "openid urn:core:iam:org:project:id:core:aud"

let exchange: Awaited<ReturnType<typeof openExchange>>
beforeAll(async () => {
  exchange = await openExchange()
})
afterAll(() => exchange.provider.close())

describe("an exchange (RFC 8693)", () => {
  test("issues a token for the application and the same user", async () => {
    const { access } = await exchange.signIn()
    const answer = await exchange.exchanged(access)
    expect(answer).toMatchObject({
      issued_token_type: accessToken,
      token_type: "Bearer",
      expires_in: 43_200,
      scope: "openid profile email",
    })
    expect(Object.keys(answer).sort()).toEqual(
      ["access_token", "expires_in", "issued_token_type", "scope", "token_type"].sort(),
    )
    const told = await exchange.introspect(answer.access_token)
    expect(told).toMatchObject({
      active: true,
      client_id: exchange.gateway.id,
      sub: exchange.provider.setup.ownerId,
      aud: [exchange.web.id, exchange.provider.projectId],
    })
    expect(told).not.toHaveProperty("act")
    expect(await exchange.statusOf(access)).toBe(200)
  })

  test("accepts opaque and JWT access tokens, and issues either", async () => {
    const jwtWeb = await exchange.provider.addClient({ tokenType: "jwt" })
    const { access } = await exchange.signIn("olga", jwtWeb)
    const opaque = await exchange.exchanged(access, { subject_token_type: typeOf("jwt") })
    expect(String(opaque.access_token).split(".")).toHaveLength(2)
    const jwt = await exchange.exchanged(String(opaque.access_token), {
      requested_token_type: typeOf("jwt"),
    })
    expect(jwt).toMatchObject({ issued_token_type: typeOf("jwt"), token_type: "Bearer" })
    const claims = decodeJwt(String(jwt.access_token))
    expect(claims).toMatchObject({ client_id: exchange.gateway.id, scope: "openid profile email" })
    await exchange.refused(String(opaque.access_token), { subject_token_type: typeOf("jwt") })
  })

  test("issues an id_token if requested (§2.2.1)", async () => {
    const { access } = await exchange.signIn()
    const fields = { requested_token_type: typeOf("id_token"), audience: exchange.web.id }
    const answer = await exchange.exchanged(access, fields)
    expect(answer).toMatchObject({ issued_token_type: typeOf("id_token"), token_type: "N_A" })
    expect(answer).not.toHaveProperty("id_token")
    const keys = await (await exchange.provider.send("/oauth/v2/keys")).json()
    const currentDate = new Date(exchange.provider.clock.now())
    const options = { issuer, audience: exchange.web.id, currentDate, typ: "JWT" }
    const token = String(answer.access_token)
    const { payload } = await jwtVerify(token, createLocalJWKSet(keys), options)
    expect(payload).toMatchObject({
      sub: exchange.provider.setup.ownerId,
      aud: exchange.web.id,
      azp: exchange.gateway.id,
    })
    // It is not an access token, and can't be exchanged again, because it has no session.
    expect(await exchange.statusOf(token)).toBe(401)
    await exchange.refused(token, { subject_token_type: typeOf("id_token") })
    await exchange.refused(access, { ...fields, scope: "email" }, "invalid_scope")
  })

  test("accepts the id_token of a sign-in, whose scope is openid only", async () => {
    const { id, browser } = await exchange.signIn()
    const fields = { subject_token_type: typeOf("id_token") }
    const answer = await exchange.exchanged(id, fields)
    expect(answer.scope).toBe("openid")
    expect(await exchange.introspect(answer.access_token)).toMatchObject({
      active: true,
      aud: [exchange.web.id, exchange.provider.projectId],
    })
    await exchange.refused(id, { ...fields, scope: "openid email" }, "invalid_scope")
    await browser.go(`/oidc/v1/endsession?id_token_hint=${id}`)
    expect(await exchange.introspect(answer.access_token)).toEqual({ active: false })
    await exchange.refused(id, fields)
  })

  test("accepts a service account's token; the result ends with the secret", async () => {
    const robot = await addServiceAccount(exchange.provider)
    const scope = `profile urn:core:iam:org:project:id:${exchange.provider.projectId}:aud`
    const asked = { grant_type: "client_credentials", scope }
    const { answer } = await sendTokenRequest(
      exchange.provider,
      asked,
      encodeBasic(robot.id, robot.secret),
    )
    const got = await exchange.exchanged(String(answer.access_token))
    expect(await exchange.introspect(got.access_token)).toMatchObject({
      active: true,
      sub: robot.userId,
    })
    await removeMachineSecret(exchange.provider.cx(), robot.userId)
    expect(await exchange.introspect(got.access_token)).toEqual({ active: false })
  })
})

describe("an exchange extends nothing", () => {
  test("not the scope", async () => {
    const { access } = await exchange.signIn("olga", exchange.web, "openid email offline_access")
    expect((await exchange.exchanged(access)).scope).toBe("openid email")
    expect((await exchange.exchanged(access, { scope: "email" })).scope).toBe("email")
    for (const scope of ["openid profile", "phone", "offline_access", managementScope]) {
      await exchange.refused(access, { scope }, "invalid_scope")
    }
  })

  test("not the audience, even if it is repeated (§2.1)", async () => {
    const cx = exchange.provider.cx()
    const other = cx.ids.next()
    await project.createProject(cx, other, {
      orgId: exchange.provider.setup.orgId,
      name: "Another",
    })
    const { access } = await exchange.signIn()
    const only = await exchange.exchanged(access, { audience: exchange.provider.projectId })
    expect((await exchange.introspect(only.access_token)).aud).toEqual([
      exchange.provider.projectId,
    ])
    for (const audience of [other, exchange.gateway.id, "nobody", `${exchange.web.id} ${other}`]) {
      await exchange.refused(access, { audience }, "invalid_target")
    }
    await exchange.refused(
      access,
      { resource: `urn:core:iam:org:project:id:${other}:aud` },
      "invalid_target",
    )
    const body = new URLSearchParams({ grant_type: exchangeGrant, subject_token: access })
    body.append("subject_token_type", accessToken)
    body.append("audience", exchange.web.id)
    body.append("audience", exchange.provider.projectId)
    const headers = {
      authorization: `Basic ${Buffer.from(credentialsOf(exchange.gateway)).toString("base64")}`,
    }
    const init = { method: "POST", body, headers }
    const answer = await (await exchange.provider.send("/oauth/v2/token", init)).json()
    expect((await exchange.introspect(answer.access_token)).aud).toEqual([
      exchange.web.id,
      exchange.provider.projectId,
    ])
  })

  test("not the time, also over several exchanges", async () => {
    const { access } = await exchange.signIn()
    exchange.provider.clock.advance(11 * 3_600_000)
    const one = await exchange.exchanged(access)
    expect(one.expires_in).toBe(3600)
    exchange.provider.clock.advance(1_800_000)
    const two = await exchange.exchanged(String(one.access_token), {
      requested_token_type: typeOf("jwt"),
    })
    expect(two.expires_in).toBe(1800)
    const id = await exchange.exchanged(access, { requested_token_type: typeOf("id_token") })
    expect(id.expires_in).toBe(1800)
    expect(decodeJwt(String(id.access_token)).exp).toBe(decodeJwt(String(two.access_token)).exp)
    exchange.provider.clock.advance(1_800_000 - 1)
    expect(await exchange.statusOf(two.access_token)).toBe(200)
    exchange.provider.clock.advance(1)
    expect(await exchange.statusOf(two.access_token)).toBe(401)
  })
})

describe("repeated exchanges", () => {
  test("end with the tenth, and the ninth can still be exchanged", async () => {
    let { access: token } = await exchange.signIn()
    for (let depth = 1; depth <= 10; depth++) {
      token = String((await exchange.exchanged(token)).access_token)
    }
    expect(await exchange.statusOf(token)).toBe(200)
    await exchange.refused(token, {})
  })
})

describe("the dependencies of an exchanged token", () => {
  /** A user and an application of their own. */
  const own = async (name: string) => {
    const cx = exchange.provider.cx()
    const orgId = cx.ids.next()
    await createOrganization(cx, orgId, { name: `Org of ${name}` })
    const person = await exchange.provider.addPerson(name, orgId)
    const mine = await exchange.provider.addClient({ grantTypes: ["token_exchange"] })
    const { browser, access, id: idToken } = await exchange.signIn(name)
    const got = await exchange.exchanged(access, {}, mine)
    expect(await exchange.statusOf(got.access_token)).toBe(200)
    return { orgId, person, mine, browser, access, idToken, token: got.access_token }
  }
  type Own = Awaited<ReturnType<typeof own>>
  type End = (cx: ReturnType<Provider["cx"]>, own: Own) => Promise<unknown>
  const ends: Readonly<Record<string, End>> = {
    "its user is locked": (cx, { person }) => lockUser(cx, person),
    "its user is removed": (cx, { person }) => removeUser(cx, person),
    "the organisation is inactive": (cx, { orgId }) => org.deactivateOrganization(cx, orgId),
    "the application that exchanged it is inactive": (cx, { mine }) =>
      app.deactivateApplication(cx, mine.appId),
    "the token that it was made of is revoked": async (_, { access }) => {
      const headers = {
        authorization: `Basic ${Buffer.from(credentialsOf(exchange.web)).toString("base64")}`,
      }
      const body = new URLSearchParams({ token: access })
      const init = { method: "POST", body, headers }
      expect((await exchange.provider.send("/oauth/v2/revoke", init)).status).toBe(200)
    },
    "the person signs out": (_, { browser, idToken }) =>
      browser.go(`/oidc/v1/endsession?id_token_hint=${idToken}`),
    "the password is changed": async (cx, { person }) => {
      const fresh = await createPassword("Another-Horse-8", { names: [] })
      return setPassword(cx, person, fresh)
    },
  }
  test.each(Object.entries(ends))("ends once %s", async (name, end) => {
    const given = await own(name.replaceAll(" ", ""))
    await end(exchange.provider.cx(), given)
    expect(await exchange.statusOf(given.token)).toBe(401)
  })
})

describe("an exchange is rejected", () => {
  test("without a subject, its type, or with unknown types", async () => {
    const { access, id } = await exchange.signIn()
    const cases: readonly (readonly [string, Fields])[] = [
      ["", {}],
      [access, { subject_token_type: "" }],
      [access, { subject_token_type: typeOf("saml2") }],
      [access, { subject_token_type: typeOf("id_token") }],
      [access, { subject_token_type: typeOf("refresh_token") }],
      [id, {}],
      [`${access}A`, {}],
      ["nonsense", {}],
      [access, { requested_token_type: typeOf("refresh_token") }],
      [access, { requested_token_type: "nonsense" }],
      [access, { actor_token: access }],
      [access, { actor_token_type: accessToken }],
    ]
    for (const [token, fields] of cases) await exchange.refused(token, fields)
  })

  test("of a refresh token", async () => {
    const { refresh } = await exchange.signIn("olga", exchange.web, "openid offline_access")
    await exchange.refused(refresh, {})
    await exchange.refused(refresh, { subject_token_type: typeOf("refresh_token") })
  })

  test("of a token that was revoked, or whose session ended", async () => {
    const { access, id, browser } = await exchange.signIn()
    await browser.go(`/oidc/v1/endsession?id_token_hint=${id}`)
    await exchange.refused(access, {})
  })

  test("of a token whose audience lacks the exchanging application", async () => {
    const cx = exchange.provider.cx()
    const other = cx.ids.next()
    await project.createProject(cx, other, {
      orgId: exchange.provider.setup.orgId,
      name: "Foreign",
    })
    const foreign = await exchange.provider.addClient({ grantTypes: ["token_exchange"] }, other)
    const { access, id } = await exchange.signIn()
    for (const [token, subject_token_type] of [
      [access, accessToken],
      [id, typeOf("id_token")],
    ] as const) {
      const { answer } = await exchange.exchange(token, { subject_token_type }, foreign)
      expect(answer.error).toBe("invalid_request")
    }
    const scope = `openid urn:core:iam:org:project:id:${other}:aud`
    const meant = await exchange.signIn("olga", exchange.web, scope)
    expect((await exchange.exchange(meant.access, {}, foreign)).status).toBe(200)
  })

  test("for applications without the grant, and for public ones", async () => {
    const { access } = await exchange.signIn()
    expect((await exchange.exchange(access, {}, exchange.web)).answer.error).toBe(
      "unauthorized_client",
    )
    const native = await exchange.provider.addClient({
      appType: "native",
      authMethod: "none",
      grantTypes: ["token_exchange"],
    })
    const fields = {
      grant_type: exchangeGrant,
      subject_token: access,
      subject_token_type: accessToken,
    }
    const { answer } = await sendTokenRequest(exchange.provider, {
      ...fields,
      client_id: native.id,
    })
    expect(answer.error).toBe("unauthorized_client")
    const none = await sendTokenRequest(exchange.provider, fields)
    expect([none.status, none.answer.error]).toEqual([401, "invalid_client"])
  })

  test("of a bound token, unless the result is bound as well", async () => {
    const key = await newProofKey()
    const { code = "" } = responseOf(
      await browserOf(exchange.provider).signIn(authorizePath(exchange.web.id)),
    )
    const bound = await requestBoundToken(exchange.provider, codeFields(code), {
      key,
      basic: credentialsOf(exchange.web),
    })
    expect(bound.answer.token_type).toBe("DPoP")
    const token = String(bound.answer.access_token)
    await exchange.refused(token, {}, "invalid_dpop_proof")
    const fields = {
      grant_type: exchangeGrant,
      subject_token: token,
      subject_token_type: accessToken,
    }
    const own = await newProofKey()
    const { answer } = await requestBoundToken(exchange.provider, fields, {
      key: own,
      basic: credentialsOf(exchange.gateway),
    })
    expect(answer).toMatchObject({ token_type: "DPoP", issued_token_type: accessToken })
  })
})
