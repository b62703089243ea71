import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  answerOf,
  apiCallerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
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
  /** Not used yet. */
  readonly code: string
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
  return { provider, client, browser, token, jwt, code: await codeOf(client.id) }
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

  test("does not know the browsers of the other", async () => {
    const path = authorizePath(two.client.id)
    const [line = ""] = (await two.provider.send(path)).headers.getSetCookie()
    const headers = { cookie: line.split(";")[0] ?? "" }
    expect((await two.provider.send(path, { headers })).headers.getSetCookie()).toEqual([])
    expect((await one.provider.send(path, { headers })).headers.getSetCookie()).toHaveLength(1)
  })
})
