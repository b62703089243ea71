/**
 * Part of a google.api.http path template: a literal text or the field that captures the segment.
 */
export type TemplatePart =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "one"; readonly field: string }
  | { readonly kind: "rest"; readonly field: string }

/**
 * Parses "/projects/{project_id}/roles/{role_key=**}"; undefined if the template is not supported.
 */
export function parseTemplate(text: string): readonly TemplatePart[] | undefined {
  if (!text.startsWith("/")) return undefined
  const parts = segmentsOf(text).map(parsePart)
  const isServed = parts.every(
    (part, at) => part && (part.kind !== "rest" || at + 1 === parts.length),
  )
  return isServed ? parts.flatMap((part) => part ?? []) : undefined
}

function parsePart(segment: string): TemplatePart | undefined {
  const match = /^\{([\w.]+)(?:=(\*\*?))?\}$/.exec(segment)
  if (match?.[1]) return { kind: match[2] === "**" ? "rest" : "one", field: match[1] }
  return /^[\w.-]+$/.test(segment) ? { kind: "literal", text: segment } : undefined
}

/** The segments of a path, still encoded; none for the root. */
export const segmentsOf = (path: string): readonly string[] =>
  path === "/" ? [] : path.slice(1).split("/")

/**
 * The same path as an Elysia pattern, whose field names are positional because Elysia requires the
 * same names in all routes with a common prefix.
 */
export function patternOf(parts: readonly TemplatePart[]): string {
  const segments = parts.map((part, at) => {
    if (part.kind === "literal") return part.text
    return part.kind === "one" ? `:${at}` : "*"
  })
  return `/${segments.join("/")}`
}

/**
 * The path with every segment in canonical percent-encoding; undefined if the encoding is invalid.
 */
export function canonicalPath(path: string): string | undefined {
  if (!path.includes("%")) return path
  try {
    return path
      .split("/")
      .map((segment) => encodeURIComponent(decodeURIComponent(segment)))
      .join("/")
  } catch {
    return undefined
  }
}

/**
 * The values that a canonical path gives to the fields of a template; undefined if a value is
 * empty.
 */
export function captureFields(
  parts: readonly TemplatePart[],
  path: string,
): readonly string[] | undefined {
  const segments = segmentsOf(path)
  const captured = parts.flatMap(({ kind }, at) => {
    if (kind === "literal") return []
    return [kind === "one" ? (segments[at] ?? "") : segments.slice(at).join("/")]
  })
  return captured.includes("") ? undefined : captured.map(decodeURIComponent)
}
