// The requests of standard gRPC tools, sent by an independent client.
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
import { allServices } from "../../src/api/book.ts"
import { detailSchemas } from "../../src/api/encoding/detail.ts"
import { grpcServer } from "../../src/api/encoding/grpc.ts"
import { Health } from "../../src/gen/grpc/health/v1/health_pb.ts"
import { ServerReflection } from "../../src/gen/grpc/reflection/v1/reflection_pb.ts"
import { ServerReflection as Older } from "../../src/gen/grpc/reflection/v1alpha/reflection_pb.ts"
import { systemClock } from "../../src/kernel/clock.ts"
import { worldOf } from "./world.ts"

let server: Http2Server
let client: Client
let isServerReady = true
const clientAbort = new AbortController()

beforeAll(async () => {
  const condition = { isReady: () => isServerReady, clock: systemClock }
  server = grpcServer(() => worldOf().entries, { health: condition, stopping: clientAbort.signal })
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

/** Sends requests one after the other on one stream, and returns the responses. */
function requestReflection(
  requests: readonly object[],
  service: typeof ServerReflection | typeof Older,
) {
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
  test.each(detailSchemas)("describes $typeName, which errors contain", async ({ typeName }) => {
    const [answer] = await requestReflection([symbol(typeName)], service)
    const declared = filesIn(answer).flatMap(({ package: within, messageType }: any) =>
      messageType.map(({ name }: { name: string }) => `${within}.${name}`),
    )
    expect(declared).toContain(typeName)
    // Without this response grpcurl shows no error details.
    const [extensions] = await requestReflection([numbers(typeName)], service)
    expect(extensions.value).toMatchObject({ baseTypeName: typeName, extensionNumber: [] })
  })

  test("lists every service of the API and those of gRPC", async () => {
    const [answer] = await requestReflection([listServices], service)
    const names = answer.value.service.map(({ name }: { name: string }) => name)
    const own = [Health, ServerReflection, Older].map(({ typeName }) => typeName)
    expect(names).toEqual([...allServices.map(({ typeName }) => typeName), ...own].sort())
  })

  test("describes enough to call any method of the API", async () => {
    const [answer] = await requestReflection([symbol("core.project.v2.ProjectService")], service)
    const files = create(FileDescriptorSetSchema, { file: filesIn(answer).reverse() })
    const registry = createFileRegistry(sortByImports(files))
    const found = registry.getService("core.project.v2.ProjectService")
    const [ours] = allServices.filter(
      ({ typeName }) => typeName === "core.project.v2.ProjectService",
    )
    expect(found?.methods.map(({ name }) => name)).toEqual(ours?.methods.map(({ name }) => name))
  })

  test("sends no file twice on one stream unless it is requested again", async () => {
    const users = symbol("core.user.v2.UserService")
    const [first, second, third] = await requestReflection(
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

/** Sorts files so that each comes after its imports. */
function sortByImports(set: FileDescriptorSet): FileDescriptorSet {
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
  const [answer] = await requestReflection([request], ServerReflection)
  expect(answer.case).toBe("fileDescriptorResponse")
  expect(namesIn(answer)[0]?.startsWith(expected)).toBe(true)
})

test("reflection lists the extension numbers of a message", async () => {
  const [answer] = await requestReflection(
    [numbers("google.protobuf.MethodOptions")],
    ServerReflection,
  )
  expect(answer.value.baseTypeName).toBe("google.protobuf.MethodOptions")
  expect([...answer.value.extensionNumber].sort()).toEqual([50001, 50003, 72295728])
})

test.each([
  ["a symbol", symbol("core.project.v2.Nothing"), status.NOT_FOUND],
  ["a file", file("../../etc/passwd"), status.NOT_FOUND],
  ["an extension", extension("google.protobuf.MethodOptions", 7), status.NOT_FOUND],
  ["a message", numbers("core.Nothing"), status.NOT_FOUND],
  ["a question", {}, status.INVALID_ARGUMENT],
])("reflection reports that %s does not exist, and continues", async (_, request, code) => {
  const [refused, next] = await requestReflection([request, listServices], ServerReflection)
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

test.each(["", "core.user.v2.UserService"])(
  "the health of %j follows the server's",
  async (name) => {
    expect((await check(name)).status).toBe(1)
    isServerReady = false
    expect((await check(name)).status).toBe(2)
    isServerReady = true
  },
)

test("the health of an unknown service is not found", async () => {
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

test("the number of watchers is limited, and one that ends makes room", async () => {
  const many = Array.from({ length: 50 }, () => watch(""))
  await expect.poll(() => many.filter(({ heard }) => heard.length === 1).length).toBe(50)
  expect(await watch("").ended).toBe(status.RESOURCE_EXHAUSTED)
  for (const each of many) each.cancel()
  await expect
    .poll(
      async () => {
        const next = watch("")
        const first = await Promise.race([next.ended, statusesOf(next)])
        next.cancel()
        return first
      },
      { timeout: 60_000 },
    )
    .toBe("heard")
})

async function statusesOf({ heard }: { readonly heard: readonly number[] }) {
  await expect.poll(() => heard.length).toBe(1)
  return "heard"
}

test("a watcher receives each change once", async () => {
  const known = watch("core.user.v2.UserService")
  const unknown = watch("core.Nothing")
  await expect.poll(() => known.heard).toEqual([1])
  isServerReady = false
  await expect.poll(() => known.heard, { timeout: 60_000 }).toEqual([1, 2])
  isServerReady = true
  await expect.poll(() => known.heard, { timeout: 60_000 }).toEqual([1, 2, 1])
  expect(unknown.heard).toEqual([3])
  known.cancel()
  unknown.cancel()
  expect(await known.ended).toBe(status.CANCELLED)
})

test("a server that stops closes every stream", async () => {
  const watching = watch("")
  const { serverReflectionInfo: method } = ServerReflection.method
  const idle = client.makeBidiStreamRequest(pathOf(method), ...shape(method))
  const dropped = new Promise<number>((resolve) => {
    idle.on("error", (error: { code?: number }) => resolve(error.code ?? -1))
    idle.on("data", () => {})
  })
  idle.write(create(method.input, listServices as never))
  await expect.poll(() => watching.heard).toEqual([1])
  clientAbort.abort()
  expect(await watching.ended).toBe(status.UNAVAILABLE)
  expect(await dropped).toBe(status.UNAVAILABLE)
})
