import { createLocalJWKSet, decodeJwt, jwtVerify } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import * as app from "../../src/domain/app/index.ts"
import { createPassword, setPassword } from "../../src/domain/credential/index.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import * as org from "../../src/domain/org/index.ts"
import * as project from "../../src/domain/project/index.ts"
import { removeMachineSecret } from "../../src/domain/service-account/machine-secret.ts"
import { lockUser, removeUser } from "../../src/domain/user/index.ts"
import { addRobot, basicOf } from "./clients.ts"
import { asOf, exchangeGrant, type Fields, openExchange, typeOf } from "./exchange.ts"
import { askBound, newProofKey } from "./proof.ts"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  type Provider,
} from "./provider.ts"

const accessToken = typeOf("access_token")
const core = "openid urn:core:iam:org:project:id:core:aud"

let at: Awaited<ReturnType<typeof openExchange>>
beforeAll(async () => {
  at = await openExchange()
})
afterAll(() => at.provider.close())

describe("an exchange (RFC 8693)", () => {
  test("gives the application a token of its own for the same user", async () => {
    const { access } = await at.signIn()
    const answer = await at.exchanged(access)
    expect(answer).toMatchObject({
      issued_token_type: accessToken,
      token_type: "Bearer",
      expires_in: 43_200,
      scope: "openid profile email",
    })
    expect(Object.keys(answer).sort()).toEqual(
      ["access_token", "expires_in", "issued_token_type", "scope", "token_type"].sort(),
    )
    const told = await at.introspect(answer.access_token)
    expect(told).toMatchObject({
      active: true,
      client_id: at.gateway.id,
      sub: at.provider.setup.ownerId,
      aud: [at.web.id, at.provider.projectId],
    })
    expect(told).not.toHaveProperty("act")
    expect(await at.statusOf(access)).toBe(200)
  })

  test("takes access tokens opaque and as JWTs, and gives either", async () => {
    const jwtWeb = await at.provider.addClient({ tokenType: "jwt" })
    const { access } = await at.signIn("olga", jwtWeb)
    const opaque = await at.exchanged(access, { subject_token_type: typeOf("jwt") })
    expect(String(opaque.access_token).split(".")).toHaveLength(2)
    const jwt = await at.exchanged(String(opaque.access_token), {
      requested_token_type: typeOf("jwt"),
    })
    expect(jwt).toMatchObject({ issued_token_type: typeOf("jwt"), token_type: "Bearer" })
    const claims = decodeJwt(String(jwt.access_token))
    expect(claims).toMatchObject({ client_id: at.gateway.id, scope: "openid profile email" })
    await at.refused(String(opaque.access_token), { subject_token_type: typeOf("jwt") })
  })

  test("gives an id_token where one is asked for (§2.2.1)", async () => {
    const { access } = await at.signIn()
    const fields = { requested_token_type: typeOf("id_token"), audience: at.web.id }
    const answer = await at.exchanged(access, fields)
    expect(answer).toMatchObject({ issued_token_type: typeOf("id_token"), token_type: "N_A" })
    expect(answer).not.toHaveProperty("id_token")
    const keys = await (await at.provider.send("/oauth/v2/keys")).json()
    const currentDate = new Date(at.provider.clock.now())
    const options = { issuer, audience: at.web.id, currentDate, typ: "JWT" }
    const token = String(answer.access_token)
    const { payload } = await jwtVerify(token, createLocalJWKSet(keys), options)
    expect(payload).toMatchObject({
      sub: at.provider.setup.ownerId,
      aud: at.web.id,
      azp: at.gateway.id,
    })
    // It opens nothing, and can't be exchanged again: it names no sign-in.
    expect(await at.statusOf(token)).toBe(401)
    await at.refused(token, { subject_token_type: typeOf("id_token") })
    await at.refused(access, { ...fields, scope: "email" }, "invalid_scope")
  })

  test("takes the id_token of a sign-in, which has no scope but openid", async () => {
    const { id, browser } = await at.signIn()
    const fields = { subject_token_type: typeOf("id_token") }
    const answer = await at.exchanged(id, fields)
    expect(answer.scope).toBe("openid")
    expect(await at.introspect(answer.access_token)).toMatchObject({
      active: true,
      aud: [at.web.id, at.provider.projectId],
    })
    await at.refused(id, { ...fields, scope: "openid email" }, "invalid_scope")
    await browser.go(`/oidc/v1/endsession?id_token_hint=${id}`)
    expect(await at.introspect(answer.access_token)).toEqual({ active: false })
    await at.refused(id, fields)
  })

  test("takes the token of a service user, and what it gives dies with its secret", async () => {
    const robot = await addRobot(at.provider)
    const scope = `profile urn:core:iam:org:project:id:${at.provider.projectId}:aud`
    const asked = { grant_type: "client_credentials", scope }
    const { answer } = await askToken(at.provider, asked, basicOf(robot.id, robot.secret))
    const got = await at.exchanged(String(answer.access_token))
    expect(await at.introspect(got.access_token)).toMatchObject({ active: true, sub: robot.userId })
    await removeMachineSecret(at.provider.cx(), robot.userId)
    expect(await at.introspect(got.access_token)).toEqual({ active: false })
  })
})

