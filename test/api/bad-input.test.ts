import { fromJson, toBinary } from "@bufbuild/protobuf"
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt"
import { describe, expect, test } from "vitest"
import { allServices } from "../../src/api/book.ts"
import { httpStatus } from "../../src/api/faults.ts"
import { bodyBytesMax, partsMax, validateBinaryParts } from "../../src/api/input/bounds.ts"
import { notFoundResponse } from "../../src/api/respond.ts"
import { CreateUserRequestSchema } from "../../src/gen/core/user/v2/user_service_pb.ts"
import { type Code, codes } from "../../src/kernel/fault.ts"
import { json, worldOf } from "./world.ts"

const world = worldOf()
const secret = "Tr0ub4dor&3"
const createUser = "/core.user.v2.UserService/CreateUser"
const listUsers = "/core.user.v2.UserService/ListUsers"
const project = "/management/v1/projects"

async function errorOf(path: string, init: RequestInit) {
  const handled = world.handled.length
  const response = await world.fetch(path, { as: "owner", ...init })
  const text = await response.text()
  expect(world.handled.length).toBe(handled)
  expect(text).not.toContain(secret)
  return { status: response.status, text, body: JSON.parse(text) }
}

const human = (more: object) => ({ organizationId: "o1", human: more })
const deep = (levels: number) => `${'{"notQuery":{"query":'.repeat(levels)}{}${"}}".repeat(levels)}`

/** The JSON body, and the expected error message. */
const bodies: Readonly<Record<string, [body: unknown, words: string]>> = {
  "text that is not JSON": [
    `{"organizationId": "o1", "human": {"password": {"password": ${secret}}}}`,
    "the body is not JSON: syntax error at line 1, column 61",
  ],
  "JSON that ends early": [
    `{"organizationId": "${secret}",\n  "username": `,
    "the body is not JSON: syntax error at line 2, column 15",
  ],
  "a large text that is cut off": [`{"username": "${"x".repeat(900_000)}`, "is not JSON (request"],
  "an unterminated text": [`{"username": "${secret}`, "syntax error at line 1, column 14"],
  "a list where an object belongs": [[secret], "the body must be an object"],
  nothing: [null, "the body must be an object"],
  "an unknown field": [
    { organisationId: secret },
    'unknown field "organisationId"; did you mean "organizationId"?',
  ],
  "an unknown field deep inside": [
    human({ profile: { given: secret } }),
    'unknown field "human.profile.given"; did you mean "givenName"?',
  ],
  "a number for a text": [{ username: 5 }, "username must be a string"],
  "a text for an object": [{ human: secret }, "human must be an object"],
  "a text for a list": [{ metadata: secret }, "metadata must be a list"],
  "a wrong element of a list": [
    { metadata: [{ key: "a" }, secret] },
    "metadata[1] must be an object",
  ],
  "a text for a flag": [
    human({ password: { password: secret, changeRequired: secret } }),
    "human.password.changeRequired must be true or false",
  ],
  "bytes that are not base64": [
    { metadata: [{ key: "a", value: `${secret}!` }] },
    "metadata[0].value must be a base64 string",
  ],
  "an unknown enum name": [
    human({ profile: { gender: secret } }),
    "human.profile.gender must be one of GENDER_UNSPECIFIED, GENDER_FEMALE",
  ],
  "an unknown enum number": [
    human({ profile: { gender: 77 } }),
    "human.profile.gender has a value that is not defined for this enum",
  ],
  "an enum number that is no number": [
    human({ profile: { gender: 1.5 } }),
    "human.profile.gender must be one of",
  ],
  "two of a kind": [
    human({ password: { password: secret }, hashedPassword: { hash: secret } }),
    '"human.password" and "human.hashedPassword" can\'t be set together',
  ],
  "a field in both spellings": [
    { organization_id: secret, organizationId: secret },
    '"organization_id" and "organizationId" can\'t be set together',
  ],
  "an unknown field with a name that no one types": [
    { ["r".repeat(900_000)]: 1 },
    `unknown field "${"r".repeat(100)}…" (request.invalid)`,
  ],
  "unknown fields without number": [
    Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`k${at}`, 1])),
    "the body has more than 10000 keys and values",
  ],
  "a list without end": [
    { metadata: Array.from({ length: 60_000 }, () => ({})) },
    "the body has more than 10000 keys and values",
  ],
  "a key twice": [
    `{"username": "${secret}", "username": "${secret}"}`,
    "in the body, a key appears twice or a value is out of range",
  ],
}

