import type { FieldMask } from "@bufbuild/protobuf/wkt"

/** A request that may have a mask. */
export type MaskedRequest = { readonly updateMask?: FieldMask | undefined }

/** Whether an update changes a field of its request, by its name in TypeScript. */
export type Selection = (localName: string) => boolean

const everything: Selection = () => true

/** The fields that a request changes: those of its mask, or without one all that it has. */
export function selectionOf({ updateMask }: MaskedRequest): Selection {
  if (!updateMask) return everything
  const names = new Set(updateMask.paths.map(localNameOf))
  return (localName) => names.has(localName)
}

/** Which fields of a request say a value that goes by another name, or by several. */
export type Names = Readonly<Record<string, readonly string[]>>

/** Of what an update says the part that its mask names. */
export function selected<T extends object>(
  request: MaskedRequest,
  said: Partial<T>,
  names: Names = {},
): Partial<T> {
  const isSelected = selectionOf(request)
  const part: Partial<T> = { ...said }
  for (const name in part) {
    if (!(names[name] ?? [name]).some(isSelected)) delete part[name]
  }
  return part
}

/**
 * The request that would store what is stored, with what the mask of another one names. `stored`
 * has all fields, secrets as those who keep theirs send them.
 */
export function mergedWith<Req extends MaskedRequest>(
  request: Req,
  stored: object,
  names?: Names,
): Req {
  if (!request.updateMask) return request
  const merged: Req = { ...request, ...stored }
  const taken = selected<Req>(request, request, names)
  for (const name in merged) {
    if (name in taken) merged[name] = request[name]
    else if (!(name in stored)) Reflect.deleteProperty(merged, name)
  }
  return merged
}

const localNameOf = (path: string) =>
  path.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase())
