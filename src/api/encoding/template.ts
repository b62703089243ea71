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

/** What a tree answers to a path. */
export type Match<T> =
  | { readonly kind: "found"; readonly value: T; readonly captured: readonly string[] }
  | { readonly kind: "other verbs"; readonly verbs: readonly string[] }
  | { readonly kind: "nothing" }

type Node<T> = {
  readonly literals: Map<string, Node<T>>
  one?: Node<T>
  rest?: Node<T>
  /** By verb, what is served here. */
  readonly values: Map<string, T>
}

/** Paths as a tree of segments: finding one takes as long with a thousand templates as with ten. */
export type Tree<T> = {
  /** Answers what already stands at the same verb and the same shape of path, and adds nothing. */
  readonly add: (verb: string, parts: readonly Part[], value: T) => T | undefined
  readonly find: (verb: string, segments: readonly string[]) => Match<T>
}

export function treeOf<T>(): Tree<T> {
  const root = nodeOf<T>()
  return {
    add: (verb, parts, value) => {
      const { values } = parts.reduce(below, root)
      const taken = values.get(verb)
      if (taken === undefined) values.set(verb, value)
      return taken
    },
    find: (verb, segments) => {
      const verbs = new Set<string>()
      const found = search(root, { verb, segments, verbs }, [])
      if (found) return found
      return verbs.size > 0 ? { kind: "other verbs", verbs: [...verbs] } : { kind: "nothing" }
    },
  }
}

const nodeOf = <T>(): Node<T> => ({ literals: new Map(), values: new Map() })

function below<T>(node: Node<T>, part: Part): Node<T> {
  if (part.kind === "one") {
    node.one ??= nodeOf()
    return node.one
  }
  if (part.kind === "rest") {
    node.rest ??= nodeOf()
    return node.rest
  }
  const next = node.literals.get(part.text) ?? nodeOf()
  node.literals.set(part.text, next)
  return next
}

type Wanted = {
  readonly verb: string
  readonly segments: readonly string[]
  /** Collects what else is served at the same path. */
  readonly verbs: Set<string>
}

/** Literals before fields, one segment before many: the most exact template wins. */
function search<T>(
  node: Node<T>,
  wanted: Wanted,
  captured: readonly string[],
  at = 0,
): Extract<Match<T>, { kind: "found" }> | undefined {
  const { segments } = wanted
  const segment = segments[at]
  if (segment === undefined) return leaf(node, wanted, captured)
  const literal = node.literals.get(segment)
  const exact = literal && search(literal, wanted, captured, at + 1)
  if (exact) return exact
  const loose = segment && node.one && search(node.one, wanted, [...captured, segment], at + 1)
  if (loose) return loose
  const rest = segments.slice(at).join("/")
  return rest && node.rest ? leaf(node.rest, wanted, [...captured, rest]) : undefined
}

function leaf<T>(node: Node<T>, { verb, verbs }: Wanted, captured: readonly string[]) {
  const value = node.values.get(verb)
  if (value !== undefined) return { kind: "found" as const, value, captured }
  for (const other of node.values.keys()) verbs.add(other)
  return undefined
}
