import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { type Estate, openEstate } from "../../support/estate.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
})
afterEach(() => estate.close())

/** A refusal by the access rule is a rejection like any other. */
const as = async (...call: Parameters<Estate["as"]>) => estate.as(...call)

describe("a user of any organisation is found by their login name", () => {
  const found = async (who: "owner" | "manager" | "stranger", loginName: string) =>
    (await as(who, "getUserByLoginNameGlobal", { loginName })).user

  test("whole by who reaches them, else with what they are recognised by", async () => {
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

  test("exactly, and by who may", async () => {
    await expect(found("stranger", "nobod")).rejects.toMatchObject({ id: "user.missing" })
    const asked = as("nobody", "getUserByLoginNameGlobal", { loginName: "manager" })
    await expect(asked).rejects.toMatchObject({ code: "permission_denied" })
  })
})
