/** A path template of google.api.http, in parts: what must stand there, or the field it fills. */
export type Part =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "one"; readonly field: string }
  | { readonly kind: "rest"; readonly field: string }

/** Reads "/projects/{project_id}/roles/{role_key=**}"; undefined for forms that are not served. */
export function templateOf(text: string): readonly Part[] | undefined {
  if (!text.startsWith("/")) return undefined
  const parts = segmentsOf(text).map(partOf)
  const isServed = parts.every(
    (part, at) => part && (part.kind !== "rest" || at + 1 === parts.length),
  )
  return isServed ? parts.flatMap((part) => part ?? []) : undefined
}

function partOf(segment: string): Part | undefined {
  const match = /^\{([\w.]+)(?:=(\*\*?))?\}$/.exec(segment)
  if (match?.[1]) return { kind: match[2] === "**" ? "rest" : "one", field: match[1] }
  return /^[\w.-]+$/.test(segment) ? { kind: "literal", text: segment } : undefined
}

/** The segments of a path, not decoded; none for the root. */
export const segmentsOf = (path: string): readonly string[] =>
  path === "/" ? [] : path.slice(1).split("/")

/** What Elysia calls the same path: names of fields differ from template to template there. */
export function patternOf(parts: readonly Part[]): string {
  const segments = parts.map((part, at) => {
    if (part.kind === "literal") return part.text
    return part.kind === "one" ? `:${at}` : "*"
  })
  return `/${segments.join("/")}`
}

/**
 * A path with each segment encoded in the one way, so that it is the same however it was written;
 * undefined where its codes are broken.
 */
export function canonicalOf(path: string): string | undefined {
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

/** What fills the fields of a template in a canonical path; undefined where one is left empty. */
export function capturedBy(parts: readonly Part[], path: string): readonly string[] | undefined {
  const segments = segmentsOf(path)
  const captured = parts.flatMap(({ kind }, at) => {
    if (kind === "literal") return []
    return [kind === "one" ? (segments[at] ?? "") : segments.slice(at).join("/")]
  })
  return captured.includes("") ? undefined : captured.map(decodeURIComponent)
}
