import { create, fromBinary, fromJsonString, toBinary, toJsonString } from "@bufbuild/protobuf"
import { parseFrames } from "../../../src/api/encoding/frame.ts"
import { isGrpcWebText, readTextMessage } from "../../../src/api/encoding/grpc-web-text.ts"
import { decodeParameters } from "../../../src/api/encoding/query.ts"
import { parseTemplate, segmentsOf } from "../../../src/api/encoding/template.ts"
import { validateBinaryParts } from "../../../src/api/input/bounds.ts"
import { decodeBinary, decodeJson } from "../../../src/api/input/decode.ts"
import { checkValues } from "../../../src/api/input/values.ts"
import {
  CreateUserRequestSchema,
  ListUsersRequestSchema,
} from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { fuzzTarget, requireEqual, requireProperty } from "../engine/target.ts"

const createUserJson = {
  organizationId: "1",
  username: "ada",
  human: {
    profile: { givenName: "Ada", familyName: "Lovelace", gender: "GENDER_FEMALE" },
    email: { email: "ada@example.com" },
    metadata: [{ key: "a", value: "AAAA" }],
  },
}

const listUsersJson = {
  query: { offset: "1", limit: 5, asc: true },
  queries: [
    { userNameQuery: { userName: "a", method: "TEXT_QUERY_METHOD_STARTS_WITH" } },
    { andQuery: { queries: [{ stateQuery: { state: "USER_STATE_ACTIVE" } }] } },
  ],
}

const apiTokens = [
  "organizationId",
  "organization_id",
  "username",
  "human",
  "profile",
  "email",
  "metadata",
  "key",
  "value",
  "query",
  "queries",
  "offset",
  "limit",
  "asc",
  "andQuery",
  "userNameQuery",
  "GENDER_FEMALE",
  "99999999999999999999",
  "1e400",
  "2026-01-01T00:00:00Z",
  "AA==",
  "-_",
]

/** JSON of API requests (proto3 JSON). */
export const apiJson = fuzzTarget({
  name: "api-json",
  seeds: () => [JSON.stringify(createUserJson), JSON.stringify(listUsersJson), "{}"],
  tokens: apiTokens,
  parse: (input) => {
    const text = input.toString("latin1")
    const schema = text.includes("quer") ? ListUsersRequestSchema : CreateUserRequestSchema
    const message = decodeJson(schema, input)
    checkValues(schema, message)
    return { schema, message }
  },
  check: ({ schema, message }) => {
    const written = toJsonString(schema, message as never)
    const again = toJsonString(schema, fromJsonString(schema, written))
    requireEqual(again, written, "written and read again")
  },
})

/** The binary encoding of API requests. */
export const apiBinary = fuzzTarget({
  name: "api-binary",
  seeds: () =>
    [createUserJson, {}].map((json) =>
      toBinary(
        CreateUserRequestSchema,
        fromJsonString(CreateUserRequestSchema, JSON.stringify(json)),
      ),
    ),
  tokens: ["\x0a\x00", "\x1a\x00", "\x0b\x0c", "\x80\x80\x80\x80\x10", "\xff\xff\xff\xff\x0f"],
  parse: (input) => {
    const message = decodeBinary(CreateUserRequestSchema, new Uint8Array(input))
    checkValues(CreateUserRequestSchema, message)
    // The count applies only to long bodies; padding makes this one long enough.
    const padding = new Uint8Array(10_001).fill(0)
    padding.set([0x0a, 0x8e, 0x4e])
    const padded = new Uint8Array(Buffer.concat([padding, input]))
    return { message, isCounted: validateBinaryParts(CreateUserRequestSchema, padded) }
  },
  check: ({ message }) => {
    const written = toBinary(CreateUserRequestSchema, message as never)
    const again = toBinary(CreateUserRequestSchema, fromBinary(CreateUserRequestSchema, written))
    requireProperty(Buffer.from(again).equals(Buffer.from(written)), "written and read again")
  },
})

/** Paths and query parameters of REST URLs. */
export const apiQuery = fuzzTarget({
  name: "api-query",
  seeds: () => [
    "/v2/users/1?query.offset=1&query.limit=5&query.asc=true",
    "/v2/%2e%2e/a?queries=1",
    "/?query.offset=99999999999999999999&query=x",
    "/{a=**}?",
  ],
  tokens: ["query.", "offset", "limit", "=", "&", ".", "queries", "__proto__", "/", "{a}", "%2f"],
  parse: (input) => {
    const [path = "", ...query] = input.toString().split("?")
    const template = parseTemplate(path)
    const parameters = new URLSearchParams(query.join("?"))
    const message = decodeParameters(ListUsersRequestSchema, parameters)
    checkValues(ListUsersRequestSchema, message)
    return { message, template, segments: segmentsOf(path).length }
  },
  check: ({ message }) => {
    const empty = create(ListUsersRequestSchema)
    requireProperty(
      Object.getPrototypeOf(message) === Object.getPrototypeOf(empty),
      "it is a plain message",
    )
    toJsonString(ListUsersRequestSchema, message as typeof empty)
  },
})

const frame = (flags: number, body: Buffer) => {
  const prefix = Buffer.alloc(5)
  prefix[0] = flags
  prefix.writeUInt32BE(body.length, 1)
  return Buffer.concat([prefix, body])
}

/** gRPC and gRPC-Web frames, as bytes, or in base64 if the input starts with "text:". */
export const apiFrame = fuzzTarget({
  name: "api-frame",
  seeds: () => [
    frame(0, Buffer.from("message")),
    frame(1, Buffer.from(Bun.gzipSync("message"))),
    frame(0, Buffer.alloc(0)),
    `text:${frame(0, Buffer.from("message")).toString("base64")}`,
    `text:${frame(0, Buffer.from("me")).toString("base64")}AAAA`,
  ],
  tokens: ["text:", "=", "==", "\0\0\0\0\0", "\x01\0\0\0", "AAAA"],
  parse: async (input) => {
    const headers = new Headers({
      "grpc-encoding": "gzip",
      "content-type": "application/grpc-web-text+proto",
    })
    requireProperty(isGrpcWebText(headers), "the content type of base64")
    if (!input.subarray(0, 5).equals(Buffer.from("text:"))) {
      return parseFrames(new Uint8Array(input), { limit: 4096, headers })
    }
    const body = new Uint8Array(input.subarray(5))
    const request = new Request("https://a/", { method: "POST", headers, body })
    return readTextMessage(request, 4096)
  },
  check: (message) => requireProperty(message.length <= 4096, "a message is within the limit"),
})
