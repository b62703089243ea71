import { create, type DescMethod, type MessageInitShape } from "@bufbuild/protobuf"
import { nameOf } from "../../../api/method.ts"
import type { Asked } from "../undo/way.ts"

/** An operation, and what is asked of it. */
export const ask = <M extends DescMethod>(
  method: M,
  request: MessageInitShape<M["input"]>,
): Asked => ({ operation: nameOf(method), request: create(method.input, request) })

/** Of the fields that a change has made others, what they were. */
export function back<T extends object>(before: T, after: T): Partial<T> {
  const was: Partial<T> = {}
  for (const name in before) {
    if (JSON.stringify(before[name]) !== JSON.stringify(after[name])) was[name] = before[name]
  }
  return was
}

type Given<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }

/** Only the fields that are set. */
export function given<Fields extends object>(fields: Fields): Given<Fields> {
  const copy: Given<Fields> = {}
  for (const name in fields) {
    const value = fields[name]
    if (isSet(value)) copy[name] = value
  }
  return copy
}

const isSet = <T>(value: T): value is Exclude<T, undefined> => value !== undefined
