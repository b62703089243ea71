import type { AnyHistory } from "../../store/index.ts"

/** The fields of a state that are set: their paths, from the outside in, and values, as JSON. */
export type Fields = ReadonlyMap<string, string>

/** The fields that a change has changed, as they were before; undefined: not set. */
export type FormerFields = ReadonlyMap<string, string | undefined>

/** A field before and after, as JSON; undefined: not set. */
export type Difference = {
  readonly path: readonly string[]
  readonly before: string | undefined
  readonly after: string | undefined
}

/** Reads `personal` fields from `whole`, all others from `open`, the state without private data. */
export function fieldsOf(
  { personal = [], hidden = [], sets = [] }: Pick<AnyHistory, "personal" | "hidden" | "sets">,
  open: unknown,
  whole: unknown,
): Fields {
  const isIn = (patterns: readonly string[], { path }: Leaf) =>
    patterns.some((pattern) => isBelow(path, pattern))
  const leaves = [
    ...leavesOf(open, sets).filter((leaf) => !isIn(personal, leaf)),
    ...leavesOf(whole, sets).filter((leaf) => isIn(personal, leaf)),
  ].filter((leaf) => !isIn(hidden, leaf))
  return new Map(leaves.map(({ path, value }) => [JSON.stringify(path), JSON.stringify(value)]))
}

/** Whether a path matches a pattern or lies below a match. */
function isBelow(path: readonly string[], pattern: string): boolean {
  const parts = pattern.split(".")
  return parts.length <= path.length && parts.every((part, at) => part === "*" || part === path[at])
}

/** The fields in which two states differ; fields that are set in the later state come first. */
export function formerFields(before: Fields, after: Fields): FormerFields {
  const keys = [...after.keys(), ...before.keys()]
  const changed = keys.filter((key) => before.get(key) !== after.get(key))
  return new Map(changed.map((key) => [key, before.get(key)]))
}

export const differencesOf = (before: Fields, after: Fields): readonly Difference[] =>
  [...formerFields(before, after)].map(([key, was]) => ({
    path: pathOf(key),
    before: was,
    after: after.get(key),
  }))

export const pathOf = (key: string): readonly string[] => JSON.parse(key)

/** Whether a change modified fields and all of them have their former values again. */
export const isRestored = (former: FormerFields, now: Fields): boolean =>
  former.size > 0 && [...former].every(([key, was]) => now.get(key) === was)

type Leaf = { readonly path: readonly string[]; readonly value: unknown }

/** Fields at any depth. A list is one field, unless its items have IDs. */
function leavesOf(state: unknown, sets: readonly string[]): readonly Leaf[] {
  const below = (value: unknown, path: readonly string[]): readonly Leaf[] => {
    const isSet = isRecord(value) && sets.includes(path.join("."))
    const inner = isSet ? Object.keys(value) : byId(value)
    if (!isRecord(inner)) return isEmpty(inner) ? [] : [{ path, value: inner }]
    return Object.entries(inner).flatMap(([key, each]) => below(each, [...path, key]))
  }
  // States are stored as JSON: what JSON omits is not part of them.
  return below(JSON.parse(JSON.stringify(state ?? null)), [])
}

/** Converts a list whose items have IDs to an object by ID; returns any other value unchanged. */
function byId(value: unknown): unknown {
  if (!Array.isArray(value) || value.length === 0 || !value.every(hasId)) return value
  return Object.fromEntries(value.map(({ id, ...rest }) => [id, rest]))
}

const hasId = (value: unknown): value is { readonly id: string } =>
  isRecord(value) && typeof value.id === "string"

const isEmpty = (value: unknown): boolean =>
  value === null || value === "" || (Array.isArray(value) && value.length === 0)

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
