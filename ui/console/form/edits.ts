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
      unsaved[name] = { base: theirs, value: merged.value }
    }
  }
  return { values, conflicts, unsaved }
}

/** The same changes, based on the values that the server has now. */
export const rebased = (edits: Edits, unsaved: Edits): Edits => ({
  ...Object.fromEntries(Object.entries(edits).filter(([, { isSaved }]) => isSaved)),
  ...unsaved,
})

/** The changes after the user has changed some fields of what is shown. */
export function withChange(edits: Edits, { now, changed, rules }: Change): Edits {
  const { unsaved, conflicts } = applyEdits(now, edits, rules)
  const next: Record<string, Edit> = { ...rebased(edits, unsaved) }
  for (const [name, value] of Object.entries<unknown>({ ...changed })) {
    const before = edits[name]
    const isOpen = conflicts.some((conflict) => conflict.name === name)
    const base: unknown = isOpen ? before?.base : Reflect.get(now, name)
    next[name] = { base, value, ...(before?.isSaved && { own: before.value }) }
  }
  return next
}

type Change = {
  readonly now: object
  readonly changed: object
  readonly rules?: ListRules | undefined
}

/** The changes after some were saved. The server's values have not been read again yet. */
export function afterSaving(edits: Edits, sent: Edits): Edits {
  const next: Record<string, Edit> = { ...edits }
  for (const [name, { base, value }] of Object.entries(sent)) {
    const edit = edits[name]
    if (!edit) continue
    next[name] = isSame(edit.value, value)
      ? { base, value, isSaved: true }
      : { base, value: edit.value, own: value }
  }
  return next
}

/** The changes after the user has decided which value of a field to keep. */
export function decided(edits: Edits, { name, theirs, mine }: Conflict, keeps: "mine" | "theirs") {
  const { [name]: _, ...others } = edits
  return keeps === "theirs" ? others : { ...others, [name]: { base: theirs, value: mine } }
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
