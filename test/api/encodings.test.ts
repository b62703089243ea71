// The same calls in every encoding, so that all encodings behave alike.
import type { Http2Server } from "node:http2"
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  fromJson,
  type MessageInitShape,
  type MessageShape,
  toBinary,
  toJson,
} from "@bufbuild/protobuf"
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect"
import { compressionGzip } from "@connectrpc/connect-node"
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web"
import { credentials, Client as GrpcClient, Metadata, type ServiceError } from "@grpc/grpc-js"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { grpcServer } from "../../src/api/encoding/grpc.ts"
import {
  type CreateUserRequest,
  type GetUserByIDRequest,
  type ListUsersRequest,
  UserService,
} from "../../src/gen/core/user/v2/user_service_pb.ts"
import { ErrorDetailSchema } from "../../src/gen/core/v1/error_pb.ts"
import { type BadRequest, BadRequestSchema } from "../../src/gen/google/rpc/error_details_pb.ts"
import { Fault } from "../../src/kernel/fault.ts"
import { type Answer, type Cx, json, worldOf } from "./world.ts"

const names = new Map([["u1", "ada"]])

const answers: Readonly<Record<string, Answer>> = {
  "core.user.v2.UserService/CreateUser": (request: CreateUserRequest, cx: Cx) => {
    if (names.has(request.userId ?? "")) {
      throw new Fault("already_exists", "user.exists", "there is such a user already")
    }
    names.set(request.userId ?? "", request.username ?? "")
    cx.wrote = 42
    return { id: request.userId, creationDate: { seconds: 1_700_000_000n, nanos: 5_000_000 } }
  },
  "core.user.v2.UserService/GetUserByID": ({ userId }: GetUserByIDRequest) => ({
    user: { userId, username: names.get(userId) ?? "", state: 1 },
  }),
  "core.user.v2.UserService/ListUsers": ({ query }: ListUsersRequest) => ({
    details: { totalResult: query?.offset ?? 0n },
    sortingColumn: query?.limit,
  }),
}

const world = worldOf(answers)

/**
 * One way to call a method; returns the message, or throws a failure that is comparable across
 * encodings.
 */
type CallMethod = <I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  as?: string,
) => Promise<MessageShape<O>>

type Failure = {
  readonly code: string
  readonly message: string
  readonly id: string
  /** The name of the invalid field, if the error is about one. */
  readonly field: string
}

const fetchFromWorld = (input: RequestInfo | URL, init?: RequestInit) => {
  const request = new Request(input, init)
  return world.fetch(new URL(request.url).pathname, {
    method: request.method,
    headers: request.headers,
    body: request.body,
  })
}

/** Base64 framing, as browsers without access to the response bytes use it. */
async function fetchInBase64(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const request = new Request(input, init)
  const bytes = Buffer.from(await request.arrayBuffer())
  const parts = [bytes.subarray(0, 5), bytes.subarray(5)]
  const headers = new Headers(request.headers)
  headers.set("content-type", "application/grpc-web-text")
  const body = parts.map((part) => part.toString("base64")).join("")
  const answer = await fetchFromWorld(request.url, { method: "POST", headers, body })
  expect(answer.headers.get("content-type")).toBe("application/grpc-web-text+proto")
  const answered = new Headers(answer.headers)
  answered.set("content-type", "application/grpc-web+proto")
  const { status } = answer
  return new Response(Buffer.from(await answer.text(), "base64"), { status, headers: answered })
}

/** Uses the client of connect-es, which validates responses against the protocol. */
const connectClient =
  (transportOf: (options: { baseUrl: string; fetch: typeof fetch }) => Transport): CallMethod =>
  async (method, request, as) => {
    const fetch = Object.assign(fetchFromWorld, { preconnect: () => {} })
    const transport = transportOf({ baseUrl: "http://id.test", fetch })
    const headers = as ? { authorization: `Bearer ${as}` } : {}
    try {
      const answer = await transport.unary(method, undefined, undefined, headers, request)
      return answer.message
    } catch (error) {
      throw failureOf(error)
    }
  }

function failureOf(error: unknown): Failure {
  if (!(error instanceof ConnectError)) throw error
  const [detail] = error.findDetails(ErrorDetailSchema)
  const field = fieldIn(error.findDetails(BadRequestSchema)[0])
  return { code: Code[error.code] ?? "", message: error.rawMessage, id: detail?.id ?? "", field }
}

