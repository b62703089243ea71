import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { folderAt } from "../../src/boot/folder/folder.ts"
import {
  instanceIds,
  removeInstanceMember,
  requireInstance,
  setDefaultOrg,
} from "../../src/domain/instance/index.ts"
import { addFounder } from "../../src/domain/member/index.ts"
import { activateOrganization, createOrganization } from "../../src/domain/org/commands.ts"
import { deactivateOrganization, loginDomains, org } from "../../src/domain/org/index.ts"

import { createProject } from "../../src/domain/project/index.ts"
import { reactivateUser, unlockUser } from "../../src/domain/user/commands.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { addServerUser, deactivateUser, lockUser, removeUser } from "../../src/domain/user/index.ts"
import { user } from "../../src/domain/user-model/model.ts"
import { signInStatusOf } from "../../src/domain/user-model/owner.ts"
import { manualClock } from "../../src/kernel/clock.ts"
import { parseConfig } from "../../src/kernel/config.ts"
import { createDescriptionApplier } from "../../src/server/operator/description.ts"
import { openServices, type ServerServices } from "../../src/server/services.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { until } from "../support/wait.ts"

const publicUrl = "http://localhost:8080"
let folder: ReturnType<typeof temporaryFolder>
let services: ServerServices
let path = ""

beforeEach(() => {
  folder = temporaryFolder()
  path = join(folder.path, "described.yaml")
  const config = parseConfig({ flags: { "--log-level": "fatal" }, env: {}, file: {} })
  const data = folderAt(folder.path)
  const master = new Uint8Array(32)
  services = openServices({ config, folder: data, master, started: 0 })
})
afterEach(async () => {
  await services.store.close()
  folder.remove()
})

const setup = (password = "Correct-horse-9") => `
setup: { organization: Acme, owner: eva, ownerEmail: eva@example.com, ownerPassword: ${password} }
`

/** The results of an attempt and of retries after a number of seconds. */
function startApplying() {
  const clock = manualClock(Date.UTC(2026, 0, 1))
  const env = { GIVEN: "Globex" }
  const describing = createDescriptionApplier({ ...services, clock }, { path, publicUrl, env })
  const round = describing.begin()
  // An attempt has ended when the timer of the next one is set.
  const settled = async () => {
    await until(() => clock.pending() === 1)
    return describing.condition().described
  }
  return { describing, clock, round, settled }
}

test("a failed file is retried every minute, and applied once", async () => {
  writeFileSync(path, setup("short"))
  const { clock, round, settled } = startApplying()
  expect((await settled())?.why).toMatch(/password/)
  expect(instanceIds(services.store)).toEqual([])
  writeFileSync(path, `${setup()}\norganizations: [ { name: { $env: GIVEN } } ]`)
  clock.advance(59_000)
  // The timer is still set, so nothing has started.
  expect(clock.pending()).toBe(1)
  expect(instanceIds(services.store)).toEqual([])
  clock.advance(1000)
  expect(await settled()).toMatchObject({ why: null, beyond: 1 })
  expect(instanceIds(services.store)).toEqual(["1"])
  await round.stop()
})

test("passwords need fifteen characters, unless the file keeps the earlier rules", async () => {
  writeFileSync(path, setup("Short-pass-7"))
  const { clock, round, settled } = startApplying()
  expect((await settled())?.why).toMatch(/at least 15 characters/)
  writeFileSync(path, setup("Short-pass-7").replace(" }", ", passwordRules: strict }"))
  clock.advance(60_000)
  expect((await settled())?.why).toMatch(/passwordRules must be length or composition/)
  writeFileSync(path, setup("Short-pass-7").replace(" }", ", passwordRules: composition }"))
  clock.advance(60_000)
  expect(await settled()).toMatchObject({ why: null })
  await round.stop()
})

