// A connect-es client on Node with an expired token must receive the authentication error for every
// request body.
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { create, type DescFile, toBinary } from "@bufbuild/protobuf"
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt"
import { afterAll, beforeAll, expect, test } from "vitest"
import { ProjectService } from "../../src/gen/core/project/v2/project_service_pb.ts"
import { nodeProgram } from "../support/node.ts"
import { openService, type Service } from "./service.ts"

let service: Service
beforeAll(async () => {
  service = await openService(["--limits", "off"])
})
afterAll(() => service?.close())

/** A file and all its imports, in order of dependency. */
function listFiles(file: DescFile, current = new Set<DescFile>()): ReadonlySet<DescFile> {
  for (const each of file.dependencies) listFiles(each, current)
  return current.add(file)
}

const files = Buffer.from(
  toBinary(
    FileDescriptorSetSchema,
    create(FileDescriptorSetSchema, {
      file: [...listFiles(ProjectService.file)].map(({ proto }) => proto),
    }),
  ),
).toString("base64")

const program = join(import.meta.dirname, "../support/connect-client.mjs")

async function outcomes(input: object): Promise<unknown> {
  const asked = { baseUrl: service.url, files, typeName: ProjectService.typeName, ...input }
  const run = promisify(execFile)
  const { stdout } = await run(nodeProgram(), [program, JSON.stringify({ atOnce: 1, ...asked })])
  return JSON.parse(stdout)
}

const calls = 500

test.each([
  ["64 kB", { padding: 65_536 }],
  ["1 MB", { padding: 1_048_576 }],
  ["1 MB, ten at once", { padding: 1_048_576, atOnce: 10 }],
  ["1 MB by gRPC-Web", { padding: 1_048_576, protocol: "grpc-web" }],
])(
  "RFC 9112 §9.6: 500 calls with %s and an invalid token are all rejected as unauthenticated",
  async (_, options) => {
    const { padding, ...more } = options
    const asked = { method: "createProject", request: { padding }, calls, ...more }
    expect(await outcomes(asked)).toEqual({ unauthenticated: calls })
  },
)