describe("nothing grows by an exchange", () => {
  test("not the scope", async () => {
    const { access } = await at.signIn("olga", at.web, "openid email offline_access")
    expect((await at.exchanged(access)).scope).toBe("openid email")
    expect((await at.exchanged(access, { scope: "email" })).scope).toBe("email")
    for (const scope of ["openid profile", "phone", "offline_access", core]) {
      await at.refused(access, { scope }, "invalid_scope")
    }
  })

  test("not the audience, however often it is named (§2.1)", async () => {
    const cx = at.provider.cx()
    const other = cx.ids.next()
    await project.createProject(cx, other, { orgId: at.provider.setup.orgId, name: "Another" })
    const { access } = await at.signIn()
    const only = await at.exchanged(access, { audience: at.provider.projectId })
    expect((await at.introspect(only.access_token)).aud).toEqual([at.provider.projectId])
    for (const audience of [other, at.gateway.id, "nobody", `${at.web.id} ${other}`]) {
      await at.refused(access, { audience }, "invalid_target")
    }
    await at.refused(
      access,
      { resource: `urn:core:iam:org:project:id:${other}:aud` },
      "invalid_target",
    )
    const body = new URLSearchParams({ grant_type: exchangeGrant, subject_token: access })
    body.append("subject_token_type", accessToken)
    body.append("audience", at.web.id)
    body.append("audience", at.provider.projectId)
    const headers = { authorization: `Basic ${Buffer.from(asOf(at.gateway)).toString("base64")}` }
    const init = { method: "POST", body, headers }
    const answer = await (await at.provider.send("/oauth/v2/token", init)).json()
    expect((await at.introspect(answer.access_token)).aud).toEqual([
      at.web.id,
      at.provider.projectId,
    ])
  })

  test("not the time, also over several exchanges", async () => {
    const { access } = await at.signIn()
    at.provider.clock.advance(11 * 3_600_000)
    const one = await at.exchanged(access)
    expect(one.expires_in).toBe(3600)
    at.provider.clock.advance(1_800_000)
    const two = await at.exchanged(String(one.access_token), {
      requested_token_type: typeOf("jwt"),
    })
    expect(two.expires_in).toBe(1800)
    const id = await at.exchanged(access, { requested_token_type: typeOf("id_token") })
    expect(id.expires_in).toBe(1800)
    expect(decodeJwt(String(id.access_token)).exp).toBe(decodeJwt(String(two.access_token)).exp)
    at.provider.clock.advance(1_800_000 - 1)
    expect(await at.statusOf(two.access_token)).toBe(200)
    at.provider.clock.advance(1)
    expect(await at.statusOf(two.access_token)).toBe(401)
  })
})

describe("exchanges upon exchanges", () => {
  test("end with the tenth, and the ninth can still be exchanged", async () => {
    let { access: token } = await at.signIn()
    for (let depth = 1; depth <= 10; depth++) {
      token = String((await at.exchanged(token)).access_token)
    }
    expect(await at.statusOf(token)).toBe(200)
    await at.refused(token, {})
  })
})

