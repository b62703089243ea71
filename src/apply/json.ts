import type { JsonObject, JsonValue } from "@bufbuild/protobuf"

export const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** What stands at a path of names; undefined where any of them is missing. */
export function at(value: JsonValue | undefined, path: string): JsonValue | undefined {
  return path
    .split(".")
    .reduce<JsonValue | undefined>(
      (inner, name) => (isObject(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined),
      value,
    )
}

/** The text at a path; empty where there is none. */
export function textAt(value: JsonValue | undefined, path: string): string {
  const found = at(value, path)
  return typeof found === "string" ? found : ""
}

/** The list at a path; empty where there is none. */
export function listAt(value: JsonValue | undefined, path: string): readonly JsonValue[] {
  const found = at(value, path)
  return Array.isArray(found) ? found : []
}
