import {
  create,
  createFileRegistry,
  type DescMessage,
  type MessageInitShape,
  setExtension,
} from "@bufbuild/protobuf"
import {
  FieldOptionsSchema,
  FileDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt"
import { expect, test } from "vitest"
import { checkRules } from "../../src/api/input/rules.ts"
import { UpdateActionRequestSchema } from "../../src/gen/core/management/v1/action_pb.ts"
import { RulesSchema, rules } from "../../src/gen/core/options_pb.ts"
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

test("each value of a map is checked, whether it is a message or a text", () => {
  const message = mapped()
  const header = { name: "x-long" }
  expect(() => checkRules(message, create(message, { headers: { a: header } }))).toThrow(
    "texts is missing",
  )
  const texts = { a: "one" }
  const check = (request: object) => checkRules(message, create(message, { texts, ...request }))
  expect(() => check({ headers: { a: header, b: header } })).not.toThrow()
  expect(() => check({ headers: { a: header, b: { name: "" } } })).toThrow(
    "headers.name is missing",
  )
  expect(() => check({ headers: { b: { name: "x-much-too-long" } } })).toThrow(
    "headers.name must have at most 8 characters",
  )
  expect(() => check({ texts: { a: "one", b: "much too long" } })).toThrow(
    "texts must have at most 8 characters",
  )
})

/** A message with two maps that have rules, which no request has so far. */
function mapped() {
  const options = create(FieldOptionsSchema)
  setExtension(options, rules, create(RulesSchema, { required: true, maxLength: 8 }))
  const text = { label: Label.OPTIONAL, type: Type.STRING }
  const entry = (name: string, value: object) => ({
    name,
    options: { mapEntry: true },
    field: [
      { ...text, name: "key", number: 1 },
      { label: Label.OPTIONAL, name: "value", number: 2, ...value },
    ],
  })
  const map = (name: string, number: number, typeName: string) => ({
    name,
    number,
    typeName,
    jsonName: name,
    label: Label.REPEATED,
    type: Type.MESSAGE,
  })
  const file = create(FileDescriptorProtoSchema, {
    name: "mapped.proto",
    package: "mapped",
    syntax: "proto3",
    messageType: [
      { name: "Header", field: [{ ...text, name: "name", number: 1, options }] },
      {
        name: "Request",
        nestedType: [
          entry("HeadersEntry", { type: Type.MESSAGE, typeName: ".mapped.Header" }),
          entry("TextsEntry", { type: Type.STRING }),
        ],
        field: [
          map("headers", 1, ".mapped.Request.HeadersEntry"),
          { ...map("texts", 2, ".mapped.Request.TextsEntry"), options },
        ],
      },
    ],
  })
  const message = createFileRegistry(file, () => undefined).getMessage("mapped.Request")
  if (!message) throw new Error("no message")
  return message
}
