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
import { bodyOf, mediaTypeOf, wrongTypeError } from "../input/body.ts"
import { decodeJson } from "../input/decode.ts"
import { fieldsOf } from "../input/field.ts"
import { fileIn } from "../input/file.ts"
import { nameOf } from "../method.ts"
import { fileHeaders, respond, respondFault } from "../respond.ts"
import { barePaths, prefixes } from "./bare-paths.ts"
import { decodeParameters } from "./query.ts"
import { type Part, patternOf, templateOf } from "./template.ts"

/** Where an operation is called by REST, and where its fields come from. */
export type RestRoute = {
  readonly entry: Entry
  readonly verb: string
  /** Its path, as a template of google.api.http. */
  readonly path: string
  /** The same without the prefix of its family; equal to it at a bare path. */
  readonly rule: string
  readonly parts: readonly Part[]
  /** The same for Elysia. */
  readonly pattern: string
  /** The fields that the path fills, in order. */
  readonly fields: readonly string[]
  /** "all": the body is the request. A field: the body is its value. */
  readonly body: "none" | "all" | DescField
}

/**
 * Where operations are called by REST: below their family's prefix, and bare where the list of bare
 * paths says so. Refuses, naming the operations: two at one path, a path that is `reserved` for the
 * server itself, a template that is not served, a field that does not exist.
 */
export function restRoutesOf(
  entries: readonly Entry[],
  { bare = barePaths, reserved = [] }: RestOptions = {},
): readonly RestRoute[] {
  const routes = new Map<string, RestRoute>()
  const add = (route: RestRoute) => {
    const { verb, pattern, path, entry } = route
    const own = reserved.find((each) => path === each || path.startsWith(`${each}/`))
    if (own) throw new Error(`${entry.name}: the path ${path} lies below ${own}, which is our own`)
    const place = `${verb} ${pattern}`
    const taken = routes.get(place)?.entry.name
    if (taken) throw new Error(`${entry.name} and ${taken} share the path ${verb} ${path}`)
    routes.set(place, route)
  }
  const byName = new Map(entries.map((entry) => [entry.name, entry]))
  for (const entry of entries) {
    for (const rule of rulesOf(entry)) add(restRoute(entry, rule, prefixOf(entry.method)))
  }
  for (const row of bare) {
    const entry = byName.get(row.method)
    const rule = entry && rulesOf(entry).find((each) => isAt(each, row))
    if (!rule) throw new Error(`${row.method} is not at the bare path ${row.verb} ${row.path}`)
    add(restRoute(entry, rule, ""))
  }
  return [...routes.values()]
}

type RestOptions = {
  readonly bare?: typeof barePaths
  readonly reserved?: readonly string[]
}

/** Where an operation answers below its family's prefix, and there what its body is. */
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

function restRoute(entry: Entry, rule: HttpRule, prefix: string): RestRoute {
  const { case: verb, value } = rule.pattern
  if (!verb || verb === "custom") throw new Error(`${entry.name} has a path with no usual verb`)
  const path = pathAt(prefix, value)
  const parts = value.startsWith("/") ? templateOf(path) : undefined
  if (!parts) throw new Error(`${entry.name}: the path ${path} is not of a form that is served`)
  const fields = fieldsFrom(entry, parts, rule.body)
  const pattern = patternOf(parts)
  return { ...fields, verb: verb.toUpperCase(), path, rule: value, pattern, parts }
}

function fieldsFrom(entry: Entry, parts: readonly Part[], body: string) {
  const { input } = entry.method
  const fields = parts.flatMap((part) => (part.kind === "literal" ? [] : [part.field]))
  const missing = fields.find((field) => !fieldsOf(input, field))
  if (missing) throw new Error(`${entry.name}: its path names a field "${missing}", not there`)
  if (body === "") return { entry, fields, body: "none" } as const
  if (body === "*") return { entry, fields, body: "all" } as const
  const field = input.fields.find(({ name }) => name === body)
  const isOne = field?.fieldKind === "message" && !field.oneof
  if (!field || !(isOne || (field.fieldKind === "list" && field.message))) {
    throw new Error(`${entry.name}: its body names "${body}", which is no message of the request`)
  }
  return { entry, fields, body: field }
}

/** RFC 9110 §15.5.6, in words. */
export function wrongMethod(verbs: readonly string[], allowed: readonly string[]): Response {
  const message = `this path takes ${verbs.join(", ")}`
  const fault = new Fault("unimplemented", "request.method_wrong", message)
  return respondFault(fault, { allow: allowed.join(", ") })
}

