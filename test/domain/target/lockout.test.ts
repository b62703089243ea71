// Whatever a target does, administrators can sign in and fix it.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
import { json, status } from "./receiver.ts"
import { interruptingCall, interruptingWebhook, openStage, type Stage } from "./stage.ts"

let stage: Stage
let targetId: string
let managerId: string
const passedOverHeader = "x-core-targets-passed-over"
beforeAll(async () => {
  stage = await openStage()
  stage.receiver.answer("/broken", status(500))
  targetId = (await stage.target("/broken", { ...interruptingWebhook, timeout: "1s" })).id
  const { organizationId } = await stage.make("org/AddOrganization", { name: "Household" })
  const machine = { organizationId, username: "manager", machine: { name: "manager" } }
  const { id: userId } = await stage.make("user/CreateUser", machine)
  const seat = { userId, resource: { organizationId }, roles: ["ORG_OWNER"] }
  await stage.make("internal_permission.v2.InternalPermissionService/CreateAdministrator", seat)
  managerId = `${userId} ${organizationId}`
})
afterAll(() => stage.close())

const everywhere = [{ request: { all: true } }, { response: { all: true } }]
const setEverywhere = (...targets: readonly string[]) =>
  Promise.all(everywhere.map((condition) => stage.on(condition, ...targets)))
afterEach(async () => {
  await setEverywhere()
  await stage.make("action/UpdateTarget", { id: targetId, ...interruptingWebhook })
  stage.receiver.received.length = 0
})

const addOrg = (name: string) => ["org/AddOrganization", { name }] as const

test("a broken target on all operations fails calls of programs", async () => {
  await setEverywhere(targetId)
  expect((await stage.ask("project/ListProjects")).status).toBe(400)
  expect((await stage.ask(...addOrg("Nobody"))).status).toBe(400)
})

test("calls that repair targets bypass them and report it", async () => {
  await setEverywhere(targetId)
  for (const name of ["action/ListTargets", "action/ListExecutions", "diagnosis/ListTargetCalls"]) {
    const { status: code, headers } = await stage.ask(name)
    expect([name, code, headers.get(passedOverHeader)]).toEqual([name, 200, targetId])
  }
  const older = await stage.ask("resources.action.v3alpha.CoreActions/SearchTargets")
  expect(older.status).toBe(200)
  expect((await stage.ask("settings/GetSecuritySettings")).status).toBe(200)
  expect(stage.receiver.received).toEqual([])
})

test("console reads bypass targets for every user, even ones that would return nothing", async () => {
  stage.receiver.answer("/empty", json({}))
  const { id } = await stage.target("/empty", interruptingCall)
  await setEverywhere(id)
  for (const as of [undefined, managerId]) {
    const how = { ...(as !== undefined && { as }), client: stage.consoleId }
    const { headers, body } = await stage.ask("org/ListOrganizations", {}, how)
    expect(body.result.length).toBeGreaterThan(0)
    expect(headers.get(passedOverHeader)).toBe(id)
  }
  expect(stage.receiver.received).toEqual([])
})

test("target administrators bypass targets in the console; others don't", async () => {
  await setEverywhere(targetId)
  const inConsole = { client: stage.consoleId }
  const done = await stage.ask(...addOrg("In the console"), inConsole)
  expect([done.status, done.headers.get(passedOverHeader)]).toEqual([
    200,
    `${targetId},${targetId}`,
  ])
  expect(stage.receiver.at("/broken")).toHaveLength(2)
  const machine = { username: "robot", machine: { name: "robot" } }
  const made = { ...machine, organizationId: managerId.split(" ")[1] }
  const other = await stage.ask("user/CreateUser", made, { ...inConsole, as: managerId })
  expect(other.status).toBe(400)
  const { calls: listed } = await stage.make("diagnosis/ListTargetCalls", { targetId })
  expect(listed[0]).toMatchObject({ status: 500, condition: "request" })
  expect(listed.some(({ passedOver }: { passedOver?: boolean }) => passedOver)).toBe(true)
})

test("a hanging target delays target administrators only briefly", async () => {
  stage.receiver.answer("/hangs", () => {})
  const { id } = await stage.target("/hangs", { ...interruptingWebhook, timeout: "270s" })
  await stage.on({ request: { all: true } }, id)
  const begun = performance.now()
  const done = await stage.ask(...addOrg("After a while"), { client: stage.consoleId })
  expect(done.status).toBe(200)
  expect(performance.now() - begun).toBeLessThan(20_000)
})

test("custom login pages bypass broken targets, but not rejections", async () => {
  await setEverywhere(targetId)
  const checks = { user: { userId: stage.house.ownerId } }
  const made = await stage.ask("session/CreateSession", { checks })
  expect([made.status, made.headers.get(passedOverHeader)]).toEqual([
    200,
    `${targetId},${targetId}`,
  ])
  stage.receiver.answer("/refuses", json({ forwardedStatusCode: 403 }))
  const { id } = await stage.target("/refuses")
  await setEverywhere(id)
  expect((await stage.ask("session/CreateSession", { checks })).status).toBe(403)
})

test("a repeatedly failing target is paused until it is changed", async () => {
  stage.receiver.answer("/down", status(503))
  const { id } = await stage.target("/down")
  await stage.on({ request: { all: true } }, id)
  for (let tries = 0; tries < 8; tries++) await stage.ask("project/ListProjects")
  expect(stage.receiver.at("/down")).toHaveLength(5)
  const { resting } = await stage.make("diagnosis/ListTargetCalls", { targetId: id })
  expect(resting).toEqual([
    { targetId: id, until: expect.any(String), error: "the target returned status 503" },
  ])
  await stage.make("action/UpdateTarget", { id, endpoint: `${stage.receiver.url}/up` })
  expect((await stage.ask("project/ListProjects")).status).toBe(200)
  const later = await stage.make("diagnosis/ListTargetCalls", { targetId: id })
  expect(later.resting).toBeUndefined()
})