const fieldIn = (detail: BadRequest | undefined) => detail?.fieldViolations[0]?.field ?? ""

/** Sends plain HTTP requests, as curl does. */
const plainHttp: CallMethod = async (method, request, as) => {
  const body = toJson(method.input, create(method.input, request))
  const path = `/${method.parent.typeName}/${method.name}`
  const response = await world.fetch(path, { ...json(body), ...(as && { as }) })
  const answer = await response.json()
  if (response.ok) return fromJson(method.output, answer)
  const { code, message, details } = answer
  const [said, violated] = details
  expect(said.type).toBe("core.v1.ErrorDetail")
  const { id } = fromBinary(ErrorDetailSchema, Buffer.from(said.value, "base64"))
  const bytes = Buffer.from(violated?.value ?? "", "base64")
  const field = fieldIn(fromBinary(BadRequestSchema, bytes))
  const words = code.replace(/(^|_)(.)/g, (_: string, __: string, letter: string) =>
    letter.toUpperCase(),
  )
  throw { code: words, message, id, field } satisfies Failure
}

let server: Http2Server
let grpc: GrpcClient

beforeAll(async () => {
  server = grpcServer(() => world.entries)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  if (typeof address !== "object" || !address) throw new Error("no port")
  grpc = new GrpcClient(`127.0.0.1:${address.port}`, credentials.createInsecure())
})

afterAll(() => {
  grpc.close()
  server.close()
})

/** Uses a gRPC client that shares no code with the server. */
const grpcClient: CallMethod = (method, request, as) =>
  new Promise((resolve, reject) => {
    const metadata = new Metadata()
    if (as) metadata.set("authorization", `Bearer ${as}`)
    grpc.makeUnaryRequest(
      `/${method.parent.typeName}/${method.name}`,
      (message: MessageShape<typeof method.input>) => Buffer.from(toBinary(method.input, message)),
      (bytes: Buffer) => fromBinary(method.output, bytes),
      create(method.input, request),
      metadata,
      (error, value) => (error ? reject(grpcFailure(error)) : resolve(value!)),
    )
  })

function grpcFailure({ code, details, metadata }: ServiceError): Failure {
  const status = metadata.get("grpc-status-details-bin")[0]
  // The ID is the first string of the detail inside google.rpc.Status.
  const id = /core\.v1\.ErrorDetail[^\n]+\n.([a-z_]+\.[a-z_]+)/s.exec(`${status}`)?.[1] ?? ""
  // The field is the first string inside google.rpc.BadRequest, below two lengths of a byte or two.
  const badRequest = /google\.rpc\.BadRequest.[^\n]{1,2}\n[^\n]{1,2}\n.([a-z_]+)/s
  const [, field = ""] = badRequest.exec(`${status}`) ?? []
  return { code: Code[code] ?? "", message: details, id, field }
}

const callMethods: Readonly<Record<string, CallMethod>> = {
  "Connect JSON, by hand": plainHttp,
  "Connect JSON": connectClient((options) => createConnectTransport(options)),
  "Connect binary": connectClient((options) =>
    createConnectTransport({ ...options, useBinaryFormat: true }),
  ),
  "gRPC-Web binary": connectClient((options) => createGrpcWebTransport(options)),
  "gRPC-Web in base64": connectClient((options) =>
    createGrpcWebTransport({
      ...options,
      fetch: Object.assign(fetchInBase64, { preconnect() {} }),
    }),
  ),
  "gRPC-Web JSON": connectClient((options) =>
    createGrpcWebTransport({ ...options, useBinaryFormat: false }),
  ),
  "native gRPC": grpcClient,
}

const tokenRequired = "a token is required; send it in the Authorization header as Bearer"

const { createUser, getUserByID, listUsers } = UserService.method

