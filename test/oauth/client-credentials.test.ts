import { decodeJwt } from "jose"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import * as project from "../../src/domain/project/index.ts"
import {
  generateMachineSecret,
  removeMachineSecret,
} from "../../src/domain/service-account/machine-secret.ts"
import { removeServiceKey } from "../../src/domain/service-account/service-key.ts"
import { deactivateUser, removeUser, updateUser } from "../../src/domain/user/index.ts"
import { addApi, addKeyClient, addServiceAccount, encodeBasic, signAssertion } from "./clients.ts"
import { issuer, openProvider, type Provider, sendTokenRequest } from "./provider.ts"

const grant_type = "client_credentials"
const managementScope = "urn:core:iam:org:project:id:core:aud"

let provider: Provider
let serviceAccount: Awaited<ReturnType<typeof addServiceAccount>>
beforeAll(async () => {
  provider = await openProvider()
})
afterAll(() => provider.close())
beforeEach(async () => {
  serviceAccount = await addServiceAccount(provider)
})

const requestClientToken = (
  fields: Readonly<Record<string, string>> = {},
  basic = encodeBasic(serviceAccount.id, serviceAccount.secret),
) => sendTokenRequest(provider, { grant_type, ...fields }, basic)

const tokenOf = async (scope: string) =>
  String((await requestClientToken({ scope })).answer.access_token)

const statusOf = async (token: string) => {
  const headers = { authorization: `Bearer ${token}` }
  return (await provider.send("/oidc/v1/userinfo", { headers })).status
}

describe("client_credentials (RFC 6749 §4.4)", () => {
  test("gives a service account neither id_token nor refresh token (§4.4.3)", async () => {
    const { status, answer, headers } = await requestClientToken({
      scope: "openid profile offline_access",
    })
    expect(status).toBe(200)
    expect(headers.get("cache-control")).toBe("no-store")
    expect(answer).toEqual({
      access_token: expect.any(String),
      token_type: "Bearer",
      expires_in: 43_200,
      scope: "openid profile",
    })
    const authorization = `Bearer ${answer.access_token}`
    const told = await provider.send("/oidc/v1/userinfo", { headers: { authorization } })
    expect(await told.json()).toMatchObject({ sub: serviceAccount.userId, name: "Robot" })
  })

  test("needs no scope; the token's audience is then ourselves (RFC 9068 §3)", async () => {
    const jwt = await addServiceAccount(provider, "jwt")
    const { answer } = await requestClientToken({}, encodeBasic(jwt.id, jwt.secret))
    expect(answer.scope).toBe("")
    expect(decodeJwt(String(answer.access_token))).toMatchObject({
      iss: issuer,
      sub: jwt.userId,
      aud: [issuer],
      client_id: jwt.id,
    })
  })

  test("takes its audience from the scopes, and omits unknown ones", async () => {
    const jwt = await addServiceAccount(provider, "jwt")
    const cx = provider.cx()
    const projectId = cx.ids.next()
    await project.createProject(cx, projectId, { orgId: provider.setup.orgId, name: "One" })
    const one = `urn:core:iam:org:project:id:${projectId}:aud`
    const gone = "urn:core:iam:org:project:id:12345:aud"
    const scope = `${managementScope} ${one} ${gone} nonsense`
    const { answer } = await requestClientToken({ scope }, encodeBasic(jwt.id, jwt.secret))
    expect(answer.scope).toBe(`${managementScope} ${one}`)
    const { aud } = decodeJwt(String(answer.access_token))
    expect(aud).toEqual([provider.ownProjectId, projectId])
    await project.deactivateProject(cx, projectId)
    const later = await requestClientToken({ scope }, encodeBasic(jwt.id, jwt.secret))
    expect(decodeJwt(String(later.answer.access_token)).aud).toEqual([provider.ownProjectId])
  })

  test("works with a secret in header or body, and with a key", async () => {
    const { id, userId, secret } = serviceAccount
    const ways = [
      requestClientToken({}, encodeBasic(userId, secret)),
      sendTokenRequest(provider, { grant_type, client_id: id, client_secret: secret }),
      sendTokenRequest(provider, {
        grant_type,
        ...(await signAssertion(provider, serviceAccount)),
      }),
      sendTokenRequest(provider, {
        grant_type,
        ...(await signAssertion(provider, { ...serviceAccount, id: userId })),
      }),
    ]
    for (const { status } of await Promise.all(ways)) expect(status).toBe(200)
  })

  test("is not available to applications, however they authenticate", async () => {
    const web = await provider.addClient()
    const spa = await provider.addClient({ authMethod: "none" })
    const api = await addApi(provider, "basic")
    const keyed = await addKeyClient(provider)
    const answers = await Promise.all([
      requestClientToken({}, encodeBasic(web.id, web.secret)),
      requestClientToken({}, encodeBasic(api.id, api.secret)),
      sendTokenRequest(provider, { grant_type, client_id: spa.id }),
      sendTokenRequest(provider, { grant_type, ...(await signAssertion(provider, keyed)) }),
    ])
    for (const { status, answer } of answers) {
      expect([status, answer.error]).toEqual([400, "unauthorized_client"])
    }
  })

  test("writes nothing", async () => {
    const before = provider.store.log.writes()
    for (let at = 0; at < 5; at++)
      expect((await requestClientToken({ scope: managementScope })).status).toBe(200)
    expect(provider.store.log.writes()).toBe(before)
  })

  type End = (cx: ReturnType<Provider["cx"]>) => Promise<unknown>
  const ends: Readonly<Record<string, End>> = {
    "its secret is removed": (cx) => removeMachineSecret(cx, serviceAccount.userId),
    "its secret is replaced": (cx) => generateMachineSecret(cx, serviceAccount.userId),
    "the service user is deactivated": (cx) => deactivateUser(cx, serviceAccount.userId),
    "the service user is removed": (cx) => removeUser(cx, serviceAccount.userId),
  }
  test.each(Object.entries(ends))("its token is invalid once %s", async (_, end) => {
    const token = await tokenOf("openid")
    expect(await statusOf(token)).toBe(200)
    await end(provider.cx())
    expect(await statusOf(token)).toBe(401)
    const { status, answer } = await requestClientToken()
    expect([status, answer.error]).toEqual([401, "invalid_client"])
  })

  test("a token issued for a key ends with the key, and not with the secret", async () => {
    const fields = await signAssertion(provider, serviceAccount)
    const { answer } = await sendTokenRequest(provider, { grant_type, scope: "openid", ...fields })
    const token = String(answer.access_token)
    await removeMachineSecret(provider.cx(), serviceAccount.userId)
    expect(await statusOf(token)).toBe(200)
    await removeServiceKey(provider.cx(), serviceAccount.userId, serviceAccount.keyId)
    expect(await statusOf(token)).toBe(401)
  })

  test("a new name keeps the token valid, and becomes the client ID", async () => {
    const token = await tokenOf("openid")
    await updateUser(provider.cx(), serviceAccount.userId, {
      userName: `new ${serviceAccount.userId}`,
    })
    expect(await statusOf(token)).toBe(200)
    expect((await requestClientToken()).status).toBe(401)
    expect(
      (
        await requestClientToken(
          {},
          encodeBasic(`new ${serviceAccount.userId}`, serviceAccount.secret),
        )
      ).status,
    ).toBe(200)
  })
})
