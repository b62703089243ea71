import type { AnyHistory } from "../../store/index.ts"

/** A value as JSON has it; undefined: the field is not set. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [key: string]: Json }

/** A field of a state before and after. */
export type Difference = {
  /** From the outside in. */
  readonly path: readonly string[]
  readonly before: Json | undefined
  readonly after: Json | undefined
  readonly shortened: boolean
}

/** Fields are kept by their paths as JSON. */
export type Field = { readonly path: readonly string[]; readonly value: Json }

/** No value of ours that is worth comparing by eye is longer; scripts and metadata of SAML are. */
const textMax = 2000

/** What a state shows, by what its events say openly and by what they say in private. */
export function fieldsOf(
  { personal = [], hidden = [], sets = [] }: Pick<AnyHistory, "personal" | "hidden" | "sets">,
  open: unknown,
  whole: unknown,
): ReadonlyMap<string, Field> {
  const kept = (path: readonly string[]) => !hidden.some((each) => isBelow(path, each))
  const fields = [
    ...leavesOf(open, sets).filter(({ path }) => !personal.some((each) => isBelow(path, each))),
    ...leavesOf(whole, sets).filter(({ path }) => personal.some((each) => isBelow(path, each))),
  ]
  return new Map(
    fields.filter(({ path }) => kept(path)).map((field) => [JSON.stringify(field.path), field]),
  )
}

/** Whether a path is the one that a pattern names, or lies within it. */
function isBelow(path: readonly string[], pattern: string): boolean {
  const parts = pattern.split(".")
  return parts.length <= path.length && parts.every((part, at) => part === "*" || part === path[at])
}

/** The fields of which two states differ, as the keys of both. */
export const changedKeys = (
  before: ReadonlyMap<string, Field>,
  after: ReadonlyMap<string, Field>,
): readonly string[] =>
  [...new Set([...before.keys(), ...after.keys()])].filter((key) => !isSame(key, before, after))

/** Whether a field is the same in two states. */
export const isSame = (
  key: string,
  one: ReadonlyMap<string, Field>,
  other: ReadonlyMap<string, Field>,
): boolean => JSON.stringify(one.get(key)?.value) === JSON.stringify(other.get(key)?.value)

/** The fields of which two states differ, those of the later one first. */
export function differencesOf(
  before: ReadonlyMap<string, Field>,
  after: ReadonlyMap<string, Field>,
): readonly Difference[] {
  const keys = new Set([...after.keys(), ...before.keys()])
  return [...keys].flatMap((key) => {
    const [was, is] = [before.get(key), after.get(key)]
    const { path } = is ?? was ?? { path: [] }
    if (JSON.stringify(was?.value) === JSON.stringify(is?.value)) return []
    const [first, second] = [shortened(was?.value), shortened(is?.value)]
    const isShortened = first !== was?.value || second !== is?.value
    return [{ path, before: first, after: second, shortened: isShortened }]
  })
}

function shortened(value: Json | undefined): Json | undefined {
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return text !== undefined && text.length > textMax ? `${text.slice(0, textMax)}…` : value
}

/** Every field that is set, however deep; lists are one, but of what has ids. */
function leavesOf(state: unknown, sets: readonly string[]): readonly Field[] {
  const fields: Field[] = []
  const walk = (value: Json, path: readonly string[]): void => {
    const isSet = sets.some((each) => each === path.join("."))
    const said = isSet && isRecord(value) ? Object.keys(value) : (byId(value) ?? value)
    if (isRecord(said)) {
      for (const [key, inner] of Object.entries(said)) walk(inner, [...path, key])
    } else if (!isEmpty(said)) fields.push({ path, value: said })
  }
  // States are kept as JSON: what that leaves out is not part of them.
  walk(JSON.parse(JSON.stringify(state ?? null)), [])
  return fields
}

/** What has ids, kept by them. */
function byId(value: Json): Json | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined
  const rows = value.filter(isRecord).map(({ id, ...rest }) => [id, rest] as const)
  const isWhole = rows.length === value.length && rows.every(([id]) => typeof id === "string")
  return isWhole ? Object.fromEntries(rows) : undefined
}

/** How a state says that it has nothing to say there. */
const isEmpty = (value: Json): boolean =>
  value === null || value === "" || (Array.isArray(value) && value.length === 0)

const isRecord = (value: Json): value is { readonly [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value)
