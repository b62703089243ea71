// A preview of what the first start of this version does to a database.
import { Database } from "bun:sqlite"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { afterEach, beforeEach, expect, test } from "vitest"
import { upgradeCommands } from "../../src/boot/command/upgrade.ts"
import { addOrganization } from "../../src/domain/org/index.ts"
import { type UserEvent, user } from "../../src/domain/user-model/model.ts"
import { systemClock } from "../../src/kernel/clock.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { aggregates, views } from "../../src/server/modules.ts"
import { planUpgrade } from "../../src/server/operator/upgrade.ts"
import type { Draft } from "../../src/store/index.ts"
import { supportedSchema } from "../../src/store/snapshot.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { openTestEnvironment } from "../support/test-environment.ts"

let folder: ReturnType<typeof temporaryFolder>
let file = ""
beforeEach(() => {
  folder = temporaryFolder()
  file = join(folder.path, "latchkey.db")
  const kept = join(import.meta.dirname, "../server/earlier-version/latchkey.db.gz")
  writeFileSync(file, gunzipSync(readFileSync(kept)))
})
afterEach(() => folder.remove())

const upgradePreview = () => planUpgrade({ file, isInUse: false })

test("previews the upgrade of an older database without changes", async () => {
  const before = readFileSync(file)
  const upgrade = upgradePreview()
  expect(upgrade.schema.from).toBeLessThan(supportedSchema)
  expect(upgrade.schema.to).toBe(supportedSchema)
  expect(upgrade.views).toContain("user")
  expect(readFileSync(file).equals(before)).toBe(true)
  const command = upgradeCommands({
    env: {},
    random: systemRandom,
    clock: systemClock,
    server: async () => ({ planUpgrade }),
  })
  const outcome = await command["upgrade check"]?.run({ "--data": folder.path })
  expect(outcome?.text).toContain(
    `from version ${upgrade.schema.from} to ${supportedSchema}, immediately`,
  )
  expect(outcome?.text).toContain("Make a backup first")
})

test("has nothing left after the start", async () => {
  const world = openTestEnvironment({ aggregates, views, textIndexFrom: 0 }, folder)
  await world.store.rebuilt()
  await world.store.close()
  expect(upgradePreview()).toMatchObject({
    schema: { from: supportedSchema, to: supportedSchema },
    states: [],
    views: [],
  })
})

test("counts users whose address stays verified for their own organization only", async () => {
  const world = openTestEnvironment({ aggregates, views, textIndexFrom: 0 }, folder)
  await world.store.rebuilt()
  const cx = world.cx({ instance: "counted" })
  const admin = { kind: "user", userId: "a", orgId: "b", clientId: "c" } as const
  await world.store.transact(cx, (tx) => {
    for (const id of ["a", "b"]) addOrganization(tx, id, { name: id })
  })
  for (const [id, caller] of [
    ["given", admin],
    ["own", { kind: "anonymous" } as const],
  ] as const) {
    await world.store.transact({ ...cx, caller }, (tx) => tx.append(user, id, [personAdded], "b"))
  }
  await world.store.close()
  expect(upgradePreview().unconfirmed).toBe(0)
  const database = new Database(file)
  database.run("UPDATE fold SET shape = '5' WHERE stream = 'user'")
  database.close()
  const { unconfirmed } = upgradePreview()
  expect(unconfirmed).toBe(1)
  const command = upgradeCommands({
    env: {},
    random: systemRandom,
    clock: systemClock,
    server: async () => ({ planUpgrade }),
  })
  const outcome = await command["upgrade check"]?.run({ "--data": folder.path })
  expect(outcome?.text).toContain("1 user has an email address that only their organization")
})

/** As versions without stored verifiers wrote it. */
const personAdded: Draft<UserEvent> = {
  type: "user.human.added",
  data: { emailVerified: true, phoneVerified: false },
  private: {
    userName: "n",
    loginNames: ["n"],
    email: "ceo@corp.test",
    phone: "",
    profile: {
      givenName: "C",
      familyName: "Eo",
      nickName: "",
      displayName: "C Eo",
      preferredLanguage: "",
      gender: "unspecified",
    },
  },
}

test("rejects a newer or foreign database, like a start", () => {
  const change = (sql: string) => {
    const database = new Database(file)
    database.run(sql)
    database.close()
  }
  change(`PRAGMA user_version = ${supportedSchema + 1}`)
  expect(upgradePreview).toThrow("the database was written by a newer version of Latchkey")
  change("PRAGMA application_id = 1")
  expect(upgradePreview).toThrow("the database was not created by Latchkey")
})
