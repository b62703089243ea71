import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { deactivateApplication } from "../../src/domain/app/index.ts"
import { exchangeGrant, openExchange, typeOf } from "./exchange.ts"
import { basic, metadata, post, type Row } from "./must.ts"

let at: Awaited<ReturnType<typeof openExchange>>
beforeAll(async () => {
  at = await openExchange()
})
afterAll(() => at.provider.close())

const rows: readonly Row[] = [
  [
    "§2.2.1 scope is named where it differs from what was asked",
    async () => {
      const { access } = await at.signIn()
      expect((await at.exchanged(access, { scope: "email openid" })).scope).toBe("email openid")
      expect((await at.exchanged(access)).scope).toBe("openid profile email")
      const offline = await at.signIn("olga", at.web, "openid offline_access")
      expect((await at.exchanged(offline.access)).scope).toBe("openid")
    },
  ],
  [
    "§2.2.1 the answer is kept by nobody",
    async () => {
      const { access } = await at.signIn()
      const fields = {
        grant_type: exchangeGrant,
        subject_token: access,
        subject_token_type: typeOf("access_token"),
      }
      const body = new URLSearchParams(fields).toString()
      const as = basic(at.gateway.id, at.gateway.secret)
      const { status, headers } = await post(at.provider, "/oauth/v2/token", body, as)
      expect([status, headers.get("cache-control")]).toEqual([200, "no-store"])
    },
  ],
]

describe("RFC 8693", () => {
  test.each(rows)("%s", (_, holds) => holds())

  test("§2.1 what an id_token was exchanged for ends with the application it was for", async () => {
    const { provider } = at
    const web = await provider.addClient()
    const { id } = await at.signIn("olga", web)
    const fields = { subject_token_type: typeOf("id_token") }
    const { access_token } = await at.exchanged(id, fields)
    expect(await at.statusOf(access_token)).toBe(200)
    await deactivateApplication(provider.cx(), web.appId)
    expect(await at.statusOf(access_token)).toBe(401)
    await at.refused(id, fields)
  })

  test("discovery names the grant", async () => {
    expect((await metadata(at.provider)).grant_types_supported).toContain(exchangeGrant)
  })
})
