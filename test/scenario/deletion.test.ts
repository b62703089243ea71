// What docs/reference/deletion.md states about backups: earlier ones do not change, later ones do
// not contain deleted data.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { takeSnapshot } from "../../src/store/index.ts"
import { type House, openHouse } from "./house.ts"

let house: House
beforeAll(async () => {
  house = await openHouse()
})
afterAll(() => house.close())

async function call(name: string, body: object): Promise<Record<string, string>> {
  const response = await fetch(`${house.url}/core.user.v2.UserService/${name}`, {
    method: "POST",
    headers: {
      ...house.headers,
      "content-type": "application/json",
      authorization: `Bearer user ${house.ownerId} ${house.orgId}`,
    },
    body: JSON.stringify(body),
  })
  expect(response.status).toBe(200)
  return response.json()
}

/** Whether a snapshot that is taken now contains a text, wherever in the file. */
function isInBackup(text: string, name: string): boolean {
  const into = join(house.path, name)
  takeSnapshot({ file: join(house.path, "latchkey.db"), isInUse: true }, into)
  return readFileSync(into).includes(text)
}

test("a backup made after a deletion contains no personal data of the user", async () => {
  const profile = { givenName: "Wilhelmina", familyName: "Zwanziger" }
  const email = { email: "wilhelmina@example.com", isVerified: true }
  const { id = "" } = await call("CreateUser", {
    organizationId: house.orgId,
    username: "wilhelmina",
    human: { profile, email },
  })
  for (const text of ["wilhelmina@example.com", "Zwanziger", id])
    expect(isInBackup(text, "before.db"), text).toBe(true)
  await call("DeleteUser", { userId: id })
  for (const text of ["wilhelmina", "Zwanziger"])
    expect(isInBackup(text, "after.db"), text).toBe(false)
  expect(isInBackup(id, "after.db")).toBe(true)
  expect(readFileSync(join(house.path, "before.db")).includes("Zwanziger")).toBe(true)
})
