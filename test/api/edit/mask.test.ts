// Update masks, which name the fields to change.
import { create, toBinary } from "@bufbuild/protobuf"
import { describe, expect, test } from "vitest"
import { UpdateProjectRequestSchema } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import { json, worldOf } from "../world.ts"

const updateProject = "core.management.v1.ManagementService/UpdateProject"

test("a binary mask uses the field names of the messages", async () => {
  const outcome = async (path: string) => {
    const world = worldOf()
    const request = create(UpdateProjectRequestSchema, { id: "p1", updateMask: { paths: [path] } })
    const response = await world.fetch(`/${updateProject}`, {
      as: "owner",
      method: "POST",
      headers: { "content-type": "application/proto" },
      body: toBinary(UpdateProjectRequestSchema, request),
    })
    return response.status
  }
  expect(await outcome("project_role_assertion")).toBe(200)
  expect(await outcome("projectRoleAssertion")).toBe(400)
})

describe("a mask in a request", () => {
  const outcome = async (updateMask: unknown) => {
    const world = worldOf()
    const sent = json({ id: "p1", name: "Shop", updateMask })
    const response = await world.fetch(`/${updateProject}`, { as: "owner", ...sent })
    const { code = "ok", message = "" } = await response.json()
    return { code, id: /\(([\w.]+)\)$/.exec(message)?.[1], handled: world.handled.length }
  }

  test("can name any field of the request in camelCase", async () => {
    expect(await outcome("name")).toMatchObject({ code: "ok", handled: 1 })
    expect(await outcome("name,projectRoleAssertion")).toMatchObject({ code: "ok", handled: 1 })
    expect(await outcome(null)).toMatchObject({ code: "ok", handled: 1 })
  })

  test("is rejected if it is empty, because that would change every field", async () => {
    const refused = { code: "invalid_argument", id: "edit.mask_invalid", handled: 0 }
    expect(await outcome("")).toEqual(refused)
  })

  test("is rejected if it names an unknown field or a nested one", async () => {
    const refused = { code: "invalid_argument", id: "edit.mask_invalid", handled: 0 }
    for (const mask of ["title", "name,title", "name.first", "updateMask", "expectedVersion"]) {
      expect({ mask, ...(await outcome(mask)) }).toEqual({ mask, ...refused })
    }
  })

  test("is rejected as invalid JSON if it is not a mask", async () => {
    const refused = { code: "invalid_argument", id: "request.invalid", handled: 0 }
    for (const mask of ["project_role_assertion", ["name"], { paths: ["name"] }]) {
      expect({ mask, ...(await outcome(mask)) }).toEqual({ mask, ...refused })
    }
  })
})
