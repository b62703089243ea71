import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { post } from "./must.ts"
import {
  answerOf,
  apiCallerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
} from "./provider.ts"

type Side = {
  readonly provider: Provider
  readonly client: NewClient
  readonly browser: ReturnType<typeof browserOf>
  readonly token: string
  readonly jwt: string
  /** A public one, of a device. */
  readonly tv: NewClient
  /** None of them was used yet. */
  readonly code: string
  readonly refresh: string
  readonly deviceCode: string
  readonly requestUri: string
}

/** The same steps give the same ids; the data keys are the same as well. */
const side = async (instance: string): Promise<Side> => {
  const provider = await openProvider(instance)
  const client = await provider.addClient()
  const jwtClient = await provider.addClient({ tokenType: "jwt" })
  const browser = browserOf(provider)
  const codeOf = async (id: string) => answerOf(await browser.go(authorizePath(id))).code ?? ""
  await browser.signIn(authorizePath(client.id))
  const tokenOf = async (of: NewClient) => {
    const fields = codeFields(await codeOf(of.id))
    const { answer } = await askToken(provider, fields, `${of.id}:${of.secret}`)
    return String(answer.access_token)
  }
  const [token, jwt] = [await tokenOf(client), await tokenOf(jwtClient)]
  const grantTypes = ["authorization_code", "refresh_token", "device_code"] as const
  const tv = await provider.addClient({ grantTypes: [...grantTypes], authMethod: "none" })
  const offline = await browser.go(authorizePath(tv.id, { scope: "openid offline_access" }))
  const fields = codeFields(answerOf(offline).code ?? "", { client_id: tv.id })
  const refresh = String((await askToken(provider, fields)).answer.refresh_token)
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

let one: Side
let two: Side
beforeAll(async () => {
  one = await side("i1")
  two = await side("i2")
})
afterAll(async () => {
  await one.provider.close()
  await two.provider.close()
})

describe("of two instances with equal ids, one", () => {
  test("really has the ids of the other", () => {
    expect(one.client.id).toBe(two.client.id)
    expect(one.provider.setup).toMatchObject({ ownerId: two.provider.setup.ownerId })
    expect(one.browser.cookie().split(".")[0]).toBe(two.browser.cookie().split(".")[0])
  })

  test("refuses the other's access tokens", async () => {
    for (const token of [two.token, two.jwt]) {
      const headers = { authorization: `Bearer ${token}` }
      expect((await two.provider.send("/oidc/v1/userinfo", { headers })).status).toBe(200)
      expect((await one.provider.send("/oidc/v1/userinfo", { headers })).status).toBe(401)
      await expect(apiCallerOf(one.provider, token)).rejects.toThrow(/not valid/)
    }
  })

  test("refuses the other's codes", async () => {
    const as = `${one.client.id}:${one.client.secret}`
    const { answer } = await askToken(one.provider, codeFields(two.code), as)
    expect(answer.error).toBe("invalid_grant")
  })

  test("refuses the other's refresh tokens and device codes", async () => {
    const device_code = "urn:ietf:params:oauth:grant-type:device_code"
    const asked = async ({ provider, tv }: Side, { refresh, deviceCode }: Side) => {
      const kinds = [
        { grant_type: device_code, device_code: deviceCode },
        { grant_type: "refresh_token", refresh_token: refresh },
      ]
      const answers = kinds.map((fields) => askToken(provider, { ...fields, client_id: tv.id }))
      return (await Promise.all(answers)).map(({ answer }) => answer.error)
    }
    expect(await asked(one, two)).toEqual(["invalid_grant", "invalid_grant"])
    expect(await asked(one, one)).toEqual(["authorization_pending", undefined])
  })

  test("refuses what was pushed to the other", async () => {
    const opened = async ({ requestUri }: Side) => {
      const query = new URLSearchParams({ client_id: one.tv.id, request_uri: requestUri })
      return one.browser.go(`/oauth/v2/authorize?${query}`)
    }
    const foreign = await opened(two)
    expect([foreign.path.startsWith("/oauth/"), foreign.response.status]).toEqual([true, 400])
    expect(answerOf(await opened(one))).toHaveProperty("code")
  })

  test("does not know the browsers of the other", async () => {
    const path = authorizePath(two.client.id)
    const [line = ""] = (await two.provider.send(path)).headers.getSetCookie()
    const headers = { cookie: line.split(";")[0] ?? "" }
    expect((await two.provider.send(path, { headers })).headers.getSetCookie()).toEqual([])
    expect((await one.provider.send(path, { headers })).headers.getSetCookie()).toHaveLength(1)
  })
})
