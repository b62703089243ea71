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

const checkMessage = <S extends DescMessage>(schema: S, request: MessageInitShape<S>) =>
  checkRules(schema, create(schema, request))

test("the dispatcher names a missing field after the caller is admitted", async () => {
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
    message: "granted_organization_id is required (request.field_missing)",
  })
  expect(await (await send("nobody")).json()).not.toMatchObject({ code: "invalid_argument" })
})

test("an empty string counts as missing", () => {
  const request = { projectId: "1", grantedOrganizationId: "" }
  expect(() => checkMessage(CreateProjectGrantRequestSchema, request)).toThrow(
    "granted_organization_id is required",
  )
  const whole = { ...request, grantedOrganizationId: "2" }
  expect(() => checkMessage(CreateProjectGrantRequestSchema, whole)).not.toThrow()
})

test("a rule with its own error is left to the operation", () => {
  expect(() => checkMessage(UpdateActionRequestSchema, { id: "1", name: "" })).not.toThrow()
  expect(() =>
    checkMessage(BulkSetLimitsRequestSchema, { limits: [{ instanceId: "" }] }),
  ).not.toThrow()
})

test("every value of a map is checked, whether it is a message or a string", () => {
  const message = messageWithMaps()
  const header = { name: "x-long" }
  expect(() => checkRules(message, create(message, { headers: { a: header } }))).toThrow(
    "texts is required",
  )
  const texts = { a: "one" }
  const check = (request: object) => checkRules(message, create(message, { texts, ...request }))
  expect(() => check({ headers: { a: header, b: header } })).not.toThrow()
  expect(() => check({ headers: { a: header, b: { name: "" } } })).toThrow(
    "headers.name is required",
  )
  expect(() => check({ headers: { b: { name: "x-much-too-long" } } })).toThrow(
    "headers.name must be at most 8 characters",
  )
  expect(() => check({ texts: { a: "one", b: "much too long" } })).toThrow(
    "texts must be at most 8 characters",
  )
})

/** A message with two maps with rules, which no request contains yet. */
function messageWithMaps() {
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
