import {
  create,
  type DescField,
  type DescMessage,
  type DescMethod,
  isMessage,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf"
import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { allServices } from "../../../api/book.ts"
import { nameOf } from "../../../api/method.ts"
import {
  type AnyEvent,
  type AnyHistory,
  type Change,
  formerValues,
  type UndoRequest,
} from "../../../store/index.ts"

/**
 * Returns the operation that undoes a change and its request. Fields that the operation does not
 * have are omitted. A string is converted to the enum value whose name ends with it, and a number
 * of seconds to a duration.
 */
export function undoRequestOf(
  history: AnyHistory,
  change: Change<AnyEvent, unknown>,
  undo: string | UndoRequest,
) {
  const { stream, present = (state) => Object(state) } = history
  const { target = ({ id }) => ({ id, [`${stream}Id`]: id }) } = history
  const [name, fields, exactness] = typeof undo === "string" ? [undo] : undo
  const { event, before, after, now } = change
  const method = findOperation(history, name)
  if (!method) throw new Error(`the history of ${stream} names an unknown operation: ${name}`)
  const { input } = method
  const restored = () => {
    // An omitted list would be emptied, and an API v1 request resets every omitted field.
    const others = Object.entries(present(now, event)).filter(
      ([, value]) => Array.isArray(value) || input.typeName.includes(".v1."),
    )
    const former = formerMessageFields(input, present(before, event), present(after, event))
    return { ...Object.fromEntries(others), ...former }
  }
  const request = createMessage(input, { ...target(change), ...(fields ?? restored()) })
  return { operation: nameOf(method), request, isLoose: exactness === "loose" }
}

/** Finds the operation that a history names: Activate also matches Reactivate. */
export function findOperation({ operations }: AnyHistory, name: string): DescMethod | undefined {
  const full = name.includes("/") ? name : `${operations?.split("/")[0]}/${name}`
  const names = [full, full.replace("/Activate", "/Reactivate")]
  return allServices
    .flatMap(({ methods }) => [...methods])
    .find((each) => names.includes(nameOf(each)))
}

/** Compares update messages field by field, and all other messages as a whole. */
function formerMessageFields(message: DescMessage, before: object, after: object): object {
  const fields = Object.entries(formerValues(before, after)).map(([name, was]) => {
    const { message: inner } = message.fields.find(({ localName }) => localName === name) ?? {}
    const is: unknown = Reflect.get(after, name)
    if (!inner?.typeName.includes(".Update") || !isObject(was) || !isObject(is)) return [name, was]
    return [name, formerMessageFields(inner, was, is)]
  })
  return Object.fromEntries(fields)
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null

function createMessage(message: DescMessage, fields: object): Message {
  // A oneof field is passed under its own name or in the form of a message.
  const given = Object.entries(fields).map(([name, value]): [string, unknown] =>
    isObject(value) && "case" in value && "value" in value
      ? [String(value.case), value.value]
      : [name, value],
  )
  const values = new Map(given)
  const filled: Record<string, unknown> = {}
  for (const field of message.fields) {
    const { localName: name, oneof } = field
    const each: unknown = values.get(name)
    if (each === undefined) continue
    const value = Array.isArray(each)
      ? each.map((item) => convertValue(field, item))
      : convertValue(field, each)
    filled[oneof?.localName ?? name] = oneof ? { case: name, value } : value
  }
  return create(message, filled)
}

function convertValue({ message, enum: numbers, scalar }: DescField, value: unknown): unknown {
  if (message && isObject(value)) return isMessage(value) ? value : createMessage(message, value)
  if (typeof value === "number") {
    if (message) return durationFromMs(value * 1000)
    if (scalar === ScalarType.STRING) return String(value)
    return scalar === ScalarType.UINT64 ? BigInt(value) : value
  }
  if (!numbers || typeof value !== "string") return value
  const end = value.toUpperCase()
  const named = numbers.values.filter(({ name }) => name === end || name.endsWith(`_${end}`))
  const [found] = named.toSorted((one, other) => one.name.length - other.name.length)
  if (!found) throw new Error(`${numbers.typeName} has no value ${value}`)
  return found.number
}
