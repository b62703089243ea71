// Breaks the book on purpose, by editing its descriptors, and expects the start to refuse.
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
import { type Entry, entriesOf } from "../../src/api/dispatch.ts"
import { restRoutesOf } from "../../src/api/encoding/rest.ts"
import { join, type Operation, share } from "../../src/api/method.ts"
import { DiagnosisService } from "../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { ManagementService } from "../../src/gen/core/management/v1/management_service_pb.ts"
import { AccessSchema, access } from "../../src/gen/core/options_pb.ts"
import { WebKeyService } from "../../src/gen/core/webkey/v2/webkey_service_pb.ts"
import { http } from "../../src/gen/google/api/annotations_pb.ts"
import { HttpRuleSchema } from "../../src/gen/google/api/http_pb.ts"
import { authority, type Cx, worldOf } from "../api/world.ts"

const file = ManagementService.file

type Rule = MessageInitShape<typeof AccessSchema>

/** The operations of the management service after one of its methods was changed. */
function planted(rpc: string, change: (method: MethodDescriptorProto) => void) {
  const bytes = toBinary(FileDescriptorProtoSchema, file.proto)
  const proto: FileDescriptorProto = fromBinary(FileDescriptorProtoSchema, bytes)
  const method = proto.service[0]?.method.find(({ name }) => name === rpc)
  if (!method) throw new Error(`no ${rpc}`)
  change(method)
  const dependencies = new Map(
    reach(file.dependencies).map((each): [string, DescFile] => [`${each.name}.proto`, each]),
  )
  const registry = createFileRegistry(proto, (name) => dependencies.get(name))
  const service = registry.getService(ManagementService.typeName)
  if (!service) throw new Error("no service")
  return service.methods.map((each): Operation<Cx> => ({ method: each, handler: () => ({}) }))
}

function reach(files: readonly DescFile[]): readonly DescFile[] {
  return files.flatMap((each) => [each, ...reach(each.dependencies)])
}

function start(operations: readonly Operation<Cx>[]): readonly Entry[] {
  const { clock, ids } = worldParts
  const hooks: [] = []
  const authenticate = async () => {
    throw new Error("nobody calls")
  }
  return entriesOf<Cx>({ operations, authority, authenticate, hooks, clock, ids })
}

const worldParts = { clock: worldOf().clock, ids: { next: () => "1", newest: () => 0 } }

