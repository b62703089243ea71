import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

/** Turns an error thrown by the access rule into a rejection. */
const as = async (...call: Parameters<Tenant["as"]>) => estate.as(...call)

describe("a user of any organization is found by login name", () => {
  const found = async (userName: "owner" | "manager" | "stranger", loginName: string) =>
    (await as(userName, "getUserByLoginNameGlobal", { loginName })).user

  test("completely by callers with access, and otherwise with identifying data only", async () => {
    for (const who of ["owner", "manager"] as const) {
      const { type } = await found(who, "NOBODY")
      expect(type.value.email.email).toBe("nobody@example.com")
    }
    const seen = await found("stranger", "nobody")
    expect(seen).toMatchObject({
      id: "nobody",
      userName: "nobody",
      type: { case: "human", value: { profile: { displayName: "nobody Person" } } },
    })
    expect(JSON.stringify(seen.type)).not.toContain("example.com")
  })

  test("by exact name, with the permission", async () => {
    await expect(found("stranger", "nobod")).rejects.toMatchObject({ id: "user.missing" })
    const asked = as("nobody", "getUserByLoginNameGlobal", { loginName: "manager" })
    await expect(asked).rejects.toMatchObject({ code: "permission_denied" })
  })
})
