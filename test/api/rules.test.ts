import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf"
import { expect, test } from "vitest"
import { checkRules } from "../../src/api/input/rules.ts"
import { UpdateActionRequestSchema } from "../../src/gen/core/management/v1/action_pb.ts"
import { CreateProjectGrantRequestSchema } from "../../src/gen/core/project/v2/project_service_pb.ts"
import { BulkSetLimitsRequestSchema } from "../../src/gen/core/system/v1/system_service_pb.ts"
import { worldOf } from "./world.ts"

const check = <S extends DescMessage>(schema: S, request: MessageInitShape<S>) =>
  checkRules(schema, create(schema, request))

test("the dispatcher names a field that is missing, once the caller is admitted", async () => {
  const { fetch } = worldOf()
  const path = "/core.project.v2.ProjectService/CreateProjectGrant"
  const send = (as: string) =>
    fetch(path, {
      method: "POST",
      as,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ projectId: "p1" }),
    })
  const answer = await (await send("owner")).json()
  expect(answer).toMatchObject({
    code: "invalid_argument",
    message: "granted_organization_id is missing (request.field_missing)",
  })
  expect(await (await send("nobody")).json()).not.toMatchObject({ code: "invalid_argument" })
})

test("an empty text is as good as none", () => {
  const request = { projectId: "1", grantedOrganizationId: "" }
  expect(() => check(CreateProjectGrantRequestSchema, request)).toThrow(
    "granted_organization_id is missing",
  )
  const whole = { ...request, grantedOrganizationId: "2" }
  expect(() => check(CreateProjectGrantRequestSchema, whole)).not.toThrow()
})

test("a rule that names an error is left to the operation", () => {
  expect(() => check(UpdateActionRequestSchema, { id: "1", name: "" })).not.toThrow()
  expect(() => check(BulkSetLimitsRequestSchema, { limits: [{ instanceId: "" }] })).not.toThrow()
})
