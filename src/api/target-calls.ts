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

/** Converts messages to the JSON that targets receive, and applies their responses. */
export type MessageFormat<T> = {
  readonly toJson: (message: T) => unknown
  /** Returns the same message if nothing changed; throws if the text is not a valid message. */
  readonly applyResponse: (text: string, message: T) => T
}

type TargetResult<T> = {
  readonly message: T
  readonly skippedTargets: readonly string[]
  /**
   * The IDs of the targets that changed the message, and of the users who are responsible for the
   * changes.
   */
  readonly changedBy: readonly string[]
  readonly authors: readonly string[]
}

/** The targets to call before and after the handler. */
export type TargetCalls = {
  /** The IDs of targets that are set but were not called, for the response header. */
  readonly skippedTargets: readonly string[]
  readonly request?: <T>(message: T, form: MessageFormat<T>) => Promise<TargetResult<T>>
  /** Also receives the request. */
  readonly response?: <T>(
    message: T,
    form: MessageFormat<T>,
    request: unknown,
  ) => Promise<TargetResult<T>>
}

/**
 * Messages as targets see and change them: proto3 JSON without secrets. A returned message is
 * validated like a request. It keeps the secrets of the original: targets can't read, set or move
 * them.
 */
export const messageFormatOf = (schema: DescMessage): MessageFormat<Message> => ({
  toJson: (message) => withoutSecrets(schema, toJson(schema, message)),
  applyResponse: (text, message) => {
    const changed = decodeJson(schema, Buffer.from(text))
    checkValues(schema, changed)
    copySecrets(schema, message, changed)
    return equals(schema, message, changed) ? message : changed
  },
})

const isSensitive = (field: DescField): boolean => getOption(field, sensitive)

/** Well-known types such as timestamps and durations are not objects in JSON. */
const isWellKnown = ({ typeName }: DescMessage) => typeName.startsWith("google.protobuf.")

function withoutSecrets(schema: DescMessage, json: unknown): unknown {
  if (typeof json !== "object" || json === null || isWellKnown(schema)) return json
  const fields = new Map(schema.fields.map((field) => [field.jsonName, field]))
  const visibleEntries = Object.entries(json).flatMap(([name, value]) => {
    const field = fields.get(name)
    return !field || isSensitive(field) ? [] : [[name, redactNested(field, value)] as const]
  })
  return Object.fromEntries(visibleEntries)
}

function redactNested(field: DescField, json: unknown): unknown {
  const { message } = field
  if (!message) return json
  if (field.fieldKind === "list" && Array.isArray(json)) {
    return json.map((item) => withoutSecrets(message, item))
  }
  if (field.fieldKind !== "map") return withoutSecrets(message, json)
  const entries = Object.entries(Object(json))
  return Object.fromEntries(entries.map(([key, item]) => [key, withoutSecrets(message, item)]))
}

const secretCache = new WeakMap<DescMessage, boolean>()

/** Whether a message can contain secrets, at any depth. */
function canContainSecrets(schema: DescMessage): boolean {
  const holds = secretCache.get(schema) ?? reachesSecret(schema, new Set())
  secretCache.set(schema, holds)
  return holds
}

/** Messages can be recursive, so each is visited once. */
function reachesSecret(schema: DescMessage, seen: Set<DescMessage>): boolean {
  if (seen.has(schema)) return false
  seen.add(schema)
  return schema.fields.some(
    (field) =>
      isSensitive(field) || (field.message !== undefined && reachesSecret(field.message, seen)),
  )
}

/** Gives `into` the secrets of `from` and no others. */
function copySecrets(schema: DescMessage, from: Message, into: Message): void {
  if (!canContainSecrets(schema)) return
  for (const field of schema.fields) {
    if (isSensitive(field)) copyField(schema, field, { from, into })
    else if (field.message && canContainSecrets(field.message)) {
      // Each element has its own secret, and the order of elements can have changed.
      if (field.fieldKind === "list" || field.fieldKind === "map")
        copyField(schema, field, { from, into })
      else copyNestedSecrets(schema, field, { from, into })
    }
  }
}

type MessagePair = { readonly from: Message; readonly into: Message }

function copyNestedSecrets(
  schema: DescMessage,
  field: DescField,
  { from, into }: MessagePair,
): void {
  const [before, after] = [reflect(schema, from), reflect(schema, into)]
  if (field.fieldKind !== "message" || !after.isSet(field)) return
  const newValue = after.get(field).message
  const had = before.isSet(field) ? before.get(field).message : undefined
  copySecrets(field.message, had ?? createEmpty(field.message), newValue)
}

const createEmpty = (schema: DescMessage): Message => reflect(schema).message

function copyField(schema: DescMessage, field: DescField, { from, into }: MessagePair): void {
  const [before, after] = [reflect(schema, from), reflect(schema, into)]
  if (!before.isSet(field)) {
    after.clear(field)
    return
  }
  const chosen = field.oneof && after.oneofCase(field.oneof)
  // A secret is not needed if another field of the oneof is now set.
  if (chosen === undefined || chosen === field) after.set(field, before.get(field))
}
