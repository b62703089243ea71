import type { DescMessage, DescMethod } from "@bufbuild/protobuf"
import { swagger } from "@elysiajs/swagger"
import { FileSchema } from "../../gen/core/asset/v1/asset_service_pb.ts"
import type { Entry } from "../dispatch.ts"
import { type RestRoute, restRoutesOf } from "../encoding/rest.ts"
import { statusOf } from "../faults.ts"
import { fieldsOf } from "../input/field.ts"
import { restRoot } from "../routes.ts"
import { answerExample, requestExample, valueExample } from "./example.ts"
import { ruleOf } from "./failure.ts"
import { about, content, explained, failuresIn, securitySchemes, servers } from "./operation.ts"
import type { Described } from "./page.ts"
import { demandsOf } from "./rule.ts"
import { parametersOf, type Schemas, schemasOf } from "./schema.ts"

type Json = Readonly<Record<string, unknown>>

/**
 * The description of the REST interface, OpenAPI 3.0.3, by @elysiajs/swagger from the routes that
 * the server has. The interface wants its version to be 0.0.1 and its title to be empty.
 */
export async function openApiOf(entries: readonly Entry[]): Promise<Described> {
  const bound = bindingsIn(entries)
  const schemas = schemasIn(bound)
  const details = new Map(
    bound.map((binding) => [binding.route, operationOf(schemas, binding)] as const),
  )
  const root = restRoot(
    bound.flatMap(({ route, others }) => [route, ...others]),
    (route) => ({ path: spelledPath(route), detail: details.get(route) ?? { hide: true } }),
  )
  const tags = [...new Set(bound.map(({ route }) => tagOf(route)))].sort()
  const documentation = {
    info: { title: "", version: "0.0.1", description, ...about },
    servers,
    tags: tags.map((name) => ({ name, description: `Operations on ${lowered(name)}.` })),
    // The plugin fills it in here.
    paths: {},
    components: { schemas: { ...schemas.all(), Status }, securitySchemes, parameters },
    security: [{ bearer: [] }],
  }
  root.use(swagger({ path: "/openapi", excludeStaticFile: false, documentation }))
  // Elysia loses the path of hosts with fewer than four letters.
  const answer = await root.handle(new Request("http://localhost/openapi/json"))
  // Of `info` the plugin changes the order.
  return { ...(await answer.json()), info: documentation.info }
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
} as const

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
} as const

/** Where an operation is described. */
type Binding = {
  /** The path that the interface names, else the first of its family. */
  readonly route: RestRoute
  /** The other paths of the operation. */
  readonly others: readonly RestRoute[]
}

function bindingsIn(entries: readonly Entry[]): readonly Binding[] {
  const byEntry = Map.groupBy(restRoutesOf(entries), ({ entry }) => entry)
  return entries.flatMap((entry) => {
    const all = byEntry.get(entry) ?? []
    const ways = [...all.filter(isBare), ...all.filter((route) => !isBare(route))]
    const [route, ...others] = ways
    return route ? [{ route, others }] : []
  })
}

/** A row of the interface, whose names are plain. */
const isBare = ({ path, rule }: RestRoute): boolean => path === rule

function schemasIn(bound: readonly Binding[]): Schemas {
  const routes = bound.map(({ route }) => route)
  const captured = new Map(routes.map(({ entry, fields }) => [entry.method.input, fields]))
  return schemasOf({
    inPath: (request) => captured.get(request) ?? [],
    kept: ["Status"],
    requests: new Set(captured.keys()),
    answers: routes.map(({ entry }) => entry.method.output),
    plain: new Set(
      routes.filter(isBare).flatMap(({ entry: { method } }) => [method.input, method.output]),
    ),
  })
}

/** The resource that an operation is about, by the first part of its path. */
function tagOf({ rule }: RestRoute): string {
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
function spelledPath({ parts }: Pick<RestRoute, "parts">): string {
  const spelled = parts.map((part) =>
    part.kind === "literal" ? part.text : `{${camel(part.field)}}`,
  )
  return `/${spelled.join("/")}`
}

const camel = (path: string) => path.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

function operationOf(schemas: Schemas, { route, others }: Binding): Json {
  const { entry, fields, body } = route
  const { method } = entry
  const { input, output, parent, name } = method
  const inBody = body === "none" || body === "all" ? [] : [body.name]
  const inQuery = body === "all" ? [] : parametersOf(schemas, input, [...fields, ...inBody])
  const inHeader = isOfOrganization(method)
    ? [{ $ref: "#/components/parameters/Organization" }]
    : []
  const status = { $ref: "#/components/schemas/Status" }
  return {
    operationId: `${parent.name}_${name}`,
    tags: [tagOf(route)],
    ...explained(method, alsoAt(others)),
    parameters: [...fields.map((each) => inPath(schemas, input, each)), ...inQuery, ...inHeader],
    ...bodyOf(schemas, route),
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

const alsoAt = (others: readonly RestRoute[]): string =>
  others.length > 0
    ? `Also at ${others.map((route) => `${route.verb} ${spelledPath(route)}`).join(", ")}.`
    : ""

const isOfOrganization = ({ parent, name }: DescMethod) =>
  parent.name === "ManagementService" || /OrgFile$/.test(name)

function inPath(schemas: Schemas, input: DescMessage, path: string): Json {
  const field = fieldsOf(input, path)?.at(-1)
  const schema = field ? schemas.typeOf(field) : { type: "string" }
  const example = field ? valueExample(field) : "text"
  return { name: camel(path), in: "path", required: true, schema, example }
}

function bodyOf(schemas: Schemas, { entry, fields, body, verb }: RestRoute): Json {
  if (body === "none") return {}
  const { input } = entry.method
  const message = body === "all" ? input : body.message
  if (!message) return {}
  const inPath = body === "all" ? fields : []
  // Of some whole requests every field may be left out; what is but a part of a request is what it
  // is about. The interface requires a body wherever DELETE has one.
  const isNeeded = body !== "all" || verb === "DELETE" || hasDemands(input, inPath)
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