export type RestCall = {
  readonly request: Request
  readonly url: URL
  readonly address: string
  /** What fills the fields of the path, in order. */
  readonly captured: readonly string[]
}

/** Answers a call of the operation at a route. */
export async function answerRest(route: RestRoute, given: RestCall): Promise<Response> {
  const { request, address, url } = given
  const { entry } = route
  const target = { method: request.method, path: url.pathname }
  const arrival = { headers: request.headers, address, encoding: "rest" as const, target }
  const { headers, result } = await entry.call(arrival, {
    decode: (bytesMax) => decode(route, given, bytesMax),
    encode: (message) => encoded(entry.method, message),
  })
  if (!result.ok) return respondFault(result.fault, headers)
  return respond(result.value.body, { ...headers, ...result.value.headers })
}

/** A file as it is, and anything else as JSON. */
function encoded({ output }: DescMethod, message: Message): Encoded {
  return isMessage(message, FileSchema)
    ? { body: new Uint8Array(message.data), headers: fileHeaders(message.contentType) }
    : { body: JSON.stringify(toJson(output, message)), headers: {} }
}

type Encoded = {
  readonly body: string | Uint8Array<ArrayBuffer>
  readonly headers: Readonly<Record<string, string>>
}

async function decode(
  route: RestRoute,
  { request, url, captured }: RestCall,
  bytesMax: number,
): Promise<Message> {
  const { input } = route.entry.method
  const isFile = route.body !== "none" && route.body !== "all" && route.body.message === FileSchema
  const file = isFile && (await fileIn(request, bytesMax))
  const body = file ? emptyObject : await jsonBodyOf(request, bytesMax)
  const path = route.fields.map((field, at) => [field, captured[at] ?? ""] as const)
  if (route.body === "all") {
    refuseParameters(url)
    const message = decodeJson(input, body)
    // The path says what the call is about; a body that says otherwise does not count.
    merge(input, message, decodeParameters(input, path))
    return message
  }
  const message = decodeParameters(input, [...path, ...url.searchParams])
  if (file && isFile) Reflect.set(message, route.body.localName, create(FileSchema, { data: file }))
  else if (route.body !== "none") setBody(message, route.body, body)
  else if (!isEmptyObject(body)) throw noBodyError()
  return message
}

/** The bytes of the body; those of an empty object where it is blank. */
async function jsonBodyOf(request: Request, bytesMax: number): Promise<Uint8Array> {
  const type = mediaTypeOf(request.headers)
  const bytes = await bodyOf(request, bytesMax)
  // A body of nothing has no type that could be wrong.
  if (bytes.length > 0 && type !== "" && type !== "application/json") {
    throw wrongTypeError("application/json")
  }
  return bytes.every(isBlank) ? emptyObject : bytes
}

const isBlank = (byte: number) => byte <= 0x20
const emptyObject = Buffer.from("{}")

function setBody(message: Message, field: DescField, body: Uint8Array): void {
  if (!field.message || body === emptyObject) return
  const value = field.fieldKind === "list" ? listIn(field, body) : decodeJson(field.message, body)
  Reflect.set(message, field.localName, value)
}

/** A body that is a list, or the one item of it that the interface names; {} is an empty list. */
function listIn({ parent, name, localName, message }: DescField, body: Uint8Array): unknown {
  if (isEmptyObject(body)) return []
  const isList = body.find((byte) => !isBlank(byte)) === "[".charCodeAt(0)
  if (!isList) return message ? [decodeJson(message, body)] : []
  // As a part of its message; of what else such a body may say nothing is taken.
  const parts = [Buffer.from(`{"${name}":`), body, Buffer.from("}")]
  return Reflect.get(decodeJson(parent, Buffer.concat(parts)), localName)
}

const isEmptyObject = (body: Uint8Array): boolean =>
  emptyObject.equals(body.filter((byte) => !isBlank(byte)))
function refuseParameters({ searchParams }: URL): void {
  if (searchParams.size === 0) return
  throw new Fault(
    "invalid_argument",
    "request.parameters_unexpected",
    "this takes its fields from the body, not from the address",
  )
}

const noBodyError = () =>
  new Fault(
    "invalid_argument",
    "request.body_unexpected",
    "this takes its fields from the address; leave the body empty or send {}",
  )
