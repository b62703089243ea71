import type { DescMessage, Message } from "@bufbuild/protobuf"
import type { Call } from "../../kernel/context.ts"
import { getterOf } from "../input/field.ts"

/** The field by which an update says how far its caller has read what it changes. */
export const versionField = "expected_version"

/** Reads the field of a request; undefined where its message has none. */
export function expectedVersionReader({
  fields,
}: DescMessage): ((request: Message) => number | undefined) | undefined {
  const field = fields.find(({ name }) => name === versionField)
  if (!field) return undefined
  const get = getterOf(field)
  return (request) => {
    const version = get(request)
    return typeof version === "bigint" ? Number(version) : undefined
  }
}

/** A call whose steps are refused where they would replace what its caller has not read. */
export const versionedCall = <C extends Call>(cx: C, expectedVersion: number | undefined): C =>
  expectedVersion === undefined ? cx : { ...cx, expectedVersion }