for (const [name, call] of Object.entries(callMethods)) {
  describe(name, () => {
    test("carries a request and its answer", async () => {
      const userId = `made by ${name}`
      const made = await call(
        createUser,
        { organizationId: "o1", userId, username: "gr\u00e4ce \ud83d\ude80" },
        "owner",
      )
      expect(made.id).toBe(userId)
      expect(made.creationDate).toMatchObject({ seconds: 1_700_000_000n, nanos: 5_000_000 })
      expect(names.get(userId)).toBe("gr\u00e4ce \ud83d\ude80")
    })

    test("carries 64-bit numbers and nested messages", async () => {
      const offset = 9_007_199_254_740_993n
      const listed = await call(listUsers, { query: { offset, limit: 3 } }, "owner")
      expect(listed.details?.totalResult).toBe(offset)
      expect(listed.sortingColumn).toBe(3)
    })

    test("answers an empty message to a request without a body", async () => {
      const got = await call(getUserByID, { userId: "u1" }, "owner")
      expect(got.user?.username).toBe("ada")
    })

    const failures: Readonly<Record<string, [string | undefined, string, Failure]>> = {
      "no token": [
        undefined,
        "u1",
        {
          code: "Unauthenticated",
          message: `${tokenRequired} (access.token_missing)`,
          id: "access.token_missing",
          field: "",
        },
      ],
      "a missing permission": [
        "project1",
        "u1",
        {
          code: "PermissionDenied",
          message: "permission denied: user.read is required (access.denied)",
          id: "access.denied",
          field: "",
        },
      ],
      "a foreign id": [
        "users1",
        "u2",
        {
          code: "NotFound",
          message: "user not found (user.missing)",
          id: "user.missing",
          field: "",
        },
      ],
    }
    for (const [what, [as, userId, failure]] of Object.entries(failures)) {
      test(`says what failed: ${what}`, async () => {
        await expect(call(getUserByID, { userId }, as)).rejects.toEqual(failure)
      })
    }
  })
}

describe("headers", () => {
  const create = json({ organizationId: "o1", userId: "h1", username: "h" })

  test("contain the request ID and the position of the write", async () => {
    const made = await world.fetch("/core.user.v2.UserService/CreateUser", {
      ...create,
      as: "owner",
    })
    expect(made.headers.get("x-request-id")).toMatch(/^\d{18}$/)
    expect(made.headers.get("x-core-position")).toBe("42")
    const again = await world.fetch("/core.user.v2.UserService/CreateUser", {
      ...create,
      as: "owner",
    })
    expect(again.status).toBe(409)
    expect(again.headers.get("x-request-id")).not.toBe(made.headers.get("x-request-id"))
    expect(again.headers.has("x-core-position")).toBe(false)
  })

  test("are sent with gRPC, too", async () => {
    const headers = await new Promise<Metadata>((resolve) => {
      const metadata = new Metadata()
      metadata.set("authorization", "Bearer owner")
      const { input, output } = getUserByID
      const call = grpc.makeUnaryRequest(
        "/core.user.v2.UserService/GetUserByID",
        (message: GetUserByIDRequest) => Buffer.from(toBinary(input, message)),
        (bytes: Buffer) => fromBinary(output, bytes),
        createMessage({ userId: "u1" }),
        metadata,
        () => {},
      )
      call.on("metadata", resolve)
    })
    expect(headers.get("x-request-id")[0]).toMatch(/^\d{18}$/)
  })

  test("are available to the handler over gRPC, too: caller and address", async () => {
    await grpcClient(getUserByID, { userId: "u1" }, "owner")
    const last = world.ended.at(-1)
    expect(last).toMatchObject({ encoding: "grpc", userId: "owner", code: "ok" })
    expect(last?.address).toMatch(/127\.0\.0\.1$/)
  })

  test("forbid caching of responses", async () => {
    for (const path of ["/healthz", "/core.system.v1.SystemService/Healthz"]) {
      const response = await world.fetch(path, path === "/healthz" ? {} : json({}))
      expect(response.headers.get("cache-control")).toBe("no-store")
    }
  })
})

const createMessage = (init: MessageInitShape<typeof getUserByID.input>) =>
  create(getUserByID.input, init)

test("rejects a message above the limit in every encoding", async () => {
  const username = "x".repeat(5 * 1024 * 1024)
  for (const call of Object.values(callMethods)) {
    const sent = call(createUser, { organizationId: "o1", username }, "owner")
    await expect(sent).rejects.toMatchObject({ code: "ResourceExhausted" })
  }
})

test("reads no message of an unauthenticated caller where a token is required", async () => {
  const username = "x".repeat(5 * 1024 * 1024)
  for (const call of Object.values(callMethods)) {
    const sent = call(createUser, { organizationId: "o1", username })
    await expect(sent).rejects.toMatchObject({ id: "access.token_missing" })
    // The connection remains usable.
    await call(getUserByID, { userId: "u1" }, "owner")
  }
})

