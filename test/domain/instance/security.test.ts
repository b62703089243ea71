import { afterEach, beforeEach, expect, test } from "vitest"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

test("impersonation is off until an administrator enables it, in either version", async () => {
  expect((await estate.as("owner", "getSecurityPolicy")).policy).toMatchObject({
    enableImpersonation: false,
    enableIframeEmbedding: false,
  })
  await estate.as("owner", "setSecurityPolicy", { enableImpersonation: true })
  expect((await estate.as("owner", "getSecuritySettings")).settings).toMatchObject({
    enableImpersonation: true,
    embeddedIframe: { enabled: false, allowedOrigins: [] },
  })
  const embeddedIframe = { allowedOrigins: ["https://app.example.com"] }
  await estate.as("owner", "setSecuritySettings", { embeddedIframe })
  expect((await estate.as("owner", "getSecurityPolicy")).policy).toMatchObject({
    enableImpersonation: false,
    allowedOrigins: ["https://app.example.com"],
  })
})

test.each(["setSecurityPolicy", "setSecuritySettings"])(
  "%s is allowed for the instance owner only",
  async (name) => {
    for (const person of ["manager", "nobody", "stranger"] as const) {
      const tried = async () => estate.as(person, name, { enableImpersonation: true })
      await expect(tried(), person).rejects.toMatchObject({ code: "permission_denied" })
    }
    const { policy } = await estate.as("owner", "getSecurityPolicy")
    expect(policy.enableImpersonation).toBe(false)
  },
)

test("setting the same values again adds no second event", async () => {
  const count = async () => (await estate.store.log.read(0, 1000)).length
  await estate.as("owner", "setSecurityPolicy", { enableImpersonation: true })
  const before = await count()
  await estate.as("owner", "setSecurityPolicy", { enableImpersonation: true })
  expect(await count()).toBe(before)
})

test("enabling embedding requires the allowed origins", async () => {
  const ask = (allowedOrigins: readonly string[]) =>
    estate.as("owner", "setSecurityPolicy", { enableIframeEmbedding: true, allowedOrigins })
  await expect(ask([])).rejects.toMatchObject({ id: "instance.setting_invalid" })
  await ask(["https://app.example.com"])
  expect((await estate.as("owner", "getSecuritySettings")).settings.embeddedIframe).toMatchObject({
    enabled: true,
    allowedOrigins: ["https://app.example.com"],
  })
})

test.each(["app.example.com", "https://app.example.com/path", "javascript:alert(1)", "*", ""])(
  "rejects %j as an origin",
  async (origin) => {
    const asked = { allowedOrigins: [origin] }
    await expect(estate.as("owner", "setSecurityPolicy", asked)).rejects.toMatchObject({
      code: "invalid_argument",
    })
  },
)
