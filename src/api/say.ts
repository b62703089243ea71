import {
  type DescField,
  type DescMessage,
  equals,
  getOption,
  type Message,
  toJson,
} from "@bufbuild/protobuf"
import { reflect } from "@bufbuild/protobuf/reflect"
import { sensitive } from "../gen/core/options_pb.ts"
import { decodeJson } from "./input/decode.ts"
import { checkValues } from "./input/values.ts"

/** How a message becomes what others are shown, and what they answer a message. */
export type Form<T> = {
  readonly shown: (message: T) => unknown
  /** The same message where nothing was changed. Faults where it is none. */
  readonly read: (text: string, message: T) => T
}

type Heard<T> = {
  readonly message: T
  readonly passedOver: readonly string[]
  /** Who has changed it, and the users who decided what they make of it. */
  readonly changedBy: readonly string[]
  readonly authors: readonly string[]
}

/** What others have to say to a call beside its handler, before it and after it. */
export type Say = {
  /** Who was not asked although they are set; the answer says so. */
  readonly passedOver: readonly string[]
  readonly request?: <T>(message: T, form: Form<T>) => Promise<Heard<T>>
  /** Also told what was requested. */
  readonly response?: <T>(message: T, form: Form<T>, request: unknown) => Promise<Heard<T>>
}

/**
 * Messages as others see and change them: proto3 JSON without its secrets. What comes back is
 * checked like whatever comes in. Its secrets are always those that were there: nobody else is
 * told them, sets them, or has them fall to something else.
 */
export const formOf = (schema: DescMessage): Form<Message> => ({
  shown: (message) => withoutSecrets(schema, toJson(schema, message)),
  read: (text, message) => {
    const changed = decodeJson(schema, Buffer.from(text))
    checkValues(schema, changed)
    keepSecrets(schema, message, changed)
    return equals(schema, message, changed) ? message : changed
  },
})

const isSecret = (field: DescField): boolean => getOption(field, sensitive)

/** Times, durations and the like are no objects in JSON. */
const isWellKnown = ({ typeName }: DescMessage) => typeName.startsWith("google.protobuf.")

function withoutSecrets(schema: DescMessage, json: unknown): unknown {
  if (typeof json !== "object" || json === null || isWellKnown(schema)) return json
  const fields = new Map(schema.fields.map((field) => [field.jsonName, field]))
  const kept = Object.entries(json).flatMap(([name, value]) => {
    const field = fields.get(name)
    return !field || isSecret(field) ? [] : [[name, inside(field, value)] as const]
  })
  return Object.fromEntries(kept)
}

function inside(field: DescField, json: unknown): unknown {
  const { message } = field
  if (!message) return json
  if (field.fieldKind === "list" && Array.isArray(json)) {
    return json.map((item) => withoutSecrets(message, item))
  }
  if (field.fieldKind !== "map") return withoutSecrets(message, json)
  const entries = Object.entries(Object(json))
  return Object.fromEntries(entries.map(([key, item]) => [key, withoutSecrets(message, item)]))
}

const known = new WeakMap<DescMessage, boolean>()

/** Whether a message may have secrets in it, at any depth. */
function mayHold(schema: DescMessage): boolean {
  const holds = known.get(schema) ?? reachesSecret(schema, new Set())
  known.set(schema, holds)
  return holds
}

/** Messages may contain themselves: each is looked at once. */
function reachesSecret(schema: DescMessage, seen: Set<DescMessage>): boolean {
  if (seen.has(schema)) return false
  seen.add(schema)
  return schema.fields.some(
    (field) =>
      isSecret(field) || (field.message !== undefined && reachesSecret(field.message, seen)),
  )
}

/** Has `into` the secrets that `from` has, and no others. */
function keepSecrets(schema: DescMessage, from: Message, into: Message): void {
  if (!mayHold(schema)) return
  for (const field of schema.fields) {
    if (isSecret(field)) copy(schema, field, { from, into })
    else if (field.message && mayHold(field.message)) {
      // Of several things each has its own secret, and their order may have changed.
      if (field.fieldKind === "list" || field.fieldKind === "map")
        copy(schema, field, { from, into })
      else keepInside(schema, field, { from, into })
    }
  }
}

type Pair = { readonly from: Message; readonly into: Message }

function keepInside(schema: DescMessage, field: DescField, { from, into }: Pair): void {
  const [before, after] = [reflect(schema, from), reflect(schema, into)]
  if (field.fieldKind !== "message" || !after.isSet(field)) return
  const given = after.get(field).message
  const had = before.isSet(field) ? before.get(field).message : undefined
  keepSecrets(field.message, had ?? blankOf(field.message), given)
}

const blankOf = (schema: DescMessage): Message => reflect(schema).message

function copy(schema: DescMessage, field: DescField, { from, into }: Pair): void {
  const [before, after] = [reflect(schema, from), reflect(schema, into)]
  if (!before.isSet(field)) {
    after.clear(field)
    return
  }
  const chosen = field.oneof && after.oneofCase(field.oneof)
  // Who chose something else in its place has no use for it.
  if (chosen === undefined || chosen === field) after.set(field, before.get(field))
}
