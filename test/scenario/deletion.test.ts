// The statements of docs/reference/deletion.md about backups: earlier ones are unchanged, later
// ones contain no deleted data.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { takeSnapshot } from "../../src/store/index.ts"
import { openTestServer, type TestServer } from "./house.ts"

let server: TestServer
beforeAll(async () => {
  server = await openTestServer()
})
afterAll(() => server.close())

async function callOperation(name: string, body: object): Promise<Record<string, string>> {
  const response = await fetch(`${server.url}/core.user.v2.UserService/${name}`, {
    method: "POST",
    headers: {
      ...server.headers,
      "content-type": "application/json",
      authorization: `Bearer user ${server.ownerId} ${server.orgId}`,
    },
    body: JSON.stringify(body),
  })
  expect(response.status).toBe(200)
  return response.json()
}

/** Whether a new snapshot contains a text anywhere in the file. */
function isInBackup(text: string, name: string): boolean {
  const into = join(server.path, name)
  takeSnapshot({ file: join(server.path, "latchkey.db"), isInUse: true }, into)
  return readFileSync(into).includes(text)
}

test("a backup made after a deletion contains no personal data of the user", async () => {
  const profile = { givenName: "Wilhelmina", familyName: "Zwanziger" }
  const email = { email: "wilhelmina@example.com", isVerified: true }
  const { id = "" } = await callOperation("CreateUser", {
    organizationId: server.orgId,
    username: "wilhelmina",
    human: { profile, email },
  })
  for (const text of ["wilhelmina@example.com", "Zwanziger", id])
    expect(isInBackup(text, "before.db"), text).toBe(true)
  await callOperation("DeleteUser", { userId: id })
  for (const text of ["wilhelmina", "Zwanziger"])
    expect(isInBackup(text, "after.db"), text).toBe(false)
  expect(isInBackup(id, "after.db")).toBe(true)
  expect(readFileSync(join(server.path, "before.db")).includes("Zwanziger")).toBe(true)
})
