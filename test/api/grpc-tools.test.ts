// What gRPC's own tools ask for, with a client that is not ours.
import type { Http2Server } from "node:http2"
import {
  create,
  createFileRegistry,
  type DescMethod,
  fromBinary,
  type Message,
  toBinary,
} from "@bufbuild/protobuf"
import {
  FileDescriptorProtoSchema,
  type FileDescriptorSet,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt"
import { Client, credentials, status } from "@grpc/grpc-js"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { book } from "../../src/api/book.ts"
import { detailSchemas } from "../../src/api/encoding/detail.ts"
import { grpcServer } from "../../src/api/encoding/grpc.ts"
import { Health } from "../../src/gen/grpc/health/v1/health_pb.ts"
import { ServerReflection } from "../../src/gen/grpc/reflection/v1/reflection_pb.ts"
import { ServerReflection as Older } from "../../src/gen/grpc/reflection/v1alpha/reflection_pb.ts"
import { systemClock } from "../../src/kernel/clock.ts"
import { worldOf } from "./world.ts"

let server: Http2Server
let client: Client
let isReady = true
const leaving = new AbortController()

beforeAll(async () => {
  const condition = { isReady: () => isReady, clock: systemClock }
  server = grpcServer(() => worldOf().entries, { condition, leaving: leaving.signal })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  if (typeof address !== "object" || !address) throw new Error("no port")
  client = new Client(`127.0.0.1:${address.port}`, credentials.createInsecure())
})

afterAll(() => {
  client.close()
  server.close()
})

const shape = ({ input, output }: DescMethod) =>
  [
    (message: Message) => Buffer.from(toBinary(input, message)),
    (bytes: Buffer): any => fromBinary(output, bytes),
  ] as const

const pathOf = ({ parent, name }: DescMethod) => `/${parent.typeName}/${name}`

/** Asks one after the other on one stream, and answers what came back. */
function ask(requests: readonly object[], service: typeof ServerReflection | typeof Older) {
  const { serverReflectionInfo: method } = service.method
  const stream = client.makeBidiStreamRequest(pathOf(method), ...shape(method))
  const answers: any[] = []
  return new Promise<any[]>((resolve, reject) => {
    stream.on("error", reject)
    stream.on("end", () => resolve(answers))
    stream.on("data", (answer) => {
      answers.push(answer.messageResponse)
      const next = requests[answers.length]
      if (next) send(next)
      else stream.end()
    })
    const send = (request: object) => stream.write(create(method.input, request as never))
    send(requests[0] ?? {})
  })
}

const listServices = { messageRequest: { case: "listServices", value: "" } }
const symbol = (value: string) => ({ messageRequest: { case: "fileContainingSymbol", value } })
const file = (value: string) => ({ messageRequest: { case: "fileByFilename", value } })
const extension = (containingType: string, extensionNumber: number) => ({
  messageRequest: {
    case: "fileContainingExtension",
    value: { containingType, extensionNumber },
  },
})
const numbers = (value: string) => ({
  messageRequest: { case: "allExtensionNumbersOfType", value },
})

const filesIn = (answer: any) =>
  answer.value.fileDescriptorProto.map((bytes: Uint8Array) =>
    fromBinary(FileDescriptorProtoSchema, bytes),
  )
const namesIn = (answer: any): string[] => filesIn(answer).map(({ name }: any) => name)

describe.each([
  ["v1", ServerReflection],
  ["v1alpha", Older],
] as const)("reflection %s", (_, service) => {
  test.each(detailSchemas)("knows $typeName, which errors carry", async ({ typeName }) => {
    const [answer] = await ask([symbol(typeName)], service)
    const declared = filesIn(answer).flatMap(({ package: within, messageType }: any) =>
      messageType.map(({ name }: { name: string }) => `${within}.${name}`),
    )
    expect(declared).toContain(typeName)
    // grpcurl shows no details of an error where this is refused.
    const [extensions] = await ask([numbers(typeName)], service)
    expect(extensions.value).toMatchObject({ baseTypeName: typeName, extensionNumber: [] })
  })

  test("lists every service of the book, and those of gRPC", async () => {
    const [answer] = await ask([listServices], service)
    const names = answer.value.service.map(({ name }: { name: string }) => name)
    const own = [Health, ServerReflection, Older].map(({ typeName }) => typeName)
    expect(names).toEqual([...book.map(({ typeName }) => typeName), ...own].sort())
  })

  test("tells enough to call any method of the book", async () => {
    const [answer] = await ask([symbol("core.project.v2.ProjectService")], service)
    const files = create(FileDescriptorSetSchema, { file: filesIn(answer).reverse() })
    const registry = createFileRegistry(sorted(files))
    const found = registry.getService("core.project.v2.ProjectService")
    const [ours] = book.filter(({ typeName }) => typeName === "core.project.v2.ProjectService")
    expect(found?.methods.map(({ name }) => name)).toEqual(ours?.methods.map(({ name }) => name))
  })

  test("says nothing twice on one stream, but for what is asked for", async () => {
    const users = symbol("core.user.v2.UserService")
    const [first, second, third] = await ask(
      [users, users, symbol("core.project.v2.Project")],
      service,
    )
    expect(namesIn(first)[0]).toBe("core/user/v2/user_service.proto")
    expect(namesIn(first)).toContain("google/protobuf/timestamp.proto")
    expect(namesIn(second)).toEqual(["core/user/v2/user_service.proto"])
    expect(namesIn(third)).toContain("core/project/v2/project.proto")
    expect(namesIn(third)).not.toContain("google/protobuf/timestamp.proto")
  })
})

/** Files with what they import before them. */
function sorted(set: FileDescriptorSet): FileDescriptorSet {
  const byName = new Map(set.file.map((each) => [each.name, each]))
  const ordered = new Set<(typeof set.file)[number]>()
  const visit = (each: (typeof set.file)[number] | undefined) => {
    if (!each || ordered.has(each)) return
    for (const name of each.dependency) visit(byName.get(name))
    ordered.add(each)
  }
  for (const each of set.file) visit(each)
  return create(FileDescriptorSetSchema, { file: [...ordered] })
}

test.each([
  ["a method", symbol("core.project.v2.ProjectService.GetProject"), "core/project/v2/project_serv"],
  ["a field", symbol("core.project.v2.Project.name"), "core/project/v2/project.proto"],
  ["an enum", symbol("core.project.v2.ProjectState"), "core/project/v2/project.proto"],
  ["a value", symbol("core.project.v2.PROJECT_STATE_ACTIVE"), "core/project/v2/project.proto"],
  ["an extension", symbol("core.access"), "core/options.proto"],
  ["a file", file("core/project/v2/project.proto"), "core/project/v2/project.proto"],
  ["a number", extension("google.protobuf.MethodOptions", 50001), "core/options.proto"],
])("reflection finds %s", async (_, request, expected) => {
  const [answer] = await ask([request], ServerReflection)
  expect(answer.case).toBe("fileDescriptorResponse")
  expect(namesIn(answer)[0]?.startsWith(expected)).toBe(true)
})

test("reflection knows the numbers of a message's extensions", async () => {
  const [answer] = await ask([numbers("google.protobuf.MethodOptions")], ServerReflection)
  expect(answer.value.baseTypeName).toBe("google.protobuf.MethodOptions")
  expect([...answer.value.extensionNumber].sort()).toEqual([50001, 50003, 72295728])
})

test.each([
  ["a symbol", symbol("core.project.v2.Nothing"), status.NOT_FOUND],
  ["a file", file("../../etc/passwd"), status.NOT_FOUND],
  ["an extension", extension("google.protobuf.MethodOptions", 7), status.NOT_FOUND],
  ["a message", numbers("core.Nothing"), status.NOT_FOUND],
  ["a question", {}, status.INVALID_ARGUMENT],
])("reflection says that %s is not there, and goes on", async (_, request, code) => {
  const [refused, next] = await ask([request, listServices], ServerReflection)
  expect([refused.case, refused.value.errorCode]).toEqual(["errorResponse", code])
  expect(next.case).toBe("listServicesResponse")
})

const { check: checkMethod, watch: watchMethod } = Health.method

function check(service: string): Promise<any> {
  return new Promise((resolve, reject) =>
    client.makeUnaryRequest(
      pathOf(checkMethod),
      ...shape(checkMethod),
      create(checkMethod.input, { service }),
      (error, answer) => (error ? reject(error) : resolve(answer)),
    ),
  )
}

test.each(["", "core.user.v2.UserService"])("health of %j follows the server's", async (name) => {
  expect((await check(name)).status).toBe(1)
  isReady = false
  expect((await check(name)).status).toBe(2)
  isReady = true
})

test("health of a service that is not here is not found", async () => {
  await expect(check("core.Nothing")).rejects.toMatchObject({ code: status.NOT_FOUND })
})

function watch(service: string) {
  const stream = client.makeServerStreamRequest(
    pathOf(watchMethod),
    ...shape(watchMethod),
    create(watchMethod.input, { service }),
  )
  const heard: number[] = []
  const ended = new Promise<number>((resolve) => {
    stream.on("error", (error: { code?: number }) => resolve(error.code ?? -1))
    stream.on("end", () => resolve(0))
  })
  stream.on("data", (answer) => heard.push(answer.status))
  return { heard, ended, cancel: () => stream.cancel() }
}

test("no more watch than the server can bear, and who leaves makes room", async () => {
  const many = Array.from({ length: 50 }, () => watch(""))
  await expect.poll(() => many.filter(({ heard }) => heard.length === 1).length).toBe(50)
  expect(await watch("").ended).toBe(status.RESOURCE_EXHAUSTED)
  for (const each of many) each.cancel()
  await expect
    .poll(
      async () => {
        const next = watch("")
        const first = await Promise.race([next.ended, heardBy(next)])
        next.cancel()
        return first
      },
      { timeout: 60_000 },
    )
    .toBe("heard")
})

async function heardBy({ heard }: { readonly heard: readonly number[] }) {
  await expect.poll(() => heard.length).toBe(1)
  return "heard"
}

test("who watches hears of each change once", async () => {
  const known = watch("core.user.v2.UserService")
  const unknown = watch("core.Nothing")
  await expect.poll(() => known.heard).toEqual([1])
  isReady = false
  await expect.poll(() => known.heard, { timeout: 60_000 }).toEqual([1, 2])
  isReady = true
  await expect.poll(() => known.heard, { timeout: 60_000 }).toEqual([1, 2, 1])
  expect(unknown.heard).toEqual([3])
  known.cancel()
  unknown.cancel()
  expect(await known.ended).toBe(status.CANCELLED)
})

test("a server that stops lets go of every stream", async () => {
  const watching = watch("")
  const { serverReflectionInfo: method } = ServerReflection.method
  const idle = client.makeBidiStreamRequest(pathOf(method), ...shape(method))
  const dropped = new Promise<number>((resolve) => {
    idle.on("error", (error: { code?: number }) => resolve(error.code ?? -1))
    idle.on("data", () => {})
  })
  idle.write(create(method.input, listServices as never))
  await expect.poll(() => watching.heard).toEqual([1])
  leaving.abort()
  expect(await watching.ended).toBe(status.UNAVAILABLE)
  expect(await dropped).toBe(status.UNAVAILABLE)
})
