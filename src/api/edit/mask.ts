import type { DescMessage, Message } from "@bufbuild/protobuf"
import { fieldError } from "../../kernel/fault.ts"
import { getterOf } from "../input/field.ts"
import { versionField } from "./expected.ts"

/** The field by which an update names what it changes; all else stays as it is. */
export const maskField = "update_mask"

/**
 * Refuses a mask that names nothing, or what is no field of the request. Undefined where the
 * message can't have a mask.
 */
export function maskCheckOf({ fields }: DescMessage): ((request: Message) => void) | undefined {
  const field = fields.find(({ name }) => name === maskField)
  if (!field) return undefined
  const get = getterOf(field)
  // JSON has them in camelCase, and they are decoded to the names of the fields.
  const known = new Set(
    fields.map(({ name }) => name).filter((name) => name !== maskField && name !== versionField),
  )
  return (request) => {
    const mask = get(request)
    const paths = typeof mask === "object" && mask !== null ? Reflect.get(mask, "paths") : undefined
    if (!Array.isArray(paths)) return
    if (paths.length === 0) throw maskError("must name at least one field")
    // No longer than all fields, so that to look through it costs nothing.
    if (paths.length > known.size || !paths.every((path) => known.has(path))) {
      throw maskError("must name only fields of the request, each once")
    }
  }
}

const maskError = (wanted: string) => fieldError("edit.mask_invalid", maskField, wanted)