describe("what an exchanged token hangs from", () => {
  /** A person and an application that are nobody else's. */
  const own = async (name: string) => {
    const cx = at.provider.cx()
    const orgId = cx.ids.next()
    await createOrganization(cx, orgId, { name: `Org of ${name}` })
    const person = await at.provider.addPerson(name, orgId)
    const mine = await at.provider.addClient({ grantTypes: ["token_exchange"] })
    const { browser, access, id: idToken } = await at.signIn(name)
    const got = await at.exchanged(access, {}, mine)
    expect(await at.statusOf(got.access_token)).toBe(200)
    return { orgId, person, mine, browser, access, idToken, token: got.access_token }
  }
  type Own = Awaited<ReturnType<typeof own>>
  type End = (cx: ReturnType<Provider["cx"]>, given: Own) => Promise<unknown>
  const ends: Readonly<Record<string, End>> = {
    "its user is locked": (cx, { person }) => lockUser(cx, person),
    "its user is removed": (cx, { person }) => removeUser(cx, person),
    "the organisation is inactive": (cx, { orgId }) => org.deactivateOrganization(cx, orgId),
    "the application that exchanged it is inactive": (cx, { mine }) =>
      app.deactivateApplication(cx, mine.appId),
    "the token that it was made of is revoked": async (_, { access }) => {
      const headers = { authorization: `Basic ${Buffer.from(asOf(at.web)).toString("base64")}` }
      const body = new URLSearchParams({ token: access })
      const init = { method: "POST", body, headers }
      expect((await at.provider.send("/oauth/v2/revoke", init)).status).toBe(200)
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
    await end(at.provider.cx(), given)
    expect(await at.statusOf(given.token)).toBe(401)
  })
})

describe("an exchange is refused", () => {
  test("without a subject, its type, or with types that we don't know", async () => {
    const { access, id } = await at.signIn()
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
    for (const [token, fields] of cases) await at.refused(token, fields)
  })

  test("of a refresh token", async () => {
    const { refresh } = await at.signIn("olga", at.web, "openid offline_access")
    await at.refused(refresh, {})
    await at.refused(refresh, { subject_token_type: typeOf("refresh_token") })
  })

  test("of a token that was revoked, or whose sign-in ended", async () => {
    const { access, id, browser } = await at.signIn()
    await browser.go(`/oidc/v1/endsession?id_token_hint=${id}`)
    await at.refused(access, {})
  })

  test("of a token that is not for the application that exchanges it", async () => {
    const cx = at.provider.cx()
    const other = cx.ids.next()
    await project.createProject(cx, other, { orgId: at.provider.setup.orgId, name: "Foreign" })
    const foreign = await at.provider.addClient({ grantTypes: ["token_exchange"] }, other)
    const { access, id } = await at.signIn()
    for (const [token, subject_token_type] of [
      [access, accessToken],
      [id, typeOf("id_token")],
    ] as const) {
      const { answer } = await at.exchange(token, { subject_token_type }, foreign)
      expect(answer.error).toBe("invalid_request")
    }
    const scope = `openid urn:core:iam:org:project:id:${other}:aud`
    const meant = await at.signIn("olga", at.web, scope)
    expect((await at.exchange(meant.access, {}, foreign)).status).toBe(200)
  })

  test("to applications that may not, and to those without a secret", async () => {
    const { access } = await at.signIn()
    expect((await at.exchange(access, {}, at.web)).answer.error).toBe("unauthorized_client")
    const native = await at.provider.addClient({
      appType: "native",
      authMethod: "none",
      grantTypes: ["token_exchange"],
    })
    const fields = {
      grant_type: exchangeGrant,
      subject_token: access,
      subject_token_type: accessToken,
    }
    const { answer } = await askToken(at.provider, { ...fields, client_id: native.id })
    expect(answer.error).toBe("unauthorized_client")
    const none = await askToken(at.provider, fields)
    expect([none.status, none.answer.error]).toEqual([401, "invalid_client"])
  })

  test("of a token that is bound to a key, unless what it gives is bound to one", async () => {
    const key = await newProofKey()
    const { code = "" } = answerOf(await browserOf(at.provider).signIn(authorizePath(at.web.id)))
    const bound = await askBound(at.provider, codeFields(code), { key, basic: asOf(at.web) })
    expect(bound.answer.token_type).toBe("DPoP")
    const token = String(bound.answer.access_token)
    await at.refused(token, {}, "invalid_dpop_proof")
    const fields = {
      grant_type: exchangeGrant,
      subject_token: token,
      subject_token_type: accessToken,
    }
    const own = await newProofKey()
    const { answer } = await askBound(at.provider, fields, { key: own, basic: asOf(at.gateway) })
    expect(answer).toMatchObject({ token_type: "DPoP", issued_token_type: accessToken })
  })
})
