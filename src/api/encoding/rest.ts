import {
  create,
  type DescField,
  type DescMethod,
  getOption,
  hasOption,
  isMessage,
  type Message,
  merge,
  toJson,
} from "@bufbuild/protobuf"
import { FileSchema } from "../../gen/core/asset/v1/asset_service_pb.ts"
import { http } from "../../gen/google/api/annotations_pb.ts"
import type { HttpRule } from "../../gen/google/api/http_pb.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Entry } from "../dispatch.ts"
import { mediaTypeOf, readBody, wrongTypeError } from "../input/body.ts"
import { decodeJson } from "../input/decode.ts"
import { fieldsOf } from "../input/field.ts"
import { readFormFile } from "../input/file.ts"
import { nameOf } from "../method.ts"
import { fileHeaders, respond, respondFault } from "../respond.ts"
import { barePaths, prefixes } from "./bare-paths.ts"
import { decodeParameters } from "./query.ts"
import { parseTemplate, patternOf, type TemplatePart } from "./template.ts"

/** A REST route of an operation and the sources of its fields. */
export type RestRoute = {
  readonly entry: Entry
  readonly verb: string
  /** The path as a google.api.http template. */
  readonly path: string
  /** The path without the prefix of its API; the same as `path` for a path without a prefix. */
  readonly rule: string
  readonly parts: readonly TemplatePart[]
  /** The path as an Elysia pattern. */
  readonly pattern: string
  /** The fields that the path captures, in order. */
  readonly fields: readonly string[]
  /** "all": the body is the request. A field: the body is the value of the field. */
  readonly body: "none" | "all" | DescField
}

/**
 * The REST routes of operations: below the prefix of their API, and also without it where `bare`
 * lists them. Throws, naming the operations, if two share a path, if a path is `reserved` for the
 * server itself, or if a template or field is invalid.
 */
export function createRestRoutes(
  entries: readonly Entry[],
  { bare = barePaths, reserved = [] }: RestOptions = {},
): readonly RestRoute[] {
  const routes = new Map<string, RestRoute>()
  const add = (route: RestRoute) => {
    const { verb, pattern, path, entry } = route
    const own = reserved.find((each) => path === each || path.startsWith(`${each}/`))
    if (own) throw new Error(`${entry.name}: the path ${path} is below ${own}, which is reserved`)
    const routeKey = `${verb} ${pattern}`
    const taken = routes.get(routeKey)?.entry.name
    if (taken) throw new Error(`${entry.name} and ${taken} have the same path ${verb} ${path}`)
    routes.set(routeKey, route)
  }
  const byName = new Map(entries.map((entry) => [entry.name, entry]))
  for (const entry of entries) {
    for (const rule of rulesOf(entry)) add(createRestRoute(entry, rule, prefixOf(entry.method)))
  }
  for (const row of bare) {
    const entry = byName.get(row.method)
    const rule = entry && rulesOf(entry).find((each) => isAt(each, row))
    if (!rule) throw new Error(`${row.method} does not have the path ${row.verb} ${row.path}`)
    add(createRestRoute(entry, rule, ""))
  }
  return [...routes.values()]
}

type RestOptions = {
  readonly bare?: typeof barePaths
  readonly reserved?: readonly string[]
}

/** The routes of an operation below the prefix of its API, and the body of each. */
export function bindingsOf(method: DescMethod) {
  return rulesIn(method).flatMap(({ pattern: { case: verb, value: rule }, body }) =>
    verb && verb !== "custom"
      ? [{ verb: verb.toUpperCase(), rule, path: pathAt(prefixOf(method), rule), body }]
      : [],
  )
}

const rulesOf = ({ method }: Entry) => rulesIn(method)

function rulesIn(method: DescMethod): readonly HttpRule[] {
  if (!hasOption(method, http)) return []
  const rule = getOption(method, http)
  return [rule, ...rule.additionalBindings]
}

function isAt({ pattern }: HttpRule, { verb, path }: { verb: string; path: string }): boolean {
  return pattern.case === verb.toLowerCase() && pattern.value === path
}

function prefixOf(method: DescMethod): string {
  const prefix = prefixes[method.parent.file.proto.package]
  if (prefix !== undefined) return prefix
  throw new Error(`${nameOf(method)} has a path, but its package has no prefix`)
}

const pathAt = (prefix: string, rule: string) =>
  rule === "/" && prefix ? prefix : `${prefix}${rule}`

function createRestRoute(entry: Entry, rule: HttpRule, prefix: string): RestRoute {
  const { case: verb, value } = rule.pattern
  if (!verb || verb === "custom")
    throw new Error(`${entry.name} has a path without a standard verb`)
  const path = pathAt(prefix, value)
  const parts = value.startsWith("/") ? parseTemplate(path) : undefined
  if (!parts) throw new Error(`${entry.name}: the path template ${path} is not supported`)
  const fields = fieldSourcesOf(entry, parts, rule.body)
  const pattern = patternOf(parts)
  return { ...fields, verb: verb.toUpperCase(), path, rule: value, pattern, parts }
}

