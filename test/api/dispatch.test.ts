import { configure, getLogger, reset } from "@logtape/logtape"
import { afterEach, describe, expect, test } from "vitest"
import { callLog } from "../../src/api/log.ts"
import { Fault } from "../../src/kernel/fault.ts"
import { until } from "../support/wait.ts"
import { type Answer, type Cx, json, worldOf } from "./world.ts"

const createUser = "core.user.v2.UserService/CreateUser"
const body = {
  organizationId: "o1",
  human: { password: { password: "Tr0ub4dor&3" }, totpSecret: "JBSWY3DPEHPK3PXP" },
}

const create = (world: ReturnType<typeof worldOf>, more: RequestInit & { as?: string } = {}) =>
  world.fetch(`/${createUser}`, { as: "owner", ...json(body, more) })

describe("a handler that throws another resource than a Fault", () => {
  const cause = new Error("SELECT * FROM passwords: disk I/O error")
  const world = worldOf({
    [createUser]: () => {
      throw cause
    },
  })

  test('returns "internal" with the request ID and without the cause', async () => {
    const response = await create(world)
    expect(response.status).toBe(500)
    const id = response.headers.get("x-request-id")
    expect(await response.json()).toMatchObject({
      code: "internal",
      message: `an internal error occurred; search the log for request ${id} (internal)`,
    })
  })

  test("reports the cause to the hooks", async () => {
    await create(world)
    expect(world.ended.at(-1)).toMatchObject({ code: "internal", fault: { cause } })
  })
})

describe("the hooks", () => {
  test("receive the method, caller, outcome, and duration of each call", async () => {
    const world = worldOf({
      [createUser]: async (_: never, cx: Cx) => {
        world.clock.advance(7)
        return { id: cx.requestId }
      },
    })
    const { id } = await (await create(world)).json()
    expect(world.ended).toMatchObject([
      {
        method: createUser,
        encoding: "connect",
        address: "10.0.0.7",
        requestId: id,
        code: "ok",
        durationMs: 7,
        userId: "owner",
        fault: undefined,
      },
    ])
  })

  test("receive calls that never reach a handler", async () => {
    const world = worldOf()
    await world.fetch(`/${createUser}`, { ...json("{"), as: "nobody" })
    await world.fetch(`/${createUser}`, json(body))
    await world.fetch(`/${createUser}`, { ...json(body), as: "nobody" })
    const ends = world.ended.map(({ code, userId }) => [code, userId])
    expect(ends).toEqual([
      ["invalid_argument", "nobody"],
      ["unauthenticated", undefined],
      ["permission_denied", "nobody"],
    ])
  })

  test("receive requests without secrets", async () => {
    const world = worldOf()
    await create(world)
    expect(world.ended.at(-1)?.request()).toEqual({
      organizationId: "o1",
      human: { password: { password: "***" }, totpSecret: "***" },
    })
  })
})

describe("the log", () => {
  afterEach(() => reset())

  const logged = async (answer: Answer) => {
    const records: { level: string; properties: Record<string, unknown> }[] = []
    await configure({
      reset: true,
      sinks: { memory: ({ level, properties }) => void records.push({ level, properties }) },
      loggers: [
        { category: ["calls"], sinks: ["memory"], lowestLevel: "debug" },
        { category: ["logtape", "meta"], sinks: [], lowestLevel: "error" },
      ],
    })
    await create(worldOf({ [createUser]: answer }, { hooks: [callLog(getLogger("calls"))] }))
    return records
  }

  test("contains one line for each call", async () => {
    const [line, ...more] = await logged(() => ({}))
    expect(more).toEqual([])
    expect(line).toMatchObject({
      level: "debug",
      properties: { method: createUser, code: "ok", userId: "owner", address: "10.0.0.7" },
    })
    expect(line?.properties).not.toHaveProperty("request")
  })

  test("contains the cause and the redacted request of internal errors", async () => {
    const [line] = await logged(() => {
      throw new Error("disk on fire")
    })
    expect(line).toMatchObject({
      level: "error",
      properties: { cause: "disk on fire", request: { organizationId: "o1" } },
    })
    expect(JSON.stringify(line)).not.toContain("Tr0ub4dor")
    expect(JSON.stringify(line)).not.toContain("JBSWY3DPEHPK3PXP")
  })

  test("contains the fault of a rejected call, but not as an error", async () => {
    const [line] = await logged(() => {
      throw new Fault("already_exists", "user.exists", "there is such a user")
    })
    expect(line).toMatchObject({
      level: "info",
      properties: { code: "already_exists", fault: "user.exists" },
    })
  })
})

describe("a deadline", () => {
  const slow = () => worldOf({ [createUser]: () => new Promise(() => {}) })

  test("ends the call when it expires, although the handler continues", async () => {
    const world = slow()
    const answer = create(world, { headers: { "connect-timeout-ms": "50" } })
    await until(() => world.handled.length === 1)
    expect(world.handled[0]?.cx.deadline).toBe(world.clock.now() + 50)
    world.clock.advance(49)
    expect(world.ended).toEqual([])
    world.clock.advance(1)
    const response = await answer
    expect(response.status).toBe(504)
    expect(await response.json()).toMatchObject({ code: "deadline_exceeded" })
  })

  test("does not expire immediately if it exceeds the range of a timer", async () => {
    const world = worldOf()
    const response = await create(world, { headers: { "connect-timeout-ms": "9999999999" } })
    expect(response.status).toBe(200)
  })
})

test("a handler runs only after its caller is admitted, and receives the result of the rule", async () => {
  const world = worldOf()
  const path = "/core.user.v2.UserService/ListUsers"
  await world.fetch(path, json({}))
  expect(world.handled).toEqual([])
  await world.fetch(path, { ...json({}), as: "users1" })
  expect(world.handled[0]?.cx.scope).toMatchObject({ all: false, orgs: ["o1"], self: "users1" })
})

test("an invalid token is rejected even where no token is required", async () => {
  const world = worldOf()
  const path = "/core.system.v1.SystemService/Healthz"
  expect((await world.fetch(path, json({}))).status).toBe(200)
  const response = await world.fetch(path, { ...json({}), as: "forged" })
  expect(response.status).toBe(401)
  expect(response.headers.get("www-authenticate")).toBe("Bearer")
})
