import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openGrpc } from "./grpc.ts"
import { bearer, humanInput, methodOf, openService, pathOf, type Service } from "./service.ts"

type Call = (name: string, request: object) => Promise<any>

const rounds = 1000
const callers = 8

describe("a caller who creates a user finds the user immediately, 1,000 times of 1,000, by", () => {
  let service: Service
  let orgId: string

  beforeAll(async () => {
    service = await openService()
    const { result } = await service.get("ListOrganizations")
    orgId = result[0].id
  })
  afterAll(() => service?.close())

  test("native gRPC", async () => {
    const grpc = openGrpc(service.grpcPort, service.token)
    try {
      expect(await countFound("grpc", grpc.call, orgId)).toBe(rounds)
    } finally {
      grpc.close()
    }
  })

  test("Connect in binary", async () => {
    const ask: Call = (name, request) => callBinary(service, name, request)
    expect(await countFound("binary", ask, orgId)).toBe(rounds)
  })

  test("Connect in JSON", async () => {
    expect(await countFound("json", (name, request) => service.get(name, request), orgId)).toBe(
      rounds,
    )
  })
})

/** How often the list contains a user when requested right after their creation. */
async function countFound(prefix: string, ask: Call, organizationId: string): Promise<number> {
  let next = 0
  let found = 0
  const caller = async () => {
    while (next < rounds) {
      const username = `${prefix}-${next++}`
      const { id } = await ask("CreateUser", {
        organizationId,
        username,
        ...userTypeInput(username),
      })
      const { result } = await ask("ListUsers", { queries: [userFilter(prefix, id)] })
      if (result.length === 1 && result[0].userId === id && result[0].username === username) found++
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return found
}

/** The same message in two spellings: protobuf-es names a oneof by its case, JSON by its field. */
const userTypeInput = (name: string) =>
  name.startsWith("json")
    ? { human: humanInput(name) }
    : { userType: { case: "human", value: createUserMessage(name) } }

function createUserMessage(name: string) {
  const { profile, email } = humanInput(name)
  const verification = { case: "isVerified", value: true }
  return { profile, email: { email: email.email, verification } }
}

const userFilter = (prefix: string, id: string) =>
  prefix === "json"
    ? { inUserIdsQuery: { userIds: [id] } }
    : { query: { case: "inUserIdsQuery", value: { userIds: [id] } } }

async function callBinary({ url, token }: Service, name: string, request: object) {
  const method = methodOf(name)
  const { input, output } = method
  const response = await fetch(`${url}${pathOf(method)}`, {
    method: "POST",
    headers: { "content-type": "application/proto", ...bearer(token) },
    body: toBinary(input, create(input, request as never)),
  })
  if (!response.ok) throw new Error(`${name}: ${response.status} ${await response.text()}`)
  return fromBinary(output, new Uint8Array(await response.arrayBuffer()))
}
