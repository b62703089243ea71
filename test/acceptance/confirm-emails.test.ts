// Addresses that only an organization vouches for: reported, and confirmed in bulk by the operator.
import { afterAll, beforeAll, expect, test } from "vitest"
import { run } from "../support/latchkey.ts"
import { openHousehold, openService, personOf, type Service } from "./service.ts"

let service: Service
beforeAll(async () => {
  service = await openService()
  const { orgId, token } = await openHousehold(service, "acme-labs")
  // Its own manager says that the address is verified, and has no permission on the instance.
  await service.get(
    "CreateUser",
    { organizationId: orgId, username: "kim", human: personOf("kim") },
    token,
  )
})
afterAll(() => service?.close())

const command = (...args: readonly string[]) => run([...args, "--data", service.data])

test("doctor reports them, and the operator confirms them once", async () => {
  const finding = /users have an address verified for their organization alone/
  expect((await command("doctor")).output).toMatch(finding)
  const dry = await command("users", "confirm-emails", "--dry-run")
  expect(dry).toMatchObject({ code: 0, output: expect.stringContaining("of 1 users") })
  expect((await command("doctor")).output).toMatch(finding)
  const elsewhere = await command("users", "confirm-emails", "--org", "1")
  expect(elsewhere.output).toContain("of 0 users")
  const done = await command("users", "confirm-emails")
  expect(done).toMatchObject({
    code: 0,
    output: expect.stringContaining("Confirmed the email addresses of 1 users"),
  })
  expect((await command("users", "confirm-emails")).output).toContain("of 0 users")
  expect((await command("doctor")).output).not.toMatch(finding)
})
