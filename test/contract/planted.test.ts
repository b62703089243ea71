// Breaks the API on purpose by editing its descriptors, and expects the start to fail.
import {
  create,
  createFileRegistry,
  type DescFile,
  fromBinary,
  type MessageInitShape,
  setExtension,
  toBinary,
} from "@bufbuild/protobuf"
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  type MethodDescriptorProto,
  MethodOptionsSchema,
} from "@bufbuild/protobuf/wkt"
import { describe, expect, test } from "vitest"
import { createEntries, type Entry } from "../../src/api/dispatch.ts"
import { createRestRoutes } from "../../src/api/encoding/rest.ts"
import { bindHandlers, bindServices, type Operation } from "../../src/api/method.ts"
import { DiagnosisService } from "../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { ManagementService } from "../../src/gen/core/management/v1/management_service_pb.ts"
import { AccessSchema, access } from "../../src/gen/core/options_pb.ts"
import { WebKeyService } from "../../src/gen/core/webkey/v2/webkey_service_pb.ts"
import { http } from "../../src/gen/google/api/annotations_pb.ts"
import { HttpRuleSchema } from "../../src/gen/google/api/http_pb.ts"
import { authority, type Cx, worldOf } from "../api/world.ts"

const file = ManagementService.file

type Rule = MessageInitShape<typeof AccessSchema>

/** The operations of the management service after a change to one of its methods. */
function operationsWith(rpc: string, change: (method: MethodDescriptorProto) => void) {
  const bytes = toBinary(FileDescriptorProtoSchema, file.proto)
  const proto: FileDescriptorProto = fromBinary(FileDescriptorProtoSchema, bytes)
  const method = proto.service[0]?.method.find(({ name }) => name === rpc)
  if (!method) throw new Error(`no ${rpc}`)
  change(method)
  const dependencies = new Map(
    withImports(file.dependencies).map((each): [string, DescFile] => [`${each.name}.proto`, each]),
  )
  const registry = createFileRegistry(proto, (name) => dependencies.get(name))
  const service = registry.getService(ManagementService.typeName)
  if (!service) throw new Error("no service")
  return service.methods.map((each): Operation<Cx> => ({ method: each, handler: () => ({}) }))
}

function withImports(files: readonly DescFile[]): readonly DescFile[] {
  return files.flatMap((each) => [each, ...withImports(each.dependencies)])
}

function startWith(operations: readonly Operation<Cx>[]): readonly Entry[] {
  const { clock, ids } = worldParts
  const hooks: [] = []
  const authenticate = async () => {
    throw new Error("unexpected call")
  }
  return createEntries<Cx>({ operations, authority, authenticate, hooks, clock, ids })
}

const worldParts = { clock: worldOf().clock, ids: { next: () => "1", newest: () => 0 } }

function withAccess(rule: Rule | undefined) {
  return operationsWith("DeactivateProject", (method) => {
    const options = create(MethodOptionsSchema)
    if (rule) setExtension(options, access, create(AccessSchema, rule))
    method.options = options
  })
}

const onProject = {
  permission: "project.write",
  resource: "project",
  id: "id",
  rankless: "a project holds nobody",
}

const ranked = { ...onProject, rankless: "", rank: "roles" }

