// Read positions in responses, and conflicts with changes that the caller has not read.
import { fromBinary } from "@bufbuild/protobuf"
import { timestampMs } from "@bufbuild/protobuf/wkt"
import { describe, expect, test } from "vitest"
import { ErrorDetailSchema } from "../../../src/gen/core/v1/error_pb.ts"
import { staleEditError } from "../../../src/kernel/fault.ts"
import { type Answer, type Cx, json, worldOf } from "../world.ts"

const getUser = "core.user.v2.UserService/GetUserByID"
const updateProject = "core.project.v2.ProjectService/UpdateProject"
const time = Date.UTC(2026, 10, 28, 15)

const person = { user: { type: { case: "human", value: { profile: { displayName: "Ada" } } } } }

/** The error detail for a caller whose update would overwrite a user's change. */
async function detailFor(as: string, userId: string, user: Answer = () => person) {
  const world = worldOf({
    [updateProject]: () => {
      throw staleEditError({ userId, displayName: "", time })
    },
    [getUser]: user,
  })
  const sent = json({ projectId: "p1", name: "Shop", expectedVersion: "7" })
  const response = await world.fetch(`/${updateProject}`, { as, ...sent })
  const { code, details } = await response.json()
  expect({ status: response.status, code }).toEqual({ status: 409, code: "aborted" })
  const { type, value } = details[0]
  expect(type).toBe("core.v1.ErrorDetail")
  const detail = fromBinary(ErrorDetailSchema, Buffer.from(value, "base64"))
  expect(detail.id).toBe("edit.stale")
  const { changedByUserId, changedBy, changeDate } = detail
  return { changedByUserId, changedBy, changed: changeDate && timestampMs(changeDate) }
}

describe("a caller whose update would overwrite an unread change", () => {
  const nobody = { changedByUserId: "", changedBy: "", changed: time }

  test("receives the time and the author of the change", async () => {
    const ada = { changedByUserId: "u1", changedBy: "Ada", changed: time }
    expect(await detailFor("owner", "u1")).toEqual(ada)
  })

  test("receives the same in a REST status", async () => {
    const put = "core.management.v1.ManagementService/UpdateProject"
    const world = worldOf({
      [put]: () => {
        throw staleEditError({ userId: "u1", displayName: "", time })
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

  test("receives the name of a service account", async () => {
    const robot = { user: { type: { case: "machine", value: { name: "CI" } } } }
    expect(await detailFor("owner", "u1", () => robot)).toMatchObject({ changedBy: "CI" })
  })

  test("receives only the time without permission to read the user", async () => {
    expect(await detailFor("project1", "u1")).toEqual(nobody)
  })

  test("receives only the time if the user was deleted or the server made the change", async () => {
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

  test("is the position before the read in a response without writes", async () => {
    expect(await position(at(), "owner")).toBe("41")
  })

  test("is absent from failed calls and for callers without a token", async () => {
    expect(await position(at(), "owner", "absent")).toBeNull()
    expect(await position(at())).toBeNull()
    const open = worldOf({}, { head: () => 41 })
    const languages = "core.settings.v2.SettingsService/GetGeneralSettings"
    expect((await open.fetch(`/${languages}`, json({}))).headers.get("x-core-position")).toBeNull()
  })
})

test("the handler of an update receives the position up to which its caller has read", async () => {
  const world = worldOf()
  const send = (body: object) => world.fetch(`/${updateProject}`, { as: "owner", ...json(body) })
  await send({ projectId: "p1", expectedVersion: "7" })
  await send({ projectId: "p1", expectedVersion: 0 })
  await send({ projectId: "p1" })
  expect(world.handled.map(({ cx }) => cx.expectedVersion)).toEqual([7, 0, undefined])
})
