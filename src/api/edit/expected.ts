import type { DescMessage, Message } from "@bufbuild/protobuf"
import type { Call } from "../../kernel/context.ts"
import { getterOf } from "../input/field.ts"

/** The request field with the version that the caller has read. */
export const versionField = "expected_version"

/**
 * Returns a function that reads the field from a request; undefined if the message lacks
 * the field.
 */
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

/** A call whose steps are rejected if they would overwrite changes that its caller has not read. */
export const versionedCall = <C extends Call>(cx: C, expectedVersion: number | undefined): C =>
  expectedVersion === undefined ? cx : { ...cx, expectedVersion }
