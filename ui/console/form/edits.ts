import { isSame, type ListRule, merge } from "./merge.ts"

/** A field that the user has changed. */
export type Edit = {
  /** What the field contained when the user began to change it. */
  readonly base: unknown
  readonly value: unknown
  /** The value has been saved. It is shown until the server's own value arrives. */
  readonly isSaved?: true
  /** The value that the user saved before, which is no change of somebody else's. */
  readonly own?: unknown
  /**
   * The server's values when the user began to change a guarded field. Every other value that
   * somebody changes afterwards is a conflict.
   */
  readonly seen?: object
}

/** The fields that the user has changed, by their names. */
export type Edits = Readonly<Record<string, Edit>>

/** A field that the user and somebody else have changed differently. */
export type Conflict = {
  readonly name: string
  readonly theirs: unknown
  readonly mine: unknown
}

/** How the texts of fields list entries, by the names of the fields. */
export type ListRules = Readonly<Record<string, ListRule | undefined>>

/** What a form shows, and what it would change. */
export type Merged<Values> = {
  readonly values: Values
  readonly conflicts: readonly Conflict[]
  /** What differs from the server's values, based on these wherever nothing contradicts. */
  readonly unsaved: Edits
}

/** The server's values with the user's changes applied to them. */
export function applyEdits<Values extends object>(
  now: Values,
  edits: Edits,
  rules: ListRules = {},
): Merged<Values> {
  const values = { ...now }
  const conflicts: Conflict[] = []
  const unsaved: Record<string, Edit> = {}
  for (const [name, edit] of Object.entries(edits)) {
    const theirs: unknown = Reflect.get(now, name)
    if (edit.isSaved) {
      if (isSame(edit.base, theirs)) Reflect.set(values, name, edit.value)
      continue
    }
    const base = "own" in edit && isSame(edit.own, theirs) ? theirs : edit.base
    const merged = merge({ base, theirs, mine: edit.value }, rules[name])
    Reflect.set(values, name, merged ? merged.value : edit.value)
    if (!merged) {
      conflicts.push({ name, theirs, mine: edit.value })
      unsaved[name] = edit
    } else if (!isSame(merged.value, theirs)) {
      unsaved[name] = { base: theirs, value: merged.value, ...(edit.seen && { seen: edit.seen }) }
    }
  }
  for (const conflict of unseenChanges(now, edits, unsaved)) {
    const { name, mine } = conflict
    const edit = edits[name]
    Reflect.set(values, name, mine)
    if (edit) unsaved[name] = edit
    if (!conflicts.some((each) => each.name === name)) conflicts.push(conflict)
  }
  return { values, conflicts, unsaved }
}

const seenBy = (edits: Edits): object | undefined =>
  Object.values(edits).find(({ seen }) => seen !== undefined)?.seen

/** What somebody else has changed since the user began to change a guarded field. */
function unseenChanges(now: object, edits: Edits, unsaved: Edits): readonly Conflict[] {
  const seen = seenBy(unsaved)
  if (!seen) return []
  return Object.entries<unknown>({ ...now }).flatMap(([name, theirs]) => {
    const edit = edits[name]
    const before: unknown = Reflect.get(seen, name)
    const mine = edit && !edit.isSaved ? edit.value : before
    const isOwn = edit?.isSaved && isSame(edit.base, theirs)
    const isSeen = !(name in seen) || isSame(before, theirs)
    return isOwn || isSeen || isSame(mine, theirs) ? [] : [{ name, theirs, mine }]
  })
}

/** The same changes, based on the values that the server has now. */
export const rebased = (edits: Edits, unsaved: Edits): Edits => ({
  ...Object.fromEntries(Object.entries(edits).filter(([, { isSaved }]) => isSaved)),
  ...unsaved,
})

/** The changes after the user has changed some fields of what is shown. */
export function withChange(edits: Edits, { now, changed, rules, isGuarded }: Change): Edits {
  const { unsaved, conflicts } = applyEdits(now, edits, rules)
  const next: Record<string, Edit> = { ...rebased(edits, unsaved) }
  const seen = seenBy(next)
  for (const [name, value] of Object.entries<unknown>({ ...changed })) {
    const before = edits[name]
    const isOpen = conflicts.some((conflict) => conflict.name === name)
    const base: unknown = isOpen
      ? (before?.base ?? Reflect.get(seen ?? now, name))
      : Reflect.get(now, name)
    const isKept = isGuarded?.(name) || next[name]?.seen
    next[name] = {
      base,
      value,
      ...(before?.isSaved && { own: before.value }),
      ...(isKept && { seen: seen ?? now }),
    }
  }
  return next
}

type Change = {
  readonly now: object
  readonly changed: object
  readonly rules?: ListRules | undefined
  /** Whether nothing is saved beside a change of this field that the user has not seen. */
  readonly isGuarded?: (name: string) => boolean
}

/** The changes after some were saved. The server's values have not been read again yet. */
export function afterSaving(edits: Edits, sent: Edits): Edits {
  const values = Object.fromEntries(Object.entries(sent).map(([name, { value }]) => [name, value]))
  const next: Record<string, Edit> = { ...withSeen(edits, values) }
  for (const [name, { base, value }] of Object.entries(sent)) {
    const edit = next[name]
    if (!edit) continue
    next[name] = isSame(edit.value, value)
      ? { base, value, isSaved: true }
      : { base, value: edit.value, own: value, ...(edit.seen && { seen: edit.seen }) }
  }
  return next
}

/**
 * The changes once the server's values have been read again after saving. What was saved is no
 * change any more: it does not come back where somebody else undoes it.
 */
export const afterReading = (edits: Edits): Edits =>
  Object.fromEntries(Object.entries(edits).filter(([, { isSaved }]) => !isSaved))

/** The same changes, made by who has also seen these values. */
export const withSeen = (edits: Edits, values: object): Edits =>
  Object.fromEntries(
    Object.entries(edits).map(([name, edit]) => [
      name,
      edit.seen ? { ...edit, seen: { ...edit.seen, ...values } } : edit,
    ]),
  )

/** The changes after the user has decided which value of a field to keep. */
export function decided(edits: Edits, { name, theirs, mine }: Conflict, keeps: "mine" | "theirs") {
  const { [name]: _, ...others } = withSeen(edits, { [name]: theirs })
  if (keeps === "theirs") return others
  const seen = seenBy(edits)
  const edit = { base: theirs, value: mine, ...(seen && { seen: { ...seen, [name]: theirs } }) }
  return { ...others, [name]: edit }
}

/** Of stored changes those that still fit the form: an update may have changed it. */
export function fittingEdits(now: object, edits: Edits): Edits | undefined {
  const fits = ([name, { base, value }]: [string, Edit]) => {
    const theirs: unknown = Reflect.get(now, name)
    return [base, value].every(
      (one) => typeof one === typeof theirs && Array.isArray(one) === Array.isArray(theirs),
    )
  }
  const fitting = Object.entries(edits).filter(fits)
  return fitting.length > 0 ? Object.fromEntries(fitting) : undefined
}