describe("the start rejects, naming the method,", () => {
  const refused: Readonly<Record<string, [Rule | undefined, RegExp]>> = {
    "a method without an access rule": [undefined, /the access rule is missing/],
    "an empty rule": [{}, /set exactly one of permission, either, public and authenticated/],
    "two kinds of rule": [
      { ...onProject, public: true },
      /set exactly one of permission, either, public and authenticated/,
    ],
    "a public method with an id": [
      { public: true, id: "id" },
      /key and search require a permission/,
    ],
    "an unknown resource": [{ ...onProject, resource: "castle" }, /"castle", which does not exist/],
    "a field that does not exist": [{ ...onProject, id: "project_id" }, /field "project_id"/],
    "a parent that does not exist": [
      { ...onProject, parent: "org" },
      /the access rule names the field "org"/,
    ],
    "a field below a text": [
      { ...onProject, id: "id.more" },
      /the access rule names the field "id.more"/,
    ],
    "a resource without an id": [{ ...onProject, id: "" }, /the access rule must have an id/],
    "a search with an id": [
      { ...onProject, search: true },
      /a search can't have an id or a parent/,
    ],
    "the context as a project": [{ ...onProject, id: "@org" }, /"@org" requires the resource org/],
    "a change that says nothing of rank": [
      { ...onProject, rankless: "" },
      /set exactly one of rank and rankless/,
    ],
    "a change that says both": [
      { ...onProject, rank: "roles" },
      /set exactly one of rank and rankless/,
    ],
    "a rank that does not exist": [{ ...ranked, rank: "king" }, /"king" does not exist/],
    "a rank of users on a project": [
      { ...ranked, rank: "user" },
      /"user" requires the resource "user" or "session"/,
    ],
    "a rank of organisations on a project": [
      { ...ranked, rank: "org" },
      /"org" requires the resource "org"/,
    ],
    "a fresh sign-in of no user": [
      { ...onProject, fresh: true },
      /fresh requires the resource user or the caller's own account/,
    ],
    "a proof that does not exist": [
      { ...ranked, proof: ["code"] },
      /the proof names the field "code"/,
    ],
    "a proof without a rank": [{ ...onProject, proof: ["id"] }, /a proof requires a rank/],
    "what is only for oneself, of a rank": [
      { authenticated: "no data of others", rank: "roles" },
      /set exactly one of rank and rankless/,
    ],
    "a choice between rules without ids": [
      { either: [create(AccessSchema, { permission: "iam.write", resource: "instance" })] },
      /each rule of either must have an id/,
    ],
    "a choice that holds a choice": [
      { either: [create(AccessSchema, { either: [create(AccessSchema, onProject)] })] },
      /each rule of either must have only a permission/,
    ],
  }
  for (const [name, [rule, why]] of Object.entries(refused)) {
    test(name, () => {
      const operations = withAccess(rule)
      expect(() => startWith(operations)).toThrow(why)
      expect(() => startWith(operations)).toThrow(
        "core.management.v1.ManagementService/DeactivateProject",
      )
    })
  }

  test("a read with a rank", () => {
    const operations = operationsWith("GetProjectByID", ({ options }) => {
      if (options) setExtension(options, access, create(AccessSchema, ranked))
    })
    expect(() => startWith(operations)).toThrow(
      /GetProjectByID: a method that changes nothing can't have a rank/,
    )
  })

  test("accepts the same method with its rule", () => {
    expect(startWith(withAccess(onProject)).length).toBe(ManagementService.methods.length)
  })
})

describe("the start rejects, naming it,", () => {
  const marked = (deprecated: boolean, rpc: string) =>
    operationsWith(rpc, ({ options }) => {
      if (options) options.deprecated = deprecated
    })

  test.each([
    ["a deprecated operation without a successor", true, "ListProjectChanges"],
    ["a successor of one that is not deprecated", false, "ListGrantedProjects"],
  ])("%s", (_, deprecated, rpc) => {
    const operations = marked(deprecated, rpc)
    expect(() => startWith(operations)).toThrow(
      /a successor is required for a deprecated operation and not allowed for others/,
    )
    expect(() => startWith(operations)).toThrow(`core.management.v1.ManagementService/${rpc}`)
  })
})

/** The management service with another path for ReactivateProject. */
function withPath(path: string, body = "*") {
  const operations = operationsWith("ReactivateProject", ({ options }) => {
    if (!options) throw new Error("no options")
    const pattern = { case: "post", value: path } as const
    setExtension(options, http, create(HttpRuleSchema, { pattern, body }))
  })
  return () => createRestRoutes(startWith(operations), { bare: [] })
}

