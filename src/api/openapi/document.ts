import type { DescMessage, DescMethod } from "@bufbuild/protobuf"
import { FileSchema } from "../../gen/core/asset/v1/asset_service_pb.ts"
import type { Entry } from "../dispatch.ts"
import { barePaths } from "../encoding/bare-paths.ts"
import { bindingsOf } from "../encoding/rest.ts"
import { templateOf } from "../encoding/template.ts"
import { statusOf } from "../faults.ts"
import { fieldsOf } from "../input/field.ts"
import { answerExample, requestExample, valueExample } from "./example.ts"
import { ruleOf } from "./failure.ts"
import { about, content, explained, failuresIn, securitySchemes, servers } from "./operation.ts"
import { demandsOf } from "./rule.ts"
import { parametersOf, type Schemas, schemasOf } from "./schema.ts"

type Json = Readonly<Record<string, unknown>>

/**
 * The description of the REST interface, OpenAPI 3.0.3, made from what answers: every path of every
 * operation. The interface wants its version to be 0.0.1 and its title to be empty.
 */
export function openApiOf(entries: readonly Entry[]) {
  const bound = entries.flatMap((entry) => bindingsIn(entry).slice(0, 1))
  const captured = new Map(bound.map(({ entry, path }) => [entry.method.input, capturedIn(path)]))
  const schemas = schemasOf({
    inPath: (request) => captured.get(request) ?? [],
    kept: ["Status"],
    requests: new Set(bound.map(({ entry }) => entry.method.input)),
    answers: bound.map(({ entry }) => entry.method.output),
    plain: new Set(
      bound
        .filter(({ isBare }) => isBare)
        .flatMap(({ entry: { method } }) => [method.input, method.output]),
    ),
  })
  const paths: Record<string, Json> = {}
  for (const binding of bound) {
    const spelled = spelledPath(binding.path)
    const operation = operationOf(schemas, binding)
    paths[spelled] = { ...paths[spelled], [binding.verb]: operation }
  }
  const tags = [...new Set(bound.map(tagOf))].sort()
  return {
    openapi: "3.0.3",
    info: { title: "", version: "0.0.1", description, ...about },
    servers,
    tags: tags.map((name) => ({ name, description: `Operations on ${lowered(name)}.` })),
    paths,
    components: { schemas: { ...schemas.all(), Status }, securitySchemes, parameters },
    security: [{ bearer: [] }],
  }
}

const description =
  "The REST interface of version 1. Version 2 is reached through gRPC, gRPC-Web and Connect; " +
  "a gRPC client learns it by reflection, and /openapi/v2/json describes its Connect JSON form."

const parameters = {
  Organization: {
    name: "x-core-orgid",
    in: "header",
    schema: { type: "string" },
    description: "The organization that the call is about; without it, the caller's own.",
  },
}

/** google.rpc.Status, the body of every failure. */
const Status = {
  type: "object",
  properties: {
    code: { type: "integer", format: "int32", description: "A status code of gRPC." },
    message: { type: "string", description: "What went wrong, and what to do about it." },
    details: {
      type: "array",
      items: {
        type: "object",
        properties: { "@type": { type: "string" } },
        additionalProperties: true,
      },
    },
  },
}

type Binding = {
  readonly entry: Entry
  readonly verb: string
  readonly path: string
  /** Its path without the prefix of its family. */
  readonly rule: string
  readonly body: string
  /** A row of the interface, whose names are plain. */
  readonly isBare: boolean
  /** The other paths of the operation, each with its verb. */
  readonly aliases: readonly string[]
}

/** Where an operation answers: first the path that the interface names. */
function bindingsIn(entry: Entry): readonly Binding[] {
  const all = bindingsOf(entry.method)
  const bare = all.filter(({ verb, rule }) =>
    barePaths.some((row) => row.method === entry.name && row.verb === verb && row.path === rule),
  )
  const named = bare.map((each) => ({ ...each, path: each.rule }))
  const ways = [...named, ...all]
  const aliases = ways.slice(1).map(({ verb, path }) => `${verb} ${spelledPath(path)}`)
  return ways.map(({ verb, path, rule, body }, at) => {
    const isBare = at < named.length
    return { entry, verb: verb.toLowerCase(), path, rule, body, isBare, aliases }
  })
}

/** The fields that a path fills. */
const capturedIn = (path: string): readonly string[] =>
  (templateOf(path) ?? []).flatMap((part) => (part.kind === "literal" ? [] : [part.field]))