function fieldSourcesOf(entry: Entry, parts: readonly TemplatePart[], body: string) {
  const { input } = entry.method
  const fields = parts.flatMap((part) => (part.kind === "literal" ? [] : [part.field]))
  const missing = fields.find((field) => !fieldsOf(input, field))
  if (missing)
    throw new Error(`${entry.name}: the path names the field "${missing}", which does not exist`)
  if (body === "") return { entry, fields, body: "none" } as const
  if (body === "*") return { entry, fields, body: "all" } as const
  const field = input.fields.find(({ name }) => name === body)
  const isOne = field?.fieldKind === "message" && !field.oneof
  if (!field || !(isOne || (field.fieldKind === "list" && field.message))) {
    throw new Error(
      `${entry.name}: the body names "${body}", which is not a message field of the request`,
    )
  }
  return { entry, fields, body: field }
}

/** The response to a wrong method, RFC 9110 §15.5.6. */
export function wrongMethodResponse(
  verbs: readonly string[],
  allowed: readonly string[],
): Response {
  const message = `this path accepts only ${verbs.join(", ")}`
  const fault = new Fault("unimplemented", "request.method_wrong", message)
  return respondFault(fault, { allow: allowed.join(", ") })
}

export type RestCall = {
  readonly request: Request
  readonly url: URL
  readonly address: string
  /** The values of the path fields, in order. */
  readonly captured: readonly string[]
}

/** Handles a call of the operation at a route. */
export async function handleRest(route: RestRoute, call: RestCall): Promise<Response> {
  const { request, address, url } = call
  const { entry } = route
  const target = { method: request.method, path: url.pathname }
  const arrival = { headers: request.headers, address, encoding: "rest" as const, target }
  const { headers, result } = await entry.call(arrival, {
    decode: (bytesMax) => decodeRequest(route, call, bytesMax),
    encode: (message) => encodeResponse(entry.method, message),
  })
  if (!result.ok) return respondFault(result.fault, headers)
  return respond(result.value.body, { ...headers, ...result.value.headers })
}

/** A file unchanged, anything else as JSON. */
function encodeResponse({ output }: DescMethod, message: Message): EncodedResponse {
  return isMessage(message, FileSchema)
    ? { body: new Uint8Array(message.data), headers: fileHeaders(message.contentType) }
    : { body: JSON.stringify(toJson(output, message)), headers: {} }
}

type EncodedResponse = {
  readonly body: string | Uint8Array<ArrayBuffer>
  readonly headers: Readonly<Record<string, string>>
}

async function decodeRequest(
  route: RestRoute,
  { request, url, captured }: RestCall,
  bytesMax: number,
): Promise<Message> {
  const { input } = route.entry.method
  const isFile = route.body !== "none" && route.body !== "all" && route.body.message === FileSchema
  const file = isFile && (await readFormFile(request, bytesMax))
  const body = file ? emptyObject : await jsonBodyOf(request, bytesMax)
  const path = route.fields.map((field, at) => [field, captured[at] ?? ""] as const)
  if (route.body === "all") {
    rejectParameters(url)
    const message = decodeJson(input, body)
    // Path fields override the same fields in the body.
    merge(input, message, decodeParameters(input, path))
    return message
  }
  const message = decodeParameters(input, [...path, ...url.searchParams])
  if (file && isFile) Reflect.set(message, route.body.localName, create(FileSchema, { data: file }))
  else if (route.body !== "none") setBody(message, route.body, body)
  else if (!isEmptyObject(body)) throw unexpectedBodyError()
  return message
}

/** The bytes of the body; an empty object if the body is blank. */
async function jsonBodyOf(request: Request, bytesMax: number): Promise<Uint8Array> {
  const type = mediaTypeOf(request.headers)
  const bytes = await readBody(request, bytesMax)
  // The content type of an empty body doesn't matter.
  if (bytes.length > 0 && type !== "" && type !== "application/json") {
    throw wrongTypeError("application/json")
  }
  return bytes.every(isBlank) ? emptyObject : bytes
}

const isBlank = (byte: number) => byte <= 0x20
const emptyObject = Buffer.from("{}")

function setBody(message: Message, field: DescField, body: Uint8Array): void {
  if (!field.message || body === emptyObject) return
  const value =
    field.fieldKind === "list" ? parseListBody(field, body) : decodeJson(field.message, body)
  Reflect.set(message, field.localName, value)
}

/** A list body, or a single item where the interface accepts one. {} is an empty list. */
function parseListBody({ parent, name, localName, message }: DescField, body: Uint8Array): unknown {
  if (isEmptyObject(body)) return []
  const isList = body.find((byte) => !isBlank(byte)) === "[".charCodeAt(0)
  if (!isList) return message ? [decodeJson(message, body)] : []
  // The body is parsed as a field of its message, so other keys in it are ignored.
  const parts = [Buffer.from(`{"${name}":`), body, Buffer.from("}")]
  return Reflect.get(decodeJson(parent, Buffer.concat(parts)), localName)
}

const isEmptyObject = (body: Uint8Array): boolean =>
  emptyObject.equals(body.filter((byte) => !isBlank(byte)))
function rejectParameters({ searchParams }: URL): void {
  if (searchParams.size === 0) return
  throw new Fault(
    "invalid_argument",
    "request.parameters_unexpected",
    "this operation takes its fields from the body, not from the URL",
  )
}

const unexpectedBodyError = () =>
  new Fault(
    "invalid_argument",
    "request.body_unexpected",
    "this operation takes its fields from the URL; leave the body empty or send {}",
  )