const idsIn = (count: number) => ({
  inUserIdsQuery: { userIds: Array.from({ length: count }, () => secret) },
})
const keysIn = (count: number) => Array.from({ length: count }, () => ({ key: secret }))

/** Lists and strings that can be decoded but exceed the limits of the operation. */
const oversized: Readonly<Record<string, [path: string, body: unknown, words: string]>> = {
  "a list that the book bounds": [
    createUser,
    { metadata: keysIn(101) },
    "metadata must have at most 100 elements",
  ],
  "a list of things as dear, deep inside": [
    createUser,
    human({ metadata: keysIn(101) }),
    "human.metadata must have at most 100 elements",
  ],
  "a list that nobody bounds": [
    listUsers,
    { queries: [idsIn(1000)] },
    "queries.in_user_ids_query.user_ids must have at most 1000 elements, " +
      "fewer if the request has other lists",
  ],
  "many lists that are too much together": [
    listUsers,
    { queries: Array.from({ length: 10 }, () => ({ orQuery: { queries: [idsIn(100)] } })) },
    "queries.or_query.queries.in_user_ids_query.user_ids must have at most 1000 elements",
  ],
  "a text beyond measure": [
    createUser,
    { username: "x".repeat(10_001) },
    "username must be at most 10000 characters",
  ],
  "one in a list": [
    listUsers,
    { queries: [{ userNameQuery: { userName: "\u0301\u0316".repeat(5001) } }] },
    "queries[0].userNameQuery.userName must be at most 10000 characters",
  ],
}

describe("Connect JSON rejects, naming the field and no value,", () => {
  const onUsers = Object.entries(bodies).map(
    ([name, [body, words]]) => [name, [createUser, body, words]] as const,
  )
  for (const [name, [path, body, words]] of [...onUsers, ...Object.entries(oversized)]) {
    test(name, async () => {
      const { status, body: answer } = await errorOf(path, json(body))
      expect(status).toBe(400)
      expect(answer.code).toBe("invalid_argument")
      expect(answer.message).toContain(words)
    })
  }

  test("messages of any excessive nesting depth", async () => {
    for (const [levels, words] of [
      [60, "the body is nested too deeply"],
      [20_000, "more than 10000 keys and values"],
    ] as const) {
      const { body } = await errorOf(listUsers, json(`{"queries":[${deep(levels)}]}`))
      expect(body.message).toContain(words)
    }
  })

  test("too many digits, before they are parsed", async () => {
    const { body } = await errorOf(listUsers, json({ query: { offset: "9".repeat(900_000) } }))
    expect(body.message).toContain("query.offset must be a non-negative 64-bit integer as a string")
  })

  test("half a million nested lists, quickly", async () => {
    const text = `{"metadata": ${"[".repeat(500_000)}${"]".repeat(500_000)}}`
    const started = performance.now()
    const { status } = await errorOf(createUser, json(text))
    expect(status).toBe(400)
    // Takes milliseconds on an idle machine; with quadratic cost it would take hours.
    expect(performance.now() - started).toBeLessThan(15_000)
  })

  test("bytes that are not UTF-8", async () => {
    const body = new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d])
    const { body: answer } = await errorOf(createUser, { ...json(""), body })
    expect(answer.message).toContain("the body is not UTF-8")
  })

  test("a protocol version other than 1, and a timeout that is not a number", async () => {
    const version = { headers: { "connect-protocol-version": "2" } }
    expect((await errorOf(createUser, json({}, version))).body.message).toContain("version 1")
    const timeout = { headers: { "connect-timeout-ms": "5s" } }
    expect((await errorOf(createUser, json({}, timeout))).body.message).toContain("Timeout-Ms")
  })
})

/** A length-delimited field. */
const wrap = (tag: number, inner: readonly number[]): number[] => {
  const length = inner.length
  return length < 128
    ? [tag, length, ...inner]
    : [tag, (length & 0x7f) | 0x80, length >> 7, ...inner]
}

