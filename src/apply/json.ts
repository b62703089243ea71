import type { JsonObject, JsonValue } from "@bufbuild/protobuf"

export const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The value at a path of names; undefined if one of them is missing. */
export function valueAt(value: JsonValue | undefined, path: string): JsonValue | undefined {
  return path
    .split(".")
    .reduce<JsonValue | undefined>(
      (inner, name) => (isObject(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined),
      value,
    )
}

/** The string at a path; empty if there is none. */
export function textAt(value: JsonValue | undefined, path: string): string {
  const found = valueAt(value, path)
  return typeof found === "string" ? found : ""
}

/** The list at a path; empty if there is none. */
export function listAt(value: JsonValue | undefined, path: string): readonly JsonValue[] {
  const found = valueAt(value, path)
  return Array.isArray(found) ? found : []
}
