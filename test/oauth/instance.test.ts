import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { post } from "./must.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  findApiCaller,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"

type InstanceFixture = {
  readonly provider: Provider
  readonly client: NewClient
  readonly browser: ReturnType<typeof browserOf>
  readonly token: string
  readonly jwt: string
  /** A public client of a device. */
  readonly tv: NewClient
  /** None of them has been used. */
  readonly code: string
  readonly refresh: string
  readonly deviceCode: string
  readonly requestUri: string
}

/** The same steps generate the same IDs; the data keys are equal as well. */
const createInstance = async (instance: string): Promise<InstanceFixture> => {
  const provider = await openProvider(instance)
  const client = await provider.addClient()
  const jwtClient = await provider.addClient({ tokenType: "jwt" })
  const browser = browserOf(provider)
  const codeOf = async (id: string) => responseOf(await browser.go(authorizePath(id))).code ?? ""
  await browser.signIn(authorizePath(client.id))
  const tokenOf = async (of: NewClient) => {
    const fields = codeFields(await codeOf(of.id))
    const { answer } = await sendTokenRequest(provider, fields, `${of.id}:${of.secret}`)
    return String(answer.access_token)
  }
  const [token, jwt] = [await tokenOf(client), await tokenOf(jwtClient)]
  const grantTypes = ["authorization_code", "refresh_token", "device_code"] as const
  const tv = await provider.addClient({ grantTypes: [...grantTypes], authMethod: "none" })
  const offline = await browser.go(authorizePath(tv.id, { scope: "openid offline_access" }))
  const fields = codeFields(responseOf(offline).code ?? "", { client_id: tv.id })
  const refresh = String((await sendTokenRequest(provider, fields)).answer.refresh_token)
  const posted = async (path: string, body: string) => (await post(provider, path, body)).json()
  const device = await posted("/oauth/v2/device_authorization", `client_id=${tv.id}&scope=openid`)
  const pushed = await posted(
    "/oauth/v2/par",
    new URL(authorizePath(tv.id), issuer).search.slice(1),
  )
  return {
    provider,
    client,
    browser,
    token,
    jwt,
    tv,
    refresh,
    code: await codeOf(client.id),
    deviceCode: String(device.device_code),
    requestUri: String(pushed.request_uri),
  }
}

let one: InstanceFixture
let two: InstanceFixture
beforeAll(async () => {
  one = await createInstance("i1")
  two = await createInstance("i2")
})
afterAll(async () => {
  await one.provider.close()
  await two.provider.close()
})

describe("of two instances with equal IDs, one", () => {
  test("has the IDs of the other", () => {
    expect(one.client.id).toBe(two.client.id)
    expect(one.provider.setup).toMatchObject({ ownerId: two.provider.setup.ownerId })
    expect(one.browser.cookie().split(".")[0]).toBe(two.browser.cookie().split(".")[0])
  })

  test("rejects the other's access tokens", async () => {
    for (const token of [two.token, two.jwt]) {
      const headers = { authorization: `Bearer ${token}` }
      expect((await two.provider.send("/oidc/v1/userinfo", { headers })).status).toBe(200)
      expect((await one.provider.send("/oidc/v1/userinfo", { headers })).status).toBe(401)
      await expect(findApiCaller(one.provider, token)).rejects.toThrow(
        /the access token is invalid or has expired/,
      )
    }
  })

  test("rejects the other's codes", async () => {
    const as = `${one.client.id}:${one.client.secret}`
    const { answer } = await sendTokenRequest(one.provider, codeFields(two.code), as)
    expect(answer.error).toBe("invalid_grant")
  })

  test("rejects the other's refresh tokens and device codes", async () => {
    const device_code = "urn:ietf:params:oauth:grant-type:device_code"
    const asked = async (
      { provider, tv }: InstanceFixture,
      { refresh, deviceCode }: InstanceFixture,
    ) => {
      const kinds = [
        { grant_type: device_code, device_code: deviceCode },
        { grant_type: "refresh_token", refresh_token: refresh },
      ]
      const answers = kinds.map((fields) =>
        sendTokenRequest(provider, { ...fields, client_id: tv.id }),
      )
      return (await Promise.all(answers)).map(({ answer }) => answer.error)
    }
    expect(await asked(one, two)).toEqual(["invalid_grant", "invalid_grant"])
    expect(await asked(one, one)).toEqual(["authorization_pending", undefined])
  })

  test("rejects requests pushed to the other", async () => {
    const opened = async ({ requestUri }: InstanceFixture) => {
      const query = new URLSearchParams({ client_id: one.tv.id, request_uri: requestUri })
      return one.browser.go(`/oauth/v2/authorize?${query}`)
    }
    const foreign = await opened(two)
    expect([foreign.path.startsWith("/oauth/"), foreign.response.status]).toEqual([true, 400])
    expect(responseOf(await opened(one))).toHaveProperty("code")
  })

  test("does not recognize the browsers of the other", async () => {
    const path = authorizePath(two.client.id)
    const [line = ""] = (await two.provider.send(path)).headers.getSetCookie()
    const headers = { cookie: line.split(";")[0] ?? "" }
    expect((await two.provider.send(path, { headers })).headers.getSetCookie()).toEqual([])
    expect((await one.provider.send(path, { headers })).headers.getSetCookie()).toHaveLength(1)
  })
})