test("rejects oversized lists and strings by field name in every encoding", async () => {
  const metadata = Array.from({ length: 101 }, () => ({ key: "k" }))
  for (const call of Object.values(callMethods)) {
    const listed = call(createUser, { organizationId: "o1", metadata }, "owner")
    await expect(listed).rejects.toMatchObject({
      id: "request.too_many_items",
      field: "metadata",
    })
    const said = call(createUser, { organizationId: "x".repeat(10_001) }, "owner")
    // The JSON decoder detects it before the rest is decoded.
    await expect(said).rejects.toMatchObject({
      message: expect.stringContaining("must be at most 10000 characters"),
    })
  }
})

test("rejects a message with too many parts before it is decoded, in every encoding", async () => {
  const metadata = Array.from({ length: 11_000 }, () => ({ key: "k" }))
  for (const call of Object.values(callMethods)) {
    const sent = call(createUser, { organizationId: "o1", metadata }, "owner")
    await expect(sent).rejects.toMatchObject({ id: "request.too_many_parts" })
  }
})

describe("a compressed frame", () => {
  const message = Bun.gzipSync(toBinary(getUserByID.input, createMessage({ userId: "u1" })).slice())
  const frame = Buffer.alloc(5 + message.length)
  frame.writeUInt8(1)
  frame.writeUInt32BE(message.length, 1)
  frame.set(message, 5)
  const send = async (type: string, encoding?: string) => {
    const isText = type.includes("text")
    const answer = await world.fetch("/core.user.v2.UserService/GetUserByID", {
      method: "POST",
      as: "owner",
      body: isText ? frame.toString("base64") : new Uint8Array(frame),
      headers: { "content-type": type, ...(encoding && { "grpc-encoding": encoding }) },
    })
    const text = await answer.text()
    const told = isText ? Buffer.from(text, "base64").toString("latin1") : text
    return `${answer.headers.get("grpc-status")} ${answer.headers.get("grpc-message")} ${told}`
  }

  test.each(["application/grpc-web+proto", "application/grpc-web-text+proto"])(
    "is read if grpc-encoding names the compression, and rejected otherwise (%s)",
    async (type) => {
      expect(await send(type, "gzip")).toMatch(/grpc-status: ?0/)
      for (const encoding of [undefined, "identity"]) {
        const said = await send(type, encoding)
        expect(decodeURIComponent(said.replaceAll(/%(?![0-9A-F]{2})/g, ""))).toContain(
          "marked as compressed, but the grpc-encoding header is missing",
        )
      }
    },
  )
})

describe("a compressed Connect request", () => {
  test("is read, and limited by its decompressed size", async () => {
    const send = async (text: string) => {
      const body = await compressionGzip.compress(new TextEncoder().encode(text))
      return world.fetch("/core.user.v2.UserService/GetUserByID", {
        method: "POST",
        as: "owner",
        body: new Uint8Array(body),
        headers: { "content-type": "application/json", "content-encoding": "gzip" },
      })
    }
    const small = await send('{"userId":"u1"}')
    expect(await small.json()).toMatchObject({ user: { username: "ada" } })
    const bomb = await send(`{"userId":"${"0".repeat(8 * 1024 * 1024)}"}`)
    expect(await bomb.json()).toMatchObject({ code: "resource_exhausted" })
  })
})

test("a typed connect-es client works without customization", async () => {
  const fetch = Object.assign(fetchFromWorld, { preconnect: () => {} })
  const transport = createConnectTransport({ baseUrl: "http://id.test", fetch })
  const client = createClient(UserService, transport)
  const headers = { authorization: "Bearer owner" }
  const { user } = await client.getUserByID({ userId: "u1" }, { headers })
  expect(user?.userId).toBe("u1")
})

test.each([
  ["no base64", "AAAA*AAA", "3", "request.invalid"],
  ["cut base64", "AAAAAAA", "3", "request.invalid"],
  ["nothing but padding", "====", "3", "request.invalid"],
  ["spare bits that say something", "AB==", "3", "request.invalid"],
  ["very many pieces", "AA==".repeat(100_000), "3", "request.invalid"],
  ["too much of it", "A".repeat(6_000_000), "8", "request.too_large"],
])("gRPC-Web in base64 rejects %s as the protocol requires", async (_, body, code, id) => {
  const answer = await world.fetch("/core.user.v2.UserService/ListUsers", {
    method: "POST",
    as: "owner",
    headers: { "content-type": "application/grpc-web-text" },
    body,
  })
  const trailers = Buffer.from(await answer.text(), "base64").toString()
  expect(trailers).toContain(`grpc-status: ${code}\r\n`)
  expect(decodeURIComponent(trailers)).toContain(`(${id})`)
})
