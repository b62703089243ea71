// What callers learn of how far an answer has come, and of changes that they have not read.
import { fromBinary } from "@bufbuild/protobuf"
import { timestampMs } from "@bufbuild/protobuf/wkt"
import { describe, expect, test } from "vitest"
import { ErrorDetailSchema } from "../../../src/gen/core/v1/error_pb.ts"
import { staleError } from "../../../src/kernel/fault.ts"
import { type Answer, type Cx, json, worldOf } from "../world.ts"

const getUser = "core.user.v2.UserService/GetUserByID"
const update = "core.project.v2.ProjectService/UpdateProject"
const time = Date.UTC(2026, 10, 28, 15)

const person = { user: { type: { case: "human", value: { profile: { displayName: "Ada" } } } } }

/** What a caller learns whose update would replace a change of a user. */
async function detailFor(as: string, userId: string, user: Answer = () => person) {
  const world = worldOf({
    [update]: () => {
      throw staleError({ userId, displayName: "", time })
    },
    [getUser]: user,
  })
  const sent = json({ projectId: "p1", name: "Shop", expectedVersion: "7" })
  const response = await world.fetch(`/${update}`, { as, ...sent })
  const { code, details } = await response.json()
  expect({ status: response.status, code }).toEqual({ status: 409, code: "aborted" })
  const { type, value } = details[0]
  expect(type).toBe("core.v1.ErrorDetail")
  const detail = fromBinary(ErrorDetailSchema, Buffer.from(value, "base64"))
  expect(detail.id).toBe("edit.stale")
  const { changedByUserId, changedBy, changeDate } = detail
  return { changedByUserId, changedBy, changed: changeDate && timestampMs(changeDate) }
}

describe("a caller whose update would replace a change that they have not read", () => {
  const nobody = { changedByUserId: "", changedBy: "", changed: time }

  test("learns when it was made, and by whom", async () => {
    const ada = { changedByUserId: "u1", changedBy: "Ada", changed: time }
    expect(await detailFor("owner", "u1")).toEqual(ada)
  })

  test("learns the same from a status of REST", async () => {
    const put = "core.management.v1.ManagementService/UpdateProject"
    const world = worldOf({
      [put]: () => {
        throw staleError({ userId: "u1", displayName: "", time })
      },
      [getUser]: () => person,
    })
    const sent = { ...json({ name: "Shop", expectedVersion: "7" }), method: "PUT" }
    const response = await world.fetch("/management/v1/projects/p1", { as: "owner", ...sent })
    expect(response.status).toBe(409)
    const [detail] = (await response.json()).details
    expect(detail).toMatchObject({
      "@type": "type.googleapis.com/core.v1.ErrorDetail",
      id: "edit.stale",
      changedByUserId: "u1",
      changedBy: "Ada",
      changeDate: new Date(time).toISOString(),
    })
  })

  test("learns the name of a service account, too", async () => {
    const robot = { user: { type: { case: "machine", value: { name: "CI" } } } }
    expect(await detailFor("owner", "u1", () => robot)).toMatchObject({ changedBy: "CI" })
  })

  test("learns only when, where they may not read the user", async () => {
    expect(await detailFor("project1", "u1")).toEqual(nobody)
  })

  test("learns only when, where the user is gone or the server made the change", async () => {
    expect(await detailFor("owner", "gone")).toEqual(nobody)
    expect(await detailFor("owner", "")).toEqual(nobody)
  })
})

describe("x-core-position", () => {
  const at = (wrote?: number) =>
    worldOf(
      {
        [getUser]: (_: never, cx: Cx) => {
          if (wrote !== undefined) cx.wrote = wrote
          return {}
        },
      },
      { head: () => 41 },
    )
  const position = async (world: ReturnType<typeof worldOf>, as?: string, userId = "u1") => {
    const response = await world.fetch(`/${getUser}`, { ...json({ userId }), ...(as && { as }) })
    return response.headers.get("x-core-position")
  }

  test("of an answer that only read is the position before it read", async () => {
    expect(await position(at(), "owner")).toBe("41")
  })

  test("is absent where the call failed, and for callers without a token", async () => {
    expect(await position(at(), "owner", "absent")).toBeNull()
    expect(await position(at())).toBeNull()
    const open = worldOf({}, { head: () => 41 })
    const languages = "core.settings.v2.SettingsService/GetGeneralSettings"
    expect((await open.fetch(`/${languages}`, json({}))).headers.get("x-core-position")).toBeNull()
  })
})

test("the handler of an update is told up to where its caller has read", async () => {
  const world = worldOf()
  const send = (body: object) => world.fetch(`/${update}`, { as: "owner", ...json(body) })
  await send({ projectId: "p1", expectedVersion: "7" })
  await send({ projectId: "p1", expectedVersion: 0 })
  await send({ projectId: "p1" })
  expect(world.handled.map(({ cx }) => cx.expectedVersion)).toEqual([7, 0, undefined])
})
