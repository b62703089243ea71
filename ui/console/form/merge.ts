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
export function merge(
  { base, theirs, mine }: Versions<unknown>,
  rule?: ListRule,
): { readonly value: unknown } | undefined {
  if (isSame(base, theirs) || isSame(theirs, mine)) return { value: mine }
  if (isSame(base, mine)) return { value: theirs }
  if (isList(base) && isList(theirs) && isList(mine)) {
    const value = mergeLists({ base, theirs, mine })
    return value && { value }
  }
  if (!rule || typeof base !== "string") return undefined
  if (typeof theirs !== "string" || typeof mine !== "string") return undefined
  const entries = (text: string) => text.split(rule.between).filter((entry) => entry.trim() !== "")
  const value = mergeLists(
    { base: entries(base), theirs: entries(theirs), mine: entries(mine) },
    rule.keyOf,
  )
  return value && { value: value.join(rule.join) }
}

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
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length &&
    names.every(
      (name) =>
        Object.hasOwn(other, name) && isSame(Reflect.get(one, name), Reflect.get(other, name)),
    )
  )
}