function withAccess(rule: Rule | undefined) {
  return planted("DeactivateProject", (method) => {
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

describe("the start refuses, naming the method,", () => {
  const refused: Readonly<Record<string, [Rule | undefined, RegExp]>> = {
    "a method without an access rule": [undefined, /it has no access rule/],
    "an empty rule": [{}, /say exactly one of/],
    "two kinds of rule": [{ ...onProject, public: true }, /say exactly one of/],
    "a public method with an id": [{ public: true, id: "id" }, /belong to a permission/],
    "an unknown resource": [{ ...onProject, resource: "castle" }, /"castle", which does not exist/],
    "a field that does not exist": [{ ...onProject, id: "project_id" }, /field "project_id"/],
    "a parent that does not exist": [{ ...onProject, parent: "org" }, /a field "org"/],
    "a field below a text": [{ ...onProject, id: "id.more" }, /a field "id.more"/],
    "a resource without an id": [{ ...onProject, id: "" }, /needs an id/],
    "a search with an id": [{ ...onProject, search: true }, /a search names no resource/],
    "the context as a project": [{ ...onProject, id: "@org" }, /names an organisation/],
    "a change that says nothing of rank": [{ ...onProject, rankless: "" }, /whom it touches/],
    "a change that says both": [{ ...onProject, rank: "roles" }, /whom it touches/],
    "a rank that does not exist": [{ ...ranked, rank: "king" }, /"king" does not exist/],
    "a rank of users on a project": [{ ...ranked, rank: "user" }, /"user" is of a resource "user"/],
    "a rank of organisations on a project": [
      { ...ranked, rank: "org" },
      /"org" is of a resource "org"/,
    ],
    "a fresh sign-in of no user": [{ ...onProject, fresh: true }, /who acts on themself/],
    "a proof that does not exist": [{ ...ranked, proof: ["code"] }, /a field "code"/],
    "a proof without a rank": [{ ...onProject, proof: ["id"] }, /belongs to a rank/],
    "what is only for oneself, of a rank": [
      { authenticated: "no data of others", rank: "roles" },
      /whom it touches/,
    ],
    "a choice between rules without ids": [
      { either: [create(AccessSchema, { permission: "iam.write", resource: "instance" })] },
      /needs an id, which decides/,
    ],
    "a choice that holds a choice": [
      { either: [create(AccessSchema, { either: [create(AccessSchema, onProject)] })] },
      /needs a permission, and nothing else/,
    ],
  }
  for (const [name, [rule, why]] of Object.entries(refused)) {
    test(name, () => {
      const operations = withAccess(rule)
      expect(() => start(operations)).toThrow(why)
      expect(() => start(operations)).toThrow(
        "core.management.v1.ManagementService/DeactivateProject",
      )
    })
  }

  test("a reading that has a rank", () => {
    const operations = planted("GetProjectByID", ({ options }) => {
      if (options) setExtension(options, access, create(AccessSchema, ranked))
    })
    expect(() => start(operations)).toThrow(/GetProjectByID: it changes nothing/)
  })

  test("and accepts the same method with its rule", () => {
    expect(start(withAccess(onProject)).length).toBe(ManagementService.methods.length)
  })
})

describe("the start refuses, naming it,", () => {
  const marked = (deprecated: boolean, rpc: string) =>
    planted(rpc, ({ options }) => {
      if (options) options.deprecated = deprecated
    })

  test.each([
    ["a deprecated operation without a successor", true, "ListProjectChanges"],
    ["a successor of one that is not deprecated", false, "ListGrantedProjects"],
  ])("%s", (_, deprecated, rpc) => {
    const operations = marked(deprecated, rpc)
    expect(() => start(operations)).toThrow(/names a successor/)
    expect(() => start(operations)).toThrow(`core.management.v1.ManagementService/${rpc}`)
  })
})

/** The management service with another path for ReactivateProject. */
function withPath(path: string, body = "*") {
  const operations = planted("ReactivateProject", ({ options }) => {
    if (!options) throw new Error("no options")
    const pattern = { case: "post", value: path } as const
    setExtension(options, http, create(HttpRuleSchema, { pattern, body }))
  })
  return () => restRoutesOf(start(operations), { bare: [] })
}

describe("the start refuses a path that", () => {
  test("another operation has, naming both", () => {
    const mount = withPath("/projects/{id}/_deactivate")
    expect(mount).toThrow(/share the path POST/)
    expect(mount).toThrow("core.management.v1.ManagementService/DeactivateProject")
    expect(mount).toThrow("core.management.v1.ManagementService/ReactivateProject")
  })

  test("has a field that the request does not", () => {
    expect(withPath("/projects/{name}/_reactivate")).toThrow(/a field "name"/)
  })

  test("is not of a form that is served", () => {
    expect(withPath("/projects/{id=**}/_reactivate")).toThrow(/not of a form/)
    expect(withPath("projects")).toThrow(/not of a form/)
  })

  test("has a body that is no message of the request", () => {
    expect(withPath("/projects/{id}/_reactivate", "id")).toThrow(/its body names "id"/)
  })

  test("stands in the list of bare paths, but nowhere in the book", () => {
    const entries = start(withAccess(onProject))
    const row = { verb: "GET", path: "/iam", method: "core.management.v1.ManagementService/GetIAM" }
    expect(() => restRoutesOf(entries, { bare: [row] })).not.toThrow()
    expect(() => restRoutesOf(entries, { bare: [{ ...row, verb: "POST" }] })).toThrow(
      /not at the bare path POST/,
    )
    expect(() => restRoutesOf(entries, { bare: [{ ...row, path: "/ian" }] })).toThrow(
      /not at the bare path/,
    )
  })

  test("is one of our own, once it answers bare", () => {
    const entries = withPathEntries("/setup/{id}")
    const method = "core.management.v1.ManagementService/ReactivateProject"
    const bare = [{ verb: "POST", path: "/setup/{id}", method }]
    const reserved = ["/setup"]
    expect(() => restRoutesOf(entries, { bare: [], reserved })).not.toThrow()
    expect(() => restRoutesOf(entries, { bare, reserved })).toThrow(
      /lies below \/setup, which is our own/,
    )
  })
})

function withPathEntries(path: string) {
  return start(
    planted("ReactivateProject", ({ options }) => {
      const pattern = { case: "post", value: path } as const
      if (options) setExtension(options, http, create(HttpRuleSchema, { pattern, body: "*" }))
    }),
  )
}

describe("the shares of the modules", () => {
  const nothing = () => ({})
  const told = share<Cx>()(DiagnosisService, {
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
  const keys = share<Cx>()(WebKeyService, { ...makes, deleteWebKey: nothing })
  const rest = share<Cx>()(WebKeyService, { listWebKeys: nothing })

  test("cover the book, each method once", () => {
    const operations = join([DiagnosisService, WebKeyService], [told, keys, rest])
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

  test("may not bind a method twice", () => {
    const twice = () => join([DiagnosisService, WebKeyService], [told, keys, rest, keys])
    expect(twice).toThrow("core.webkey.v2.WebKeyService/CreateWebKey is bound twice")
  })

  type Book = readonly [typeof DiagnosisService, typeof WebKeyService]
  type Takes<S extends Parameters<typeof join>[1]> = S extends Parameters<typeof join<Book, S>>[1]
    ? "yes"
    : "no"

  test("compile only where they cover the book", () => {
    const whole: Takes<readonly [typeof told, typeof keys, typeof rest]> = "yes"
    const part: Takes<readonly [typeof told, typeof keys]> = "no"
    expect([whole, part]).toEqual(["yes", "no"])
  })

  test("may not leave a method out at start either", () => {
    const shares: readonly [typeof told, typeof keys, typeof rest] = [
      told,
      keys,
      { ...rest, handlers: {} },
    ]
    expect(() => join([DiagnosisService, WebKeyService], shares)).toThrow(
      "nobody binds core.webkey.v2.WebKeyService/ListWebKeys",
    )
  })
})
