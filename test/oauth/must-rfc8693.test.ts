import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { deactivateApplication } from "../../src/domain/app/index.ts"
import { exchangeGrant, openExchange, typeOf } from "./exchange.ts"
import { basicHeader, loadDiscovery, post, type Row } from "./must.ts"

let exchange: Awaited<ReturnType<typeof openExchange>>
beforeAll(async () => {
  exchange = await openExchange()
})
afterAll(() => exchange.provider.close())

const rows: readonly Row[] = [
  [
    "§2.2.1 scope is named where it differs from what was asked",
    async () => {
      const { access } = await exchange.signIn()
      expect((await exchange.exchanged(access, { scope: "email openid" })).scope).toBe(
        "email openid",
      )
      expect((await exchange.exchanged(access)).scope).toBe("openid profile email")
      const offline = await exchange.signIn("olga", exchange.web, "openid offline_access")
      expect((await exchange.exchanged(offline.access)).scope).toBe("openid")
    },
  ],
  [
    "§2.2.1 the answer is kept by nobody",
    async () => {
      const { access } = await exchange.signIn()
      const fields = {
        grant_type: exchangeGrant,
        subject_token: access,
        subject_token_type: typeOf("access_token"),
      }
      const body = new URLSearchParams(fields).toString()
      const as = basicHeader(exchange.gateway.id, exchange.gateway.secret)
      const { status, headers } = await post(exchange.provider, "/oauth/v2/token", body, as)
      expect([status, headers.get("cache-control")]).toEqual([200, "no-store"])
    },
  ],
]

describe("RFC 8693", () => {
  test.each(rows)("%s", (_, holds) => holds())

  test("§2.1 a token exchanged from an id_token ends with its application's access", async () => {
    const { provider } = exchange
    const web = await provider.addClient()
    const { id } = await exchange.signIn("olga", web)
    const fields = { subject_token_type: typeOf("id_token") }
    const { access_token } = await exchange.exchanged(id, fields)
    expect(await exchange.statusOf(access_token)).toBe(200)
    await deactivateApplication(provider.cx(), web.appId)
    expect(await exchange.statusOf(access_token)).toBe(401)
    await exchange.refused(id, fields)
  })

  test("discovery lists the grant", async () => {
    expect((await loadDiscovery(exchange.provider)).grant_types_supported).toContain(exchangeGrant)
  })
})
