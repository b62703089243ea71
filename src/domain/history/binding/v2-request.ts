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
import { book } from "../../../api/book.ts"
import { nameOf } from "../../../api/method.ts"
import {
  type AnyEvent,
  type AnyHistory,
  type Change,
  former,
  type UndoRequest,
} from "../../../store/index.ts"

/**
 * The operation that undoes a change, with its request. Fields that the operation does not have are
 * left out; a text becomes the value of an enum whose name ends with it, a number of seconds a
 * duration.
 */
export function requestOf(
  history: AnyHistory,
  change: Change<AnyEvent, unknown>,
  undo: string | UndoRequest,
) {
  const { stream, present = (state) => Object(state) } = history
  const { target = ({ id }) => ({ id, [`${stream}Id`]: id }) } = history
  const [name, fields, exactness] = typeof undo === "string" ? [undo] : undo
  const { event, before, after, now } = change
  const method = operationOf(history, name)
  if (!method) throw new Error(`the history of ${stream} names ${name}: no operation`)
  const { input } = method
  const restored = () => {
    // A list that is left out would be emptied; a request of version 1 resets any field.
    const others = Object.entries(present(now, event)).filter(
      ([, value]) => Array.isArray(value) || input.typeName.includes(".v1."),
    )
    const former = formerFields(input, present(before, event), present(after, event))
    return { ...Object.fromEntries(others), ...former }
  }
  const request = fill(input, { ...target(change), ...(fields ?? restored()) })
  return { operation: nameOf(method), request, isLoose: exactness === "loose" }
}

/** The operation that a history names; some resources are reactivated, others activated. */
export function operationOf({ operations }: AnyHistory, name: string): DescMethod | undefined {
  const full = name.includes("/") ? name : `${operations?.split("/")[0]}/${name}`
  const names = [full, full.replace("/Activate", "/Reactivate")]
  return book.flatMap(({ methods }) => [...methods]).find((each) => names.includes(nameOf(each)))
}

/** Messages that update something are compared field by field, all others as a whole. */
function formerFields(message: DescMessage, before: object, after: object): object {
  const fields = Object.entries(former(before, after)).map(([name, was]) => {
    const { message: inner } = message.fields.find(({ localName }) => localName === name) ?? {}
    const is: unknown = Reflect.get(after, name)
    if (!inner?.typeName.includes(".Update") || !isObject(was) || !isObject(is)) return [name, was]
    return [name, formerFields(inner, was, is)]
  })
  return Object.fromEntries(fields)
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null

function fill(message: DescMessage, fields: object): Message {
  // A field of a oneof is given by its own name, or as messages have it.
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
      ? each.map((item) => convert(field, item))
      : convert(field, each)
    filled[oneof?.localName ?? name] = oneof ? { case: name, value } : value
  }
  return create(message, filled)
}

function convert({ message, enum: numbers, scalar }: DescField, value: unknown): unknown {
  if (message && isObject(value)) return isMessage(value) ? value : fill(message, value)
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