describe("the start rejects a path that", () => {
  test("belongs to another operation, naming both", () => {
    const mount = withPath("/projects/{id}/_deactivate")
    expect(mount).toThrow(/have the same path POST/)
    expect(mount).toThrow("core.management.v1.ManagementService/DeactivateProject")
    expect(mount).toThrow("core.management.v1.ManagementService/ReactivateProject")
  })

  test("has a field that the request lacks", () => {
    expect(withPath("/projects/{name}/_reactivate")).toThrow(/the path names the field "name"/)
  })

  test("has an unsupported form", () => {
    expect(withPath("/projects/{id=**}/_reactivate")).toThrow(
      /the path template .* is not supported/,
    )
    expect(withPath("projects")).toThrow(/the path template .* is not supported/)
  })

  test("has a body that is not a message of the request", () => {
    expect(withPath("/projects/{id}/_reactivate", "id")).toThrow(
      /the body names "id", which is not a message field/,
    )
  })

  test("is in the list of bare paths but not in the API", () => {
    const entries = startWith(withAccess(onProject))
    const row = { verb: "GET", path: "/iam", method: "core.management.v1.ManagementService/GetIAM" }
    expect(() => createRestRoutes(entries, { bare: [row] })).not.toThrow()
    expect(() => createRestRoutes(entries, { bare: [{ ...row, verb: "POST" }] })).toThrow(
      /GetIAM does not have the path POST \/iam/,
    )
    expect(() => createRestRoutes(entries, { bare: [{ ...row, path: "/ian" }] })).toThrow(
      /GetIAM does not have the path GET \/ian/,
    )
  })

  test("is an addition of Latchkey and bare", () => {
    const entries = withPathEntries("/setup/{id}")
    const method = "core.management.v1.ManagementService/ReactivateProject"
    const bare = [{ verb: "POST", path: "/setup/{id}", method }]
    const reserved = ["/setup"]
    expect(() => createRestRoutes(entries, { bare: [], reserved })).not.toThrow()
    expect(() => createRestRoutes(entries, { bare, reserved })).toThrow(
      /is below \/setup, which is reserved/,
    )
  })
})

function withPathEntries(path: string) {
  return startWith(
    operationsWith("ReactivateProject", ({ options }) => {
      const pattern = { case: "post", value: path } as const
      if (options) setExtension(options, http, create(HttpRuleSchema, { pattern, body: "*" }))
    }),
  )
}

describe("the shares of the modules", () => {
  const nothing = () => ({})
  const told = bindHandlers<Cx>()(DiagnosisService, {
    listRefusedRequests: nothing,
    listScriptRuns: nothing,
    listScriptMoments: nothing,
    tryScript: nothing,
    listTargetCalls: nothing,
    startTestSignIn: nothing,
    startProviderTest: nothing,
    getProviderTest: nothing,
  })
  const makes = { createWebKey: nothing, activateWebKey: nothing }
  const keys = bindHandlers<Cx>()(WebKeyService, { ...makes, deleteWebKey: nothing })
  const rest = bindHandlers<Cx>()(WebKeyService, { listWebKeys: nothing })

  test("cover the API, each method once", () => {
    const operations = bindServices([DiagnosisService, WebKeyService], [told, keys, rest])
    expect(operations.map(({ method }) => method.name).sort()).toEqual([
      "ActivateWebKey",
      "CreateWebKey",
      "DeleteWebKey",
      "GetProviderTest",
      "ListRefusedRequests",
      "ListScriptMoments",
      "ListScriptRuns",
      "ListTargetCalls",
      "ListWebKeys",
      "StartProviderTest",
      "StartTestSignIn",
      "TryScript",
    ])
  })

  test("must not bind a method twice", () => {
    const twice = () => bindServices([DiagnosisService, WebKeyService], [told, keys, rest, keys])
    expect(twice).toThrow("core.webkey.v2.WebKeyService/CreateWebKey is bound twice")
  })

  type Book = readonly [typeof DiagnosisService, typeof WebKeyService]
  type Takes<S extends Parameters<typeof bindServices>[1]> = S extends Parameters<
    typeof bindServices<Book, S>
  >[1]
    ? "yes"
    : "no"

  test("compile only if they cover the API", () => {
    const whole: Takes<readonly [typeof told, typeof keys, typeof rest]> = "yes"
    const part: Takes<readonly [typeof told, typeof keys]> = "no"
    expect([whole, part]).toEqual(["yes", "no"])
  })

  test("must not omit a method at start, either", () => {
    const shares: readonly [typeof told, typeof keys, typeof rest] = [
      told,
      keys,
      { ...rest, handlers: {} },
    ]
    expect(() => bindServices([DiagnosisService, WebKeyService], shares)).toThrow(
      "core.webkey.v2.WebKeyService/ListWebKeys is not bound",
    )
  })
})