test("revoked roles of the acting user stay revoked; a deleted user has a successor", async () => {
  writeFileSync(path, setup())
  const first = startApplying()
  expect(await first.settled()).toMatchObject({ why: null })
  await first.round.stop()

  const cx = services.call("1", "test")
  await cx.store.transact(cx, (tx) =>
    removeInstanceMember.within(tx, "1", {
      userId: "described",
      abilityOf: (id) => signInStatusOf(tx, id),
    }),
  )
  writeFileSync(path, `${setup()}\norganizations: [ { name: Globex } ]`)
  const refused = startApplying()
  expect((await refused.settled())?.why).toMatch(/of organization \d+ has no role on the/)
  await refused.round.stop()

  await removeUser(cx, "described")
  const again = startApplying()
  expect(await again.settled()).toMatchObject({ why: null })
  await again.round.stop()
})

test("a deactivated acting user applies nothing until reactivated", async () => {
  writeFileSync(path, setup())
  const first = startApplying()
  expect(await first.settled()).toMatchObject({ why: null })
  await first.round.stop()
  const cx = services.call("1", "test")
  const home = cx.store.receipt(cx, user, "described")?.owner ?? ""
  await createOrganization(cx, "2", { name: "Initech" })
  await setDefaultOrg(cx, "1", "2")
  writeFileSync(path, `${setup()}\norganizations: [ { name: Globex } ]`)
  for (const [stop, free, id, why] of [
    [deactivateUser, reactivateUser, "described", /described is inactive: /],
    [lockUser, unlockUser, "described", /described is locked: /],
    [deactivateOrganization, activateOrganization, home, /belongs to the inactive organization \d/],
  ] as const) {
    await stop(cx, id)
    const refused = startApplying()
    expect((await refused.settled())?.why).toMatch(why)
    await free(cx, id)
    refused.clock.advance(60_000)
    expect(await refused.settled()).toMatchObject({ why: null })
    await refused.round.stop()
  }
})

test("names that are already taken do not block the file", async () => {
  writeFileSync(path, `${setup()}\norganizations: [ { name: Globex } ]`)
  await createDescriptionApplier(services, { path, publicUrl, env: {} }).setUp()
  const cx = services.call("1", "test")
  const home = requireInstance(cx).defaultOrgId
  const profile = { givenName: "Dee", familyName: "Scribed" }
  const email = { value: "dee@example.com", verified: true }
  await createUser(cx, "dee", { kind: "human", orgId: home, userName: "Described", profile, email })
  const robot = { kind: "machine", orgId: home, accessTokenType: "bearer" } as const
  await createUser(cx, "robot", { ...robot, userName: "described-2", name: "Robot" })
  await createProject(cx, "described-3", { orgId: home, name: "Three" })
  const domain = loginDomains(cx.store.state(cx, org, home))[0]
  const long = { userName: `described-4@${domain}`, profile, email: { ...email, value: "e@e.com" } }
  await createUser(cx, "long", { kind: "human", orgId: home, ...long })
  const { round, settled } = startApplying()
  expect(await settled()).toMatchObject({ why: null })
  await round.stop()
  expect(cx.store.state(cx, user, "described-5")).toMatchObject({ userName: "described-5" })
  expect(cx.store.state(cx, user, "described")).toMatchObject({ status: "absent" })
})

test("nothing is applied as a user of an organization's own who has the id", async () => {
  const planted = `${setup()}\norganizations: [ { name: Globex, users: [ { username: deep,
    machine: { name: planted } } ] } ]`
  writeFileSync(path, planted)
  await createDescriptionApplier(services, { path, publicUrl, env: {} }).setUp()
  const cx = services.call("1", "test")
  await createOrganization(cx, "2", { name: "Globex" })
  await cx.store.transact(cx, (tx) => {
    const taking = { kind: "machine", orgId: "2", name: "R", accessTokenType: "bearer" } as const
    addServerUser(tx, "described", taking)
    addFounder(tx, "2", "described")
  })
  const { round, clock, settled } = startApplying()
  expect((await settled())?.why).toMatch(/of organization 2 has no role on the instance: delete it/)
  await removeUser(cx, "described")
  clock.advance(60_000)
  expect(await settled()).toMatchObject({ why: null })
  await round.stop()
})
