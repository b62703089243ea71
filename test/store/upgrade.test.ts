// What the first start of this version would do to a database, said beforehand.
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
import { whatUpgradeDoes } from "../../src/server/operator/upgrade.ts"
import type { Draft } from "../../src/store/index.ts"
import { newestSchema } from "../../src/store/snapshot.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { openWorld } from "../support/world.ts"

let folder: ReturnType<typeof temporaryFolder>
let file = ""
beforeEach(() => {
  folder = temporaryFolder()
  file = join(folder.path, "latchkey.db")
  const kept = join(import.meta.dirname, "../server/earlier-version/latchkey.db.gz")
  writeFileSync(file, gunzipSync(readFileSync(kept)))
})
afterEach(() => folder.remove())

const said = () => whatUpgradeDoes({ file, isInUse: false })

test("an older one is brought to ours, and what is said changes nothing", async () => {
  const before = readFileSync(file)
  const upgrade = said()
  expect(upgrade.schema.from).toBeLessThan(newestSchema)
  expect(upgrade.schema.to).toBe(newestSchema)
  expect(upgrade.views).toContain("user")
  expect(readFileSync(file).equals(before)).toBe(true)
  const command = upgradeCommands({
    env: {},
    random: systemRandom,
    clock: systemClock,
    server: async () => ({ whatUpgradeDoes }),
  })
  const outcome = await command["upgrade check"]?.run({ "--data": folder.path })
  expect(outcome?.text).toContain(`from version ${upgrade.schema.from} to ${newestSchema}, at once`)
  expect(outcome?.text).toContain("Make a backup first")
})

test("after the start that it tells of nothing is left to do", async () => {
  const world = openWorld({ aggregates, views, textIndexFrom: 0 }, folder)
  await world.store.rebuilt()
  await world.store.close()
  expect(said()).toMatchObject({
    schema: { from: newestSchema, to: newestSchema },
    states: [],
    views: [],
  })
})

test("counts whose address stays verified for their own organization alone", async () => {
  const world = openWorld({ aggregates, views, textIndexFrom: 0 }, folder)
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
  expect(said().unconfirmed).toBe(0)
  const database = new Database(file)
  database.run("UPDATE fold SET shape = '5' WHERE stream = 'user'")
  database.close()
  const { unconfirmed } = said()
  expect(unconfirmed).toBe(1)
  const command = upgradeCommands({
    env: {},
    random: systemRandom,
    clock: systemClock,
    server: async () => ({ whatUpgradeDoes }),
  })
  const outcome = await command["upgrade check"]?.run({ "--data": folder.path })
  expect(outcome?.text).toContain("1 user has an email address that only their organization")
})

/** As versions wrote it that did not store who verified the address. */
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

test("what is newer, or not ours, is refused as a start would", () => {
  const change = (sql: string) => {
    const database = new Database(file)
    database.run(sql)
    database.close()
  }
  change(`PRAGMA user_version = ${newestSchema + 1}`)
  expect(said).toThrow("newer Latchkey")
  change("PRAGMA application_id = 1")
  expect(said).toThrow("not one of Latchkey's")
})
