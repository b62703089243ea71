/** How a text field contains a list. */
export type ListRule = {
  /** The separator between typed entries. */
  readonly separator: RegExp
  /** The separator in merged text. */
  readonly join: string
  /** The key of an entry; two different entries with one key conflict. */
  readonly keyOf?: (entry: string) => string
}

/** One entry per line. */
export const lineList: ListRule = { separator: /\s+/, join: "\n" }

/** Words separated by spaces. */
export const wordList: ListRule = { separator: /\s+/, join: " " }

/** A value before two users changed it, and both changed values. */
type Versions<Value> = { readonly base: Value; readonly theirs: Value; readonly mine: Value }

/**
 * Merges both changes of a value; undefined if they conflict. Merged lists contain the additions of
 * both, without what either removed.
 */
export function merge<Value>(
  versions: Versions<Value>,
  rule?: ListRule,
): { readonly value: Value } | undefined {
  const { base, theirs, mine } = versions
  if (isSame(base, theirs) || isSame(theirs, mine)) return { value: mine }
  if (isSame(base, mine)) return { value: theirs }
  const value = mergeEntries(versions, rule)
  return value !== undefined && hasSameType(value, mine) ? { value } : undefined
}

/** The merged list or list text; undefined for other values. */
function mergeEntries({ base, theirs, mine }: Versions<unknown>, rule: ListRule | undefined) {
  if (isList(base) && isList(theirs) && isList(mine)) return mergeLists({ base, theirs, mine })
  if (!rule || typeof base !== "string") return undefined
  if (typeof theirs !== "string" || typeof mine !== "string") return undefined
  const entries = (text: string) =>
    text.split(rule.separator).filter((entry) => entry.trim() !== "")
  return mergeLists(
    { base: entries(base), theirs: entries(theirs), mine: entries(mine) },
    rule.keyOf,
  )?.join(rule.join)
}

/** Whether two values have the same type. */
export const hasSameType = <Value>(one: unknown, other: Value): one is Value =>
  typeof one === typeof other && Array.isArray(one) === Array.isArray(other)

/** Merges two lists; they conflict if both changed the order differently. */
export function mergeLists(
  versions: Versions<readonly string[]>,
  keyOf: (entry: string) => string = (entry) => entry,
): readonly string[] | undefined {
  const [base, theirs, mine] = [
    [...new Set(versions.base)],
    [...new Set(versions.theirs)],
    [...new Set(versions.mine)],
  ]
  const common = base.filter((entry) => theirs.includes(entry) && mine.includes(entry))
  const orderOf = (list: readonly string[]) => list.filter((entry) => common.includes(entry))
  const isMoved = (list: readonly string[]) => !isSame(orderOf(list), common)
  if (isMoved(theirs) && isMoved(mine) && !isSame(orderOf(theirs), orderOf(mine))) {
    return undefined
  }
  const [first, second] = isMoved(mine) ? [mine, theirs] : [theirs, mine]
  const isAdded = (entry: string) => !base.includes(entry)
  const merged = first.filter((entry) => isAdded(entry) || common.includes(entry))
  for (const [at, entry] of second.entries()) {
    if (!isAdded(entry) || merged.includes(entry)) continue
    const previous = second.slice(0, at).findLast((one) => merged.includes(one))
    const position = previous === undefined ? 0 : merged.indexOf(previous) + 1
    // Insert after what the other user added at the same position.
    const others = merged.slice(position).findIndex((one) => !isAdded(one) || second.includes(one))
    merged.splice(others === -1 ? merged.length : position + others, 0, entry)
  }
  const count = (list: readonly string[], key: string) =>
    list.filter((entry) => keyOf(entry) === key).length
  const contradicts = merged
    .map(keyOf)
    .some((key) => count(merged, key) > Math.max(1, count(theirs, key), count(mine, key)))
  return contradicts ? undefined : merged
}

const isList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((entry) => typeof entry === "string")

/** Whether two form values are deeply equal. */
export function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const [fields, others] = [toFieldMap(one), toFieldMap(other)]
  return (
    fields.size === others.size &&
    [...fields].every(([name, value]) => others.has(name) && isSame(value, others.get(name)))
  )
}

/** The fields of an object by name. */
export const toFieldMap = (value: object) => new Map(Object.entries<unknown>({ ...value }))