describe("binary", () => {
  const binary = (bytes: readonly number[]): RequestInit => ({
    method: "POST",
    headers: { "content-type": "application/proto" },
    body: new Uint8Array(bytes),
  })

  test("is rejected if it is not a message", async () => {
    const { status, body } = await errorOf(createUser, binary([0x0a, 0xff]))
    expect([status, body.code]).toEqual([400, "invalid_argument"])
    expect(body.message).toContain("not a CreateUserRequest in protobuf binary encoding")
  })

  test("is rejected with an unknown enum value", async () => {
    // machine (5) { access_token_type (3): 9 }
    const { body } = await errorOf(createUser, binary([0x2a, 0x02, 0x18, 0x09]))
    expect(body.message).toContain("machine.access_token_type has a value")
  })

  const many = (field: readonly number[]) => Array.from({ length: 200_000 }, () => field).flat()
  const tooMany = "the body has more than 10000 keys and values"
  const noMessage = "not a ListUsersRequest in protobuf binary encoding"
  /** A string of 20,000 bytes, which makes the body large enough to be checked. */
  const long = [0xfa, 0x06, 0xa0, 0x9c, 0x01, ...Array.from({ length: 20_000 }, () => 0x41)]
  test.each<[string, number[], string]>([
    ["a list without end", many([0x1a, 0x00]), tooMany],
    ["fields that nobody knows", many([0xf8, 0x07, 0x00]), tooMany],
    ["a group of them", [0xfb, 0x07, ...many([0x08, 0x00]), 0xfc, 0x07], tooMany],
    ["a packed list of numbers", [...long, 0x10, 0x00, 0x12, 0x02, 0x01, 0x01], noMessage],
    ["a list in another wire type", many([0x18, 0x00]), noMessage],
    ["a part that is longer than its whole", [...long, 0x1a, 0x01, 0x6a, 0x05, 0x0a], noMessage],
    ["a length of more than 32 bits", [...long, 0x1a, 0xff, 0xff, 0xff, 0xff, 0x7f], noMessage],
    ["groups without end", [...long, ...many([0xfb, 0x07]).slice(0, 9000)], noMessage],
  ])("is rejected before decoding: %s", async (_, bytes, words) => {
    expect((await errorOf(listUsers, binary(bytes))).body.message).toContain(words)
  })

  test("is counted while it is read, whatever the message", () => {
    const files = allServices.map(({ file }) => toBinary(FileDescriptorProtoSchema, file.proto))
    const large = files.filter((bytes) => bytes.length > partsMax)
    expect(large.length).toBeGreaterThan(2)
    expect(large.filter((bytes) => !validateBinaryParts(FileDescriptorProtoSchema, bytes))).toEqual(
      [],
    )
    const metadata = Array.from({ length: 1500 }, (_, at) => ({ key: `k${at}`, value: "AAAA" }))
    const user = fromJson(CreateUserRequestSchema, { organizationId: "o1", metadata })
    expect(
      validateBinaryParts(CreateUserRequestSchema, toBinary(CreateUserRequestSchema, user)),
    ).toBe(true)
  })

  test("is rejected if it is nested too deeply", async () => {
    // queries (3) { not_query (13) { query (1) { … } } }
    let inner: number[] = []
    for (let level = 0; level < 40; level++) {
      inner = wrap(0x6a, wrap(0x0a, inner))
    }
    expect(
      (await world.fetch(listUsers, { ...binary(wrap(0x1a, inner)), as: "owner" })).status,
    ).toBe(200)
    for (let level = 0; level < 40; level++) inner = wrap(0x6a, wrap(0x0a, inner))
    expect((await errorOf(listUsers, binary(wrap(0x1a, inner)))).status).toBe(400)
  })
})

describe("REST rejects", () => {
  test("with a Status and the same message as Connect", async () => {
    const { status, body } = await errorOf(project, json({ nam: secret }))
    expect(status).toBe(400)
    const message = 'unknown field "nam"; did you mean "name"?'
    expect(body).toEqual({
      code: 3,
      message: `${message} (request.invalid)`,
      details: [
        {
          "@type": "type.googleapis.com/core.v1.ErrorDetail",
          id: "request.invalid",
          message,
        },
      ],
    })
  })

  const parameters: Readonly<Record<string, string>> = {
    "query.limit=many": "query.limit must be an integer from 0 to 4294967295",
    "query.limit=-1": "query.limit must be an integer from 0 to",
    "query.limits=5": 'unknown parameter "query.limits"; did you mean "limit"?',
    "quary.limit=5": 'unknown parameter "quary.limit"; did you mean "query"?',
    "query.limit=5&query.limit=6": 'the parameter "query.limit" appears twice',
    "query.asc=yes": "query.asc must be true or false",
    "query=5": "query can't be a URL parameter",
    "queries=5": "queries can't be a URL parameter",
    "sortingColumn=BY_MOOD": "sorting_column must be one of DOMAIN_FIELD_NAME_UNSPECIFIED",
    "sortingColumn=99": "sorting_column has a value that is not defined for this enum",
    "query.limit.more=5": 'unknown parameter "query.limit.more"',
    "__proto__.x=5": 'unknown parameter "__proto__.x"',
  }
  for (const [query, words] of Object.entries(parameters)) {
    test(`the parameter ${query}`, async () => {
      const { status, body } = await errorOf(`/domains/_search?${query}`, { method: "POST" })
      expect([status, body.code]).toEqual([400, 3])
      expect(body.message).toContain(words)
    })
  }

  test("an unexpected body, and query parameters for body fields", async () => {
    const search = await errorOf("/domains/_search", json({ query: {} }))
    expect(search.body.message).toContain("leave the body empty")
    const added = await errorOf(`${project}?name=n`, json({ name: "n" }))
    expect(added.body.message).toContain("from the body, not from the URL")
  })

  test("a body with another content type with 415", async () => {
    for (const type of ["application/x-www-form-urlencoded", "text/plain", "application/xml"]) {
      const init = { method: "POST", body: "name=n", headers: { "content-type": type } }
      const { status, body } = await errorOf(project, init)
      expect([status, body.code]).toEqual([415, 3])
      expect(body.message).toContain("the body must be application/json")
    }
  })

  test("an invalid percent-encoding as an unknown path", async () => {
    expect((await world.fetch("/management/v1/projects/%zz", { as: "owner" })).status).toBe(599)
  })
})

