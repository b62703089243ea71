// Email addresses that only an organization has verified are reported, and the operator confirms
// them in bulk.
import { afterAll, beforeAll, expect, test } from "vitest"
import { run } from "../support/latchkey.ts"
import { createOrganizationFixture, humanInput, openService, type Service } from "./service.ts"

let service: Service
let orgId = ""
let managerToken = ""
let kim = ""
beforeAll(async () => {
  service = await openService()
  const household = await createOrganizationFixture(service, "acme-labs")
  orgId = household.orgId
  managerToken = household.token
  // The organization's own manager marks the address as verified, without permission on the
  // instance.
  kim = await addPerson("kim", "kim")
})
afterAll(() => service?.close())

async function addPerson(username: string, name: string): Promise<string> {
  const request = { organizationId: orgId, username, human: humanInput(name) }
  const { id } = await service.get("CreateUser", request, managerToken)
  return id
}

const command = (...args: readonly string[]) => run([...args, "--data", service.data])

test("doctor reports them, and the operator confirms them once", async () => {
  const finding = /users have an email address that is verified only for their organization/
  expect((await command("doctor")).output).toMatch(finding)
  const dry = await command("users", "confirm-emails", "--dry-run")
  expect(dry).toMatchObject({ code: 0, output: expect.stringContaining("of 1 users") })
  expect(dry.output).toContain(kim)
  expect((await command("doctor")).output).toMatch(finding)
  const { organizationId: other } = await service.get("AddOrganization", { name: "other" })
  const elsewhere = await command("users", "confirm-emails", "--org", other)
  expect(elsewhere.output).toContain("of 0 users")
  const done = await command("users", "confirm-emails")
  expect(done).toMatchObject({
    code: 0,
    output: expect.stringContaining("Confirmed the email addresses of 1 users"),
  })
  expect((await command("users", "confirm-emails")).output).toContain("of 0 users")
  expect((await command("doctor")).output).not.toMatch(finding)
})

test("users who share an address are left out", async () => {
  await addPerson("sam", "sam")
  await addPerson("impostor", "sam")
  const { output } = await command("users", "confirm-emails")
  expect(output).toContain("of 0 users")
  expect(output).toContain("2 users share their email address with others and were skipped")
})
