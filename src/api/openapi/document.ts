import { type DescMessage, type DescMethod, getOption } from "@bufbuild/protobuf"
import { FileSchema } from "../../gen/core/asset/v1/asset_service_pb.ts"
import { type Access, access, successor } from "../../gen/core/options_pb.ts"
import type { Entry } from "../dispatch.ts"
import { barePaths } from "../encoding/bare-paths.ts"
import { bindingsOf } from "../encoding/rest.ts"
import { templateOf } from "../encoding/template.ts"
import { fieldsOf } from "../field.ts"
import { parametersOf, type Schemas, schemasOf } from "./schema.ts"

type Json = Readonly<Record<string, unknown>>

/**
 * The description of the REST interface, OpenAPI 3.0.3, made from what answers: every path of every
 * operation. The interface wants its version to be 0.0.1 and its title to be empty.
 */
export function openApiOf(entries: readonly Entry[]) {
  const bound = entries.flatMap((entry) => bindingsIn(entry).map((at) => ({ ...at, entry })))
  const messagesOf = ({ entry: { method } }: (typeof bound)[number]) => [
    method.input,
    method.output,
  ]
  const schemas = schemasOf(
    bound.flatMap(messagesOf),
    new Set(bound.filter(({ isBare }) => isBare).flatMap(messagesOf)),
  )
  const paths: Record<string, Json> = {}
  for (const { path, verb, body, entry, count } of bound) {
    const spelled = spelledPath(path)
    const operation = operationOf(schemas, entry.method, { path, verb, body, count })
    paths[spelled] = { ...paths[spelled], [verb]: operation }
  }
  const tags = [...new Set(bound.map(({ entry }) => entry.method.parent.name))].sort()
  return {
    info: { title: "", version: "0.0.1", description },
    tags: tags.map((name) => ({ name })),
    paths,
    components: { schemas: { ...schemas.all(), Status }, securitySchemes, parameters },
    security: [{ bearer: [] }],
  }
}

const description =
  "The REST interface of version 1. Version 2 is reached through gRPC, gRPC-Web and Connect; " +
  "a gRPC client learns it by reflection."

const securitySchemes = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description: "An access token with the project of this service in its audience.",
  },
}

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
  readonly verb: string
  readonly path: string
  readonly body: string
  /** A row of the interface, whose names are plain. */
  readonly isBare: boolean
  /** How many of its operation stand before it. */
  readonly count: number
}

/** Where an operation answers: first the path that the interface names, which has its plain id. */
function bindingsIn({ method, name }: Entry): readonly Binding[] {
  const all = bindingsOf(method)
  const bare = all.filter(({ verb, rule }) =>
    barePaths.some((row) => row.method === name && row.verb === verb && row.path === rule),
  )
  const named = bare.map(({ verb, rule, body }) => ({ verb, path: rule, body }))
  return [...named, ...all].map(({ verb, path, body }, count) => {
    return { verb: verb.toLowerCase(), path, body, count, isBare: count < named.length }
  })
}

/** "/projects/{project_id}/roles/{role_key=**}" as OpenAPI spells it. */
function spelledPath(path: string): string {
  const parts = (templateOf(path) ?? []).map((part) =>
    part.kind === "literal" ? part.text : `{${camel(part.field)}}`,
  )
  return `/${parts.join("/")}`
}

const camel = (path: string) => path.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

function operationOf(
  schemas: Schemas,
  method: DescMethod,
  { path, verb, body, count }: Omit<Binding, "isBare">,
): Json {
  const { input, output, parent, name } = method
  const id = `${parent.name}_${name}`
  const captured = (templateOf(path) ?? []).flatMap((part) =>
    part.kind === "literal" ? [] : [part.field],
  )
  const inQuery = body === "*" ? [] : parametersOf(schemas, input, [...captured, body])
  const inHeader = isOfOrganization(method)
    ? [{ $ref: "#/components/parameters/Organization" }]
    : []
  const rule = getOption(method, access)
  return {
    operationId: count === 0 ? id : `${id}_${count + 1}`,
    tags: [parent.name],
    ...explained(method, rule),
    parameters: [...captured.map((each) => inPath(schemas, input, each)), ...inQuery, ...inHeader],
    ...bodyOf(schemas, input, { body, verb }),
    responses: {
      200: {
        description: "Done.",
        ...(output === FileSchema ? file : content(schemas.refTo(output))),
      },
      default: { description: "It failed.", ...content({ $ref: "#/components/schemas/Status" }) },
    },
    ...(rule.public ? { security: [] } : {}),
  }
}

const isOfOrganization = ({ parent, name }: DescMethod) =>
  parent.name === "ManagementService" || /OrgFile$/.test(name)

function inPath(schemas: Schemas, input: DescMessage, path: string): Json {
  const field = fieldsOf(input, path)?.at(-1)
  const schema = field ? schemas.typeOf(field) : { type: "string" }
  return { name: camel(path), in: "path", required: true, schema }
}

function bodyOf(
  schemas: Schemas,
  input: DescMessage,
  { body, verb }: Pick<Binding, "body" | "verb">,
): Json {
  if (body === "") return {}
  const message = body === "*" ? input : input.fields.find(({ name }) => name === body)?.message
  if (!message) return {}
  // Of a whole request every field may be left out; what is but a part of it is what it is about.
  // The interface requires a body wherever DELETE has one.
  const required = body === "*" && verb !== "delete" ? {} : { required: true }
  const sent = message === FileSchema ? form : content(schemas.refTo(message))
  return { requestBody: { ...required, ...sent } }
}

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

const content = (schema: Json) => ({ content: { "application/json": { schema } } })

/** Whom it is open to, and what to use instead of what is deprecated. */
function explained(method: DescMethod, rule: Access): Json {
  const next = method.deprecated ? getOption(method, successor) : undefined
  const instead = next ? `Use ${next.method} instead: ${next.how}` : ""
  const words = [instead, whoMay(rule)].filter((each) => each !== "").join("\n\n")
  return {
    ...(words ? { description: words } : {}),
    ...(method.deprecated ? { deprecated: true } : {}),
  }
}

function whoMay(rule: Access): string {
  if (rule.public) return "Open to everybody."
  if (rule.authenticated) return "Open to every caller with a token."
  const permissions = [rule, ...rule.either].map(({ permission }) => permission).filter(Boolean)
  if (permissions.length > 0) return `Needs the permission ${permissions.join(" or ")}.`
  return rule.system ? `Needs ${rule.system}, as a caller of the system.` : ""
}
