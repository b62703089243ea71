import { decodeJwt } from "jose"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import * as project from "../../src/domain/project/index.ts"
import {
  generateMachineSecret,
  removeMachineSecret,
} from "../../src/domain/service-account/machine-secret.ts"
import { removeServiceKey } from "../../src/domain/service-account/service-key.ts"
import { deactivateUser, removeUser, updateUser } from "../../src/domain/user/index.ts"
import { addApi, addKeyClient, addRobot, asserted, basicOf } from "./clients.ts"
import { askToken, issuer, openProvider, type Provider } from "./provider.ts"

const grant_type = "client_credentials"
const core = "urn:core:iam:org:project:id:core:aud"

let provider: Provider
let robot: Awaited<ReturnType<typeof addRobot>>
beforeAll(async () => {
  provider = await openProvider()
})
afterAll(() => provider.close())
beforeEach(async () => {
  robot = await addRobot(provider)
})

const ask = (
  fields: Readonly<Record<string, string>> = {},
  basic = basicOf(robot.id, robot.secret),
) => askToken(provider, { grant_type, ...fields }, basic)

const tokenOf = async (scope: string) => String((await ask({ scope })).answer.access_token)

const statusOf = async (token: string) => {
  const headers = { authorization: `Bearer ${token}` }
  return (await provider.send("/oidc/v1/userinfo", { headers })).status
}

describe("client_credentials (RFC 6749 §4.4)", () => {
  test("gives a service user neither id_token nor refresh token (§4.4.3)", async () => {
    const { status, answer, headers } = await ask({ scope: "openid profile offline_access" })
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
    expect(await told.json()).toMatchObject({ sub: robot.userId, name: "Robot" })
  })

  test("needs no scope; the token is then for ourselves (RFC 9068 §3)", async () => {
    const jwt = await addRobot(provider, "jwt")
    const { answer } = await ask({}, basicOf(jwt.id, jwt.secret))
    expect(answer.scope).toBe("")
    expect(decodeJwt(String(answer.access_token))).toMatchObject({
      iss: issuer,
      sub: jwt.userId,
      aud: [issuer],
      client_id: jwt.id,
    })
  })

  test("takes its audience from the scopes, and leaves out what means nothing", async () => {
    const jwt = await addRobot(provider, "jwt")
    const cx = provider.cx()
    const projectId = cx.ids.next()
    await project.createProject(cx, projectId, { orgId: provider.setup.orgId, name: "One" })
    const one = `urn:core:iam:org:project:id:${projectId}:aud`
    const gone = "urn:core:iam:org:project:id:12345:aud"
    const scope = `${core} ${one} ${gone} nonsense`
    const { answer } = await ask({ scope }, basicOf(jwt.id, jwt.secret))
    expect(answer.scope).toBe(`${core} ${one}`)
    const { aud } = decodeJwt(String(answer.access_token))
    expect(aud).toEqual([provider.ownProjectId, projectId])
    await project.deactivateProject(cx, projectId)
    const later = await ask({ scope }, basicOf(jwt.id, jwt.secret))
    expect(decodeJwt(String(later.answer.access_token)).aud).toEqual([provider.ownProjectId])
  })

  test("is asked for by secret in header or body, and by key", async () => {
    const { id, userId, secret } = robot
    const ways = [
      ask({}, basicOf(userId, secret)),
      askToken(provider, { grant_type, client_id: id, client_secret: secret }),
      askToken(provider, { grant_type, ...(await asserted(provider, robot)) }),
      askToken(provider, { grant_type, ...(await asserted(provider, { ...robot, id: userId })) }),
    ]
    for (const { status } of await Promise.all(ways)) expect(status).toBe(200)
  })

  test("is no grant for applications, however well they authenticate", async () => {
    const web = await provider.addClient()
    const spa = await provider.addClient({ authMethod: "none" })
    const api = await addApi(provider, "basic")
    const keyed = await addKeyClient(provider)
    const answers = await Promise.all([
      ask({}, basicOf(web.id, web.secret)),
      ask({}, basicOf(api.id, api.secret)),
      askToken(provider, { grant_type, client_id: spa.id }),
      askToken(provider, { grant_type, ...(await asserted(provider, keyed)) }),
    ])
    for (const { status, answer } of answers) {
      expect([status, answer.error]).toEqual([400, "unauthorized_client"])
    }
  })

  test("writes nothing", async () => {
    const before = provider.store.log.writes()
    for (let at = 0; at < 5; at++) expect((await ask({ scope: core })).status).toBe(200)
    expect(provider.store.log.writes()).toBe(before)
  })

  type End = (cx: ReturnType<Provider["cx"]>) => Promise<unknown>
  const ends: Readonly<Record<string, End>> = {
    "its secret is removed": (cx) => removeMachineSecret(cx, robot.userId),
    "its secret is replaced": (cx) => generateMachineSecret(cx, robot.userId),
    "the service user is deactivated": (cx) => deactivateUser(cx, robot.userId),
    "the service user is removed": (cx) => removeUser(cx, robot.userId),
  }
  test.each(Object.entries(ends))("its token is worth nothing once %s", async (_, end) => {
    const token = await tokenOf("openid")
    expect(await statusOf(token)).toBe(200)
    await end(provider.cx())
    expect(await statusOf(token)).toBe(401)
    const { status, answer } = await ask()
    expect([status, answer.error]).toEqual([401, "invalid_client"])
  })

  test("what a key got ends with the key, and not with the secret", async () => {
    const fields = await asserted(provider, robot)
    const { answer } = await askToken(provider, { grant_type, scope: "openid", ...fields })
    const token = String(answer.access_token)
    await removeMachineSecret(provider.cx(), robot.userId)
    expect(await statusOf(token)).toBe(200)
    await removeServiceKey(provider.cx(), robot.userId, robot.keyId)
    expect(await statusOf(token)).toBe(401)
  })

  test("a new name leaves the token as it is, and becomes the client id", async () => {
    const token = await tokenOf("openid")
    await updateUser(provider.cx(), robot.userId, { userName: `new ${robot.userId}` })
    expect(await statusOf(token)).toBe(200)
    expect((await ask()).status).toBe(401)
    expect((await ask({}, basicOf(`new ${robot.userId}`, robot.secret))).status).toBe(200)
  })
})
