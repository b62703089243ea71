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

/** One thing that is otherwise than described. */
export type Step = {
  readonly action: "create" | "change"
  /** What it is called: "project Wiki of organisation Acme". */
  readonly thing: string
  /** What of it differs; empty for what is made. */
  readonly fields: readonly string[]
  /** What is told this once: the id and the secret of a client. */
  readonly once: JsonObject
}

/** What came of it, or would. */
export type Applied = {
  readonly steps: readonly Step[]
  /** What is there, of a list that is described, and not in it. */
  readonly beyond: readonly string[]
  /** What the steps after these were not taken for. */
  readonly refused?: Fault
}

export type Run = {
  readonly call: CallApi
  /** Whether nothing is written. */
  readonly isPlan: boolean
  /** Whether secrets are said again, of which nobody can see whether they differ. */
  readonly saysSecrets: boolean
  readonly steps: Step[]
  readonly beyond: string[]
  /** Ids by kind, organisation and name; undefined where the thing is still to be made. */
  readonly known: Map<string, string | undefined>
}

/** What described things stand in; without ids it is still to be made itself. */
export type Place = {
  readonly of: string
  readonly ids: Ids | undefined
  /** The name of the organisation. */
  readonly org: string
}

/** What is described of a thing, and in which file. */
export type Item = { readonly given: JsonObject; readonly file: string }

/** A described thing, and what its parts stand in. */
export type Thing = Item & { readonly place: Place }

/** A message as the server would read and say it; refuses what it would not read. */
export function readAs(message: DescMessage, request: JsonObject, place: string): JsonObject {
  try {
    const read = toJson(message, fromJson(message, request))
    return isObject(read) ? read : {}
  } catch (cause) {
    throw documentError(place, wrongIn(cause))
  }
}

/** What was read of a message, with what is described as `false`: ProtoJSON leaves that out. */
export function withFalse(message: DescMessage, given: JsonObject, read: JsonObject): JsonObject {
  const stated = Object.entries(given).flatMap(([name, value]): [string, JsonValue][] => {
    const field = message.fields.find((each) => each.jsonName === name || each.name === name)
    if (!field) return []
    if (value === false) return [[field.jsonName, false]]
    const inner = read[field.jsonName]
    const isInner = field.message && isObject(value) && isObject(inner)
    return isInner ? [[field.jsonName, withFalse(field.message, value, inner)]] : []
  })
  return { ...read, ...Object.fromEntries(stated) }
}

/** What may be told of a refusal: a key, or what is expected. All else may be a value. */
const told = /^(?:key "[^"]*" is unknown|(?:list item #\d+: )?expected [\w .()]+(?=, got |: ))/

/** What protobuf says is wrong, without the value: it may be a secret, and this goes into logs. */
function wrongIn(cause: unknown): string {
  const said = cause instanceof Error ? cause.message : ""
  const [, of = "it", why = ""] = /^cannot decode (\S+ \S+) from JSON: (.*)$/s.exec(said) ?? []
  return `cannot read ${of}: ${told.exec(why)?.[0] ?? "its value is none that it can have"}`
}

/** The things of a list, which must be one. */
export function listIn(content: JsonObject, name: string, file: string): readonly Item[] {
  if (!Object.hasOwn(content, name)) return []
  const list = content[name]
  if (Array.isArray(list) && list.every(isObject)) return list.map((given) => ({ given, file }))
  throw documentError(file, `${name} must be a list, each beginning with "- "`)
}

export function mustBeKnown(content: JsonObject, known: readonly string[], file: string): void {
  const odd = Object.keys(content).find((name) => !known.includes(name))
  if (odd === undefined) return
  throw documentError(
    file,
    `"${odd}" is nothing that can be described; it is ${known.join(" or ")}`,
  )
}