/** The resource that an operation is about, by the first part of its path. */
function tagOf({ rule }: Pick<Binding, "rule">): string {
  const [, first = "", second = ""] = rule.split("/")
  const part = first === "global" ? second : first
  if (part === "" || part.startsWith("{")) return "Web keys"
  const name = resourceNames[part] ?? part.replaceAll("_", " ")
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`
}

/** Within a sentence; names such as SMS stay. */
const lowered = (name: string): string =>
  name.replace(/^[A-Z](?![A-Z])/, (letter) => letter.toLowerCase())

/** Of paths whose first part is no name of a resource. */
const resourceNames: Readonly<Record<string, string>> = {
  aggregates: "events",
  core: "instances",
  failedevents: "failed events",
  healthz: "health",
  iam: "instances",
  idps: "identity providers",
  instance: "instances",
  email: "email providers",
  notification: "notification providers",
  org: "organizations",
  orgs: "organizations",
  projectorgs: "organizations",
  secretgenerators: "secret generators",
  sms: "SMS providers",
  smtp: "email providers",
  text: "texts",
}

/** "/projects/{project_id}/roles/{role_key=**}" as OpenAPI spells it. */
function spelledPath(path: string): string {
  const parts = (templateOf(path) ?? []).map((part) =>
    part.kind === "literal" ? part.text : `{${camel(part.field)}}`,
  )
  return `/${parts.join("/")}`
}

const camel = (path: string) => path.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

function operationOf(schemas: Schemas, binding: Binding): Json {
  const { entry, path, body } = binding
  const { method } = entry
  const { input, output, parent, name } = method
  const captured = capturedIn(path)
  const inQuery = body === "*" ? [] : parametersOf(schemas, input, [...captured, body])
  const inHeader = isOfOrganization(method)
    ? [{ $ref: "#/components/parameters/Organization" }]
    : []
  const status = { $ref: "#/components/schemas/Status" }
  return {
    operationId: `${parent.name}_${name}`,
    tags: [tagOf(binding)],
    ...explained(method, alsoAt(binding)),
    parameters: [...captured.map((each) => inPath(schemas, input, each)), ...inQuery, ...inHeader],
    ...bodyOf(schemas, input, binding),
    responses: {
      200: {
        description: "The call succeeded.",
        ...(output === FileSchema ? file : content(schemas.refTo(output), answerExample(output))),
      },
      ...failuresIn(method, status, statusOf),
      default: { description: "The call failed.", ...content(status) },
    },
    ...(ruleOf(method).public ? { security: [] } : {}),
  }
}

const alsoAt = ({ aliases }: Binding): string =>
  aliases.length > 0 ? `Also at ${aliases.join(", ")}.` : ""

const isOfOrganization = ({ parent, name }: DescMethod) =>
  parent.name === "ManagementService" || /OrgFile$/.test(name)

function inPath(schemas: Schemas, input: DescMessage, path: string): Json {
  const field = fieldsOf(input, path)?.at(-1)
  const schema = field ? schemas.typeOf(field) : { type: "string" }
  const example = field ? valueExample(field) : "text"
  return { name: camel(path), in: "path", required: true, schema, example }
}

function bodyOf(schemas: Schemas, input: DescMessage, { body, verb, path }: Binding): Json {
  if (body === "") return {}
  const message = body === "*" ? input : input.fields.find(({ name }) => name === body)?.message
  if (!message) return {}
  const inPath = body === "*" ? capturedIn(path) : []
  // Of some whole requests every field may be left out; what is but a part of a request is what it
  // is about. The interface requires a body wherever DELETE has one.
  const isNeeded = body !== "*" || verb === "delete" || hasDemands(input, inPath)
  const required = isNeeded ? { required: true } : {}
  const sent =
    message === FileSchema ? form : content(schemas.refTo(message), requestExample(message, inPath))
  return { requestBody: { ...required, ...sent } }
}

const hasDemands = (input: DescMessage, inPath: readonly string[]): boolean =>
  Object.keys(demandsOf(input, inPath)).length > 0

/** A file is answered as it is, and sent as a part of a form. */
const binary = { type: "string", format: "binary" }
const file = { content: { "*/*": { schema: binary } } }
const form = {
  content: {
    "multipart/form-data": {
      schema: { type: "object", properties: { file: binary }, required: ["file"] },
    },
  },
}
