// Whatever a target does, administrators get in, and mend it.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
import { json, status } from "./receiver.ts"
import { calls, interrupts, openStage, type Stage } from "./stage.ts"

let stage: Stage
let targetId: string
let manager: string
const header = "x-core-targets-passed-over"
beforeAll(async () => {
  stage = await openStage()
  stage.receiver.answer("/broken", status(500))
  targetId = (await stage.target("/broken", { ...interrupts, timeout: "1s" })).id
  const { organizationId } = await stage.make("org/AddOrganization", { name: "Household" })
  const machine = { organizationId, username: "manager", machine: { name: "manager" } }
  const { id: userId } = await stage.make("user/CreateUser", machine)
  const seat = { userId, resource: { organizationId }, roles: ["ORG_OWNER"] }
  await stage.make("internal_permission.v2.InternalPermissionService/CreateAdministrator", seat)
  manager = `${userId} ${organizationId}`
})
afterAll(() => stage.close())

const everywhere = [{ request: { all: true } }, { response: { all: true } }]
const set = (...targets: readonly string[]) =>
  Promise.all(everywhere.map((condition) => stage.on(condition, ...targets)))
afterEach(async () => {
  await set()
  await stage.make("action/UpdateTarget", { id: targetId, ...interrupts })
  stage.receiver.received.length = 0
})

const addOrg = (name: string) => ["org/AddOrganization", { name }] as const

test("a broken one on all ends the calls of programs", async () => {
  await set(targetId)
  expect((await stage.ask("project/ListProjects")).status).toBe(400)
  expect((await stage.ask(...addOrg("Nobody"))).status).toBe(400)
})

test("what mends it passes, says so, and asks it nothing", async () => {
  await set(targetId)
  for (const name of ["action/ListTargets", "action/ListExecutions", "diagnosis/ListTargetCalls"]) {
    const { status: code, headers } = await stage.ask(name)
    expect([name, code, headers.get(header)]).toEqual([name, 200, targetId])
  }
  const older = await stage.ask("resources.action.v3alpha.CoreActions/SearchTargets")
  expect(older.status).toBe(200)
  expect((await stage.ask("settings/GetSecuritySettings")).status).toBe(200)
  expect(stage.receiver.received).toEqual([])
})

test("the console reads, whoever looks, also past one that would answer with nothing", async () => {
  stage.receiver.answer("/empty", json({}))
  const { id } = await stage.target("/empty", calls)
  await set(id)
  for (const as of [undefined, manager]) {
    const how = { ...(as !== undefined && { as }), client: stage.consoleId }
    const { headers, body } = await stage.ask("org/ListOrganizations", {}, how)
    expect(body.result.length).toBeGreaterThan(0)
    expect(headers.get(header)).toBe(id)
  }
  expect(stage.receiver.received).toEqual([])
})

test("in the console, who may mend it changes what they like; others are held to it", async () => {
  await set(targetId)
  const inConsole = { client: stage.consoleId }
  const done = await stage.ask(...addOrg("In the console"), inConsole)
  expect([done.status, done.headers.get(header)]).toEqual([200, `${targetId},${targetId}`])
  expect(stage.receiver.at("/broken")).toHaveLength(2)
  const machine = { username: "robot", machine: { name: "robot" } }
  const made = { ...machine, organizationId: manager.split(" ")[1] }
  const other = await stage.ask("user/CreateUser", made, { ...inConsole, as: manager })
  expect(other.status).toBe(400)
  const { calls: listed } = await stage.make("diagnosis/ListTargetCalls", { targetId })
  expect(listed[0]).toMatchObject({ status: 500, condition: "request" })
  expect(listed.some(({ passedOver }: { passedOver?: boolean }) => passedOver)).toBe(true)
})

test("one that hangs keeps who may mend it waiting for a moment at most", async () => {
  stage.receiver.answer("/hangs", () => {})
  const { id } = await stage.target("/hangs", { ...interrupts, timeout: "270s" })
  await stage.on({ request: { all: true } }, id)
  const begun = performance.now()
  const done = await stage.ask(...addOrg("After a while"), { client: stage.consoleId })
  expect(done.status).toBe(200)
  expect(performance.now() - begun).toBeLessThan(20_000)
})

test("login pages of others go on past what is broken, and not past a refusal", async () => {
  await set(targetId)
  const checks = { user: { userId: stage.house.ownerId } }
  const made = await stage.ask("session/CreateSession", { checks })
  expect([made.status, made.headers.get(header)]).toEqual([200, `${targetId},${targetId}`])
  stage.receiver.answer("/refuses", json({ forwardedStatusCode: 403 }))
  const { id } = await stage.target("/refuses")
  await set(id)
  expect((await stage.ask("session/CreateSession", { checks })).status).toBe(403)
})

test("one that fails again and again is left alone, until it is changed", async () => {
  stage.receiver.answer("/down", status(503))
  const { id } = await stage.target("/down")
  await stage.on({ request: { all: true } }, id)
  for (let tries = 0; tries < 8; tries++) await stage.ask("project/ListProjects")
  expect(stage.receiver.at("/down")).toHaveLength(5)
  const { resting } = await stage.make("diagnosis/ListTargetCalls", { targetId: id })
  expect(resting).toEqual([
    { targetId: id, until: expect.any(String), error: "it answered with status 503" },
  ])
  await stage.make("action/UpdateTarget", { id, endpoint: `${stage.receiver.url}/up` })
  expect((await stage.ask("project/ListProjects")).status).toBe(200)
  const later = await stage.make("diagnosis/ListTargetCalls", { targetId: id })
  expect(later.resting).toBeUndefined()
})
