import type { FieldMask } from "@bufbuild/protobuf/wkt"

/** A request that can have a field mask. */
export type MaskedRequest = { readonly updateMask?: FieldMask | undefined }

/** Whether an update changes a field of its request, by its TypeScript name. */
export type FieldSelection = (localName: string) => boolean

const selectAll: FieldSelection = () => true

/** The fields that a request changes: those of its mask, or all without a mask. */
export function createSelection({ updateMask }: MaskedRequest): FieldSelection {
  if (!updateMask) return selectAll
  const names = new Set(updateMask.paths.map(toLocalName))
  return (localName) => names.has(localName)
}

/** For values with another name than their fields: the request fields they come from. */
export type FieldNames = Readonly<Record<string, readonly string[]>>

/** The values of an update that its mask selects. */
export function selectMasked<T extends object>(
  request: MaskedRequest,
  values: Partial<T>,
  names: FieldNames = {},
): Partial<T> {
  const isSelected = createSelection(request)
  const selectedValues: Partial<T> = { ...values }
  for (const name in selectedValues) {
    if (!(names[name] ?? [name]).some(isSelected)) delete selectedValues[name]
  }
  return selectedValues
}

/**
 * Combines a masked request with the stored values. `stored` contains all fields, with secrets as
 * clients send them to keep them.
 */
export function mergeWithStored<Req extends MaskedRequest>(
  request: Req,
  stored: object,
  names?: FieldNames,
): Req {
  if (!request.updateMask) return request
  const merged: Req = { ...request, ...stored }
  const selectedFields = selectMasked<Req>(request, request, names)
  for (const name in merged) {
    if (name in selectedFields) merged[name] = request[name]
    else if (!(name in stored)) Reflect.deleteProperty(merged, name)
  }
  return merged
}

const toLocalName = (path: string) =>
  path.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase())
