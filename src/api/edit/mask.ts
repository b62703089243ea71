import type { DescMessage, Message } from "@bufbuild/protobuf"
import { fieldError } from "../../kernel/fault.ts"
import { getterOf } from "../input/field.ts"
import { versionField } from "./expected.ts"

/** The request field that lists the fields to update. All other fields keep their values. */
export const maskField = "update_mask"

/**
 * Returns a check that rejects an empty mask and unknown fields; undefined if the message has no
 * mask.
 */
export function maskCheckOf({ fields }: DescMessage): ((request: Message) => void) | undefined {
  const field = fields.find(({ name }) => name === maskField)
  if (!field) return undefined
  const get = getterOf(field)
  // JSON uses camelCase, which is decoded to the proto field names.
  const known = new Set(
    fields.map(({ name }) => name).filter((name) => name !== maskField && name !== versionField),
  )
  return (request) => {
    const mask = get(request)
    const paths = typeof mask === "object" && mask !== null ? Reflect.get(mask, "paths") : undefined
    if (!Array.isArray(paths)) return
    if (paths.length === 0) throw maskError("must name at least one field")
    // The length is limited by the number of fields, so the check stays cheap.
    if (paths.length > known.size || !paths.every((path) => known.has(path))) {
      throw maskError("must list only fields of the request, each once")
    }
  }
}

const maskError = (requirement: string) => fieldError("edit.mask_invalid", maskField, requirement)
