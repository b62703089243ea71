import {
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
  toJson,
} from "@bufbuild/protobuf"
import type { Fault } from "../kernel/fault.ts"
import type { CallApi } from "./api-client.ts"
import { documentError } from "./document.ts"
import { isObject } from "./json.ts"
import type { Ids } from "./kinds.ts"

/** A resource that differs from its description. */
export type ApplyStep = {
  readonly action: "create" | "change"
  /** The name of the resource, such as "project Wiki of organization Acme". */
  readonly thing: string
  /** The fields that differ; empty for a new resource. */
  readonly fields: readonly string[]
  /** Values that are shown only once: the ID and the secret of a client. */
  readonly once: JsonObject
}

/** The result of a run or a plan. */
export type ApplyResult = {
  readonly steps: readonly ApplyStep[]
  /** Existing resources that are missing in a described list. */
  readonly undescribed: readonly string[]
  /** The fault that prevented the remaining steps. */
  readonly fault?: Fault
}

export type ApplyRun = {
  readonly call: CallApi
  /** Whether nothing is written. */
  readonly isPlan: boolean
  /** Whether secrets are set again, because their differences can't be detected. */
  readonly saysSecrets: boolean
  readonly steps: ApplyStep[]
  readonly undescribed: string[]
  /** IDs by kind, organization and name; undefined if the resource has not been created yet. */
  readonly known: Map<string, string | undefined>
}

/** The parent of described resources; without `ids` it has not been created yet. */
export type ParentResource = {
  readonly of: string
  readonly ids: Ids | undefined
  /** The name of the organization. */
  readonly org: string
}

/** The description of a resource and the file that contains it. */
export type DescribedItem = { readonly given: JsonObject; readonly file: string }

/** A described resource and the parent of its parts. */
export type DescribedResource = DescribedItem & { readonly place: ParentResource }

/** A message as the server would parse and return it; throws if the server would reject it. */
export function normalizeMessage(
  message: DescMessage,
  request: JsonObject,
  sourceName: string,
): JsonObject {
  try {
    const read = toJson(message, fromJson(message, request))
    return isObject(read) ? read : {}
  } catch (cause) {
    throw documentError(sourceName, describeParseError(cause))
  }
}

/** The parsed message with the described `false` values, which ProtoJSON omits. */
export function withFalse(
  message: DescMessage,
  described: JsonObject,
  read: JsonObject,
): JsonObject {
  const stated = Object.entries(described).flatMap(([name, value]): [string, JsonValue][] => {
    const field = message.fields.find((each) => each.jsonName === name || each.name === name)
    if (!field) return []
    if (value === false) return [[field.jsonName, false]]
    const inner = read[field.jsonName]
    const isInner = field.message && isObject(value) && isObject(inner)
    return isInner ? [[field.jsonName, withFalse(field.message, value, inner)]] : []
  })
  return { ...read, ...Object.fromEntries(stated) }
}

/**
 * The parts of a parse error that can be reported: a key or the expected type. Anything else can be
 * a value.
 */
const reportablePart =
  /^(?:key "[^"]*" is unknown|(?:list item #\d+: )?expected [\w .()]+(?=, got |: ))/

/** The parse error without the value, which can be a secret and would be logged. */
function describeParseError(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : ""
  const [, of = "it", reason = ""] = /^cannot decode (\S+ \S+) from JSON: (.*)$/s.exec(text) ?? []
  return `cannot read ${of}: ${reportablePart.exec(reason)?.[0] ?? "the value is invalid"}`
}

/** The items of a value that must be a list. */
export function requireList(
  content: JsonObject,
  name: string,
  file: string,
): readonly DescribedItem[] {
  if (!Object.hasOwn(content, name)) return []
  const list = content[name]
  if (Array.isArray(list) && list.every(isObject))
    return list.map((described) => ({ given: described, file }))
  throw documentError(file, `${name} must be a list whose items start with "- "`)
}

export function requireKnownNames(
  content: JsonObject,
  knownNames: readonly string[],
  file: string,
): void {
  const unknownName = Object.keys(content).find((name) => !knownNames.includes(name))
  if (unknownName === undefined) return
  throw documentError(file, `unknown name "${unknownName}"; expected ${knownNames.join(" or ")}`)
}