describe("a body", () => {
  const large = "x".repeat(bodyBytesMax + 1)
  const streamed = () =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        for (let sent = 0; sent <= bodyBytesMax; sent += 65_536) {
          controller.enqueue(new Uint8Array(65_536).fill(32))
        }
        controller.close()
      },
    })

  test("is rejected with 413 above the limit, with or without Content-Length", async () => {
    for (const path of [project, createUser]) {
      for (const body of [large, streamed()]) {
        const headers = { "content-type": "application/json" }
        const { status, body: answer } = await errorOf(path, { method: "POST", body, headers })
        expect(status).toBe(413)
        expect(answer.message).toContain("larger than 1024 kB")
        expect([8, "resource_exhausted"]).toContain(answer.code)
      }
    }
  })

  test("without a token is read only for public operations and up to a few kB", async () => {
    const sent = (path: string, body: BodyInit) =>
      world.fetch(path, { method: "POST", body, headers: { "content-type": "application/json" } })
    const health = "/core.system.v1.SystemService/Healthz"
    expect((await sent(health, `{${" ".repeat(4000)}}`)).status).toBe(200)
    for (const body of [`{${" ".repeat(4100)}}`, streamed()]) {
      expect((await sent(health, body)).status).toBe(413)
    }
    for (const path of [project, createUser]) {
      const body = new ReadableStream<Uint8Array>({
        pull: () => {
          throw new Error("the body was read")
        },
      })
      expect((await sent(path, body)).status).toBe(401)
    }
  })

  test("is accepted at the limit", async () => {
    const text = `{"name":"x"${" ".repeat(bodyBytesMax - 12)}}`
    expect((await world.fetch(project, { ...json(text), as: "owner" })).status).toBe(200)
  })
})

describe("a Connect path", () => {
  test("accepts POST only", async () => {
    const response = await world.fetch(createUser, { as: "owner" })
    expect(response.status).toBe(405)
    expect(response.headers.get("allow")).toBe("POST")
  })

  test("rejects an unsupported content type with 415 and lists the supported ones", async () => {
    const init = { method: "POST", body: "a=b", headers: { "content-type": "text/plain" } }
    const { status, body } = await errorOf(createUser, init)
    expect([status, body.code]).toEqual([415, "invalid_argument"])
    expect(body.message).toContain("application/json or application/proto")
  })

  test("returns 404 if it is unknown, like every other unknown path", async () => {
    for (const path of ["/core.user.v2.UserService/Create", "/users", "//healthz", "/healthz/"]) {
      expect((await world.fetch(path, { ...json({}), as: "owner" })).status).toBe(599)
    }
    expect(await notFoundResponse().json()).toEqual({ code: 5, message: "Not Found", details: [] })
    expect(notFoundResponse().status).toBe(404)
  })
})

test("every code has its HTTP status", () => {
  const statuses: Readonly<Record<Code, number>> = {
    canceled: 499,
    unknown: 500,
    invalid_argument: 400,
    deadline_exceeded: 504,
    not_found: 404,
    already_exists: 409,
    permission_denied: 403,
    resource_exhausted: 429,
    failed_precondition: 400,
    aborted: 409,
    out_of_range: 400,
    unimplemented: 501,
    internal: 500,
    unavailable: 503,
    data_loss: 500,
    unauthenticated: 401,
  }
  expect(Object.fromEntries(codes.map((code) => [code, httpStatus(code)]))).toEqual(statuses)
})
