/** How the text of a field lists entries. */
export type ListRule = {
  /** What is between two entries, as people type it. */
  readonly between: RegExp
  /** The same as a merged text has it. */
  readonly join: string
  /** What an entry is about; two different entries about the same thing contradict each other. */
  readonly keyOf?: (entry: string) => string
}

/** One entry a line. */
export const lineList: ListRule = { between: /\s+/, join: "\n" }

/** Words with spaces between them. */
export const wordList: ListRule = { between: /\s+/, join: " " }

/** A value before two people changed it, and what each of them made of it. */
type Versions<Value> = { readonly base: Value; readonly theirs: Value; readonly mine: Value }

/**
 * What both changes make of a value together; undefined where they contradict each other. Lists
 * have the additions of both, and lack what either removed.
 */
export function merge<Value>(
  versions: Versions<Value>,
  rule?: ListRule,
): { readonly value: Value } | undefined {
  const { base, theirs, mine } = versions
  if (isSame(base, theirs) || isSame(theirs, mine)) return { value: mine }
  if (isSame(base, mine)) return { value: theirs }
  const value = mergeEntries(versions, rule)
  return value !== undefined && isOfType(value, mine) ? { value } : undefined
}

/** The merged list, or the merged text of a list; undefined for other values. */
function mergeEntries({ base, theirs, mine }: Versions<unknown>, rule: ListRule | undefined) {
  if (isList(base) && isList(theirs) && isList(mine)) return mergeLists({ base, theirs, mine })
  if (!rule || typeof base !== "string") return undefined
  if (typeof theirs !== "string" || typeof mine !== "string") return undefined
  const entries = (text: string) => text.split(rule.between).filter((entry) => entry.trim() !== "")
  return mergeLists(
    { base: entries(base), theirs: entries(theirs), mine: entries(mine) },
    rule.keyOf,
  )?.join(rule.join)
}

/** Whether a field with one value can also have the other: both are texts, lists, and so on. */
export const isOfType = <Value>(one: unknown, other: Value): one is Value =>
  typeof one === typeof other && Array.isArray(one) === Array.isArray(other)

/** The same of lists; they contradict each other where both have changed the order otherwise. */
export function mergeLists(
  versions: Versions<readonly string[]>,
  keyOf: (entry: string) => string = (entry) => entry,
): readonly string[] | undefined {
  const [base, theirs, mine] = [
    [...new Set(versions.base)],
    [...new Set(versions.theirs)],
    [...new Set(versions.mine)],
  ]
  const kept = base.filter((entry) => theirs.includes(entry) && mine.includes(entry))
  const orderOf = (list: readonly string[]) => list.filter((entry) => kept.includes(entry))
  const isMoved = (list: readonly string[]) => !isSame(orderOf(list), kept)
  if (isMoved(theirs) && isMoved(mine) && !isSame(orderOf(theirs), orderOf(mine))) {
    return undefined
  }
  const [first, second] = isMoved(mine) ? [mine, theirs] : [theirs, mine]
  const isAdded = (entry: string) => !base.includes(entry)
  const merged = first.filter((entry) => isAdded(entry) || kept.includes(entry))
  for (const [at, entry] of second.entries()) {
    if (!isAdded(entry) || merged.includes(entry)) continue
    const previous = second.slice(0, at).findLast((one) => merged.includes(one))
    const place = previous === undefined ? 0 : merged.indexOf(previous) + 1
    // What the other has added at the same place stays before it.
    const others = merged.slice(place).findIndex((one) => !isAdded(one) || second.includes(one))
    merged.splice(others === -1 ? merged.length : place + others, 0, entry)
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

/** Whether two values of a form are equal, whatever objects they are made of. */
export function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const [fields, others] = [fieldsIn(one), fieldsIn(other)]
  return (
    fields.size === others.size &&
    [...fields].every(([name, value]) => others.has(name) && isSame(value, others.get(name)))
  )
}

/** The fields of any object, by their names. */
export const fieldsIn = (value: object) => new Map(Object.entries<unknown>({ ...value }))
