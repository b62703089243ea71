import { namesIn } from "./lines.ts"
import { fieldsIn, isOfType, isSame, type ListRule, merge } from "./merge.ts"

/** The name of one of a form's values. */
export type FieldName<Values> = keyof Values & string

/** A field that the user has changed. */
export type Edit<Values, Value = Values[FieldName<Values>]> = {
  /** What the field contained when the user began to change it. */
  readonly base: Value
  readonly value: Value
  /** The value has been saved. It is shown until the server's own value arrives. */
  readonly isSaved?: true
  /** The value that the user saved before, which is no change of somebody else's. */
  readonly own?: Value
  /**
   * The server's values when the user began to change a guarded field. Every other value that
   * somebody changes afterwards is a conflict.
   */
  readonly seen?: Values
}

/** The fields that the user has changed, by their names. */
export type Edits<Values> = Readonly<MutableEdits<Values>>

type MutableEdits<Values> = Partial<{
  [Name in FieldName<Values>]: Edit<Values, Values[Name]>
}>

/** The changes of a form in which nothing was changed. */
export function noEdits<Values>(): Edits<Values> {
  const none: MutableEdits<Values> = {}
  return none
}

/** A field that the user and somebody else have changed differently. */
export type Conflict<Values> = {
  readonly name: FieldName<Values>
  readonly theirs: Values[FieldName<Values>]
  readonly mine: Values[FieldName<Values>]
}

/** How the texts of fields list entries, by the names of the fields. */
export type ListRules<Values> = { readonly [Name in FieldName<Values>]?: ListRule }

/** What a form shows, and what it would change. */
export type Merged<Values> = {
  readonly values: Values
  readonly conflicts: readonly Conflict<Values>[]
  /** What differs from the server's values, based on these wherever nothing contradicts. */
  readonly unsaved: Edits<Values>
}

/** The server's values with the user's changes applied to them. */
export function applyEdits<Values extends object>(
  now: Values,
  edits: Edits<Values>,
  rules: ListRules<Values> = {},
): Merged<Values> {
  const values = { ...now }
  const conflicts: Conflict<Values>[] = []
  const unsaved: MutableEdits<Values> = {}
  for (const name of namesIn(edits)) {
    const edit = edits[name]
    if (!edit) continue
    const theirs = now[name]
    if (edit.isSaved) {
      if (isSame(edit.base, theirs)) values[name] = edit.value
      continue
    }
    const base = "own" in edit && isSame(edit.own, theirs) ? theirs : edit.base
    const merged = merge({ base, theirs, mine: edit.value }, rules[name])
    values[name] = merged ? merged.value : edit.value
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
    values[name] = mine
    if (edit) unsaved[name] = edit
    if (!conflicts.some((each) => each.name === name)) conflicts.push(conflict)
  }
  return { values, conflicts, unsaved }
}

/** The server's values that the user has seen, where a change says them. */
function seenBy<Values>(edits: Edits<Values>): Values | undefined {
  const guarded = namesIn(edits).find((name) => edits[name]?.seen !== undefined)
  return guarded && edits[guarded]?.seen
}

/** What somebody else has changed since the user began to change a guarded field. */
function unseenChanges<Values extends object>(
  now: Values,
  edits: Edits<Values>,
  unsaved: Edits<Values>,
): readonly Conflict<Values>[] {
  const seen = seenBy(unsaved)
  if (!seen) return []
  return namesIn(now).flatMap((name): readonly Conflict<Values>[] => {
    const edit = edits[name]
    const [theirs, before] = [now[name], seen[name]]
    const mine = edit && !edit.isSaved ? edit.value : before
    const isOwn = edit?.isSaved && isSame(edit.base, theirs)
    return isOwn || isSame(before, theirs) || isSame(mine, theirs) ? [] : [{ name, theirs, mine }]
  })
}

/** The edits that a function makes of each; without those of which it makes none. */
function mapEdits<Values>(
  edits: Edits<Values>,
  change: (edit: Edit<Values>, name: FieldName<Values>) => Edit<Values> | undefined,
): MutableEdits<Values> {
  const changed: MutableEdits<Values> = {}
  for (const name of namesIn(edits)) {
    const edit = edits[name]
    const next = edit && change(edit, name)
    if (next) changed[name] = next
  }
  return changed
}

/** The same changes, based on the values that the server has now. */
export const rebased = <Values>(edits: Edits<Values>, unsaved: Edits<Values>): Edits<Values> => ({
  ...mapEdits(edits, (edit) => (edit.isSaved ? edit : undefined)),
  ...unsaved,
})

/** The changes after the user has changed some fields of what is shown. */
export function withChange<Values extends object>(
  edits: Edits<Values>,
  { now, changed, rules, isGuarded }: Change<Values>,
): Edits<Values> {
  const { unsaved, conflicts } = applyEdits(now, edits, rules)
  const next: MutableEdits<Values> = { ...rebased(edits, unsaved) }
  const seen = seenBy(next)
  for (const name of namesIn(changed)) {
    const [value, before] = [changed[name], edits[name]]
    if (value === undefined) continue
    const isOpen = conflicts.some((conflict) => conflict.name === name)
    const base = isOpen ? (before ? before.base : (seen ?? now)[name]) : now[name]
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

type Change<Values> = {
  readonly now: Values
  readonly changed: Partial<NoInfer<Values>>
  readonly rules?: ListRules<Values> | undefined
  /** Whether nothing is saved beside a change of this field that the user has not seen. */
  readonly isGuarded?: (name: FieldName<Values>) => boolean
}

/** The changes after some were saved. The server's values have not been read again yet. */
export function afterSaving<Values>(edits: Edits<Values>, sent: Edits<Values>): Edits<Values> {
  const values: Partial<Values> = {}
  for (const name of namesIn(sent)) if (sent[name]) values[name] = sent[name].value
  const next = withSeen(edits, values)
  return mapEdits(next, (edit, name) => {
    const saved = sent[name]
    if (!saved) return edit
    const { base, value } = saved
    return isSame(edit.value, value)
      ? { base, value, isSaved: true }
      : { base, value: edit.value, own: value, ...(edit.seen && { seen: edit.seen }) }
  })
}

/**
 * The changes once the server's values have been read again after saving. What was saved is no
 * change any more: it does not come back where somebody else undoes it.
 */
export const afterReading = <Values>(edits: Edits<Values>): Edits<Values> =>
  mapEdits(edits, (edit) => (edit.isSaved ? undefined : edit))

/** The same changes, made by who has also seen these values. */
export const withSeen = <Values>(
  edits: Edits<Values>,
  values: Partial<NoInfer<Values>>,
): Edits<Values> =>
  mapEdits(edits, (edit) => (edit.seen ? { ...edit, seen: { ...edit.seen, ...values } } : edit))

/** The changes after the user has decided which value of a field to keep. */
export function decided<Values>(
  edits: Edits<Values>,
  { name, theirs, mine }: Conflict<Values>,
  keeps: "mine" | "theirs",
): Edits<Values> {
  const field = partOf(name, theirs)
  const next = mapEdits(withSeen(edits, field), (edit, each) => (each === name ? undefined : edit))
  const seen = seenBy(edits)
  if (keeps === "mine") {
    next[name] = { base: theirs, value: mine, ...(seen && { seen: { ...seen, ...field } }) }
  }
  return next
}

/** The names of those values of a form that are of exactly one type. */
export type NameOf<Values, Type> = {
  [Name in FieldName<Values>]: Values[Name] extends Type
    ? Type extends Values[Name]
      ? Name
      : never
    : never
}[FieldName<Values>]

/** One of a form's values; that its type is right is checked where its name is given. */
export function partOf<Values, Name extends FieldName<Values>>(
  name: Name,
  value: Values[Name],
): Partial<Values>
export function partOf<Values extends object, Type>(
  name: NameOf<Values, Type>,
  value: Type,
): Partial<Values>
export function partOf(name: string, value: unknown): object {
  return { [name]: value }
}

/** Of stored changes those that still fit the form: an update may have changed it. */
export function fittingEdits<Values extends object>(
  now: Values,
  stored: StoredEdits,
): Edits<Values> | undefined {
  const fitting: MutableEdits<Values> = {}
  for (const name of namesIn(now)) {
    const edit = fittingEdit(now, name, stored[name])
    if (edit) fitting[name] = edit
  }
  return namesIn(fitting).length > 0 ? fitting : undefined
}

/** What a draft says of each field; whatever wrote it. */
export type StoredEdits = Readonly<Record<string, StoredEdit>>
type StoredEdit = { readonly base: unknown; readonly value: unknown; readonly seen?: object }

function fittingEdit<Values extends object, Name extends FieldName<Values>>(
  now: Values,
  name: Name,
  stored: StoredEdit | undefined,
): Edit<Values, Values[Name]> | undefined {
  if (!stored) return undefined
  const { base, value, seen } = stored
  if (!isOfType(base, now[name]) || !isOfType(value, now[name])) return undefined
  if (!seen) return { base, value }
  return isOfForm(seen, now) ? { base, value, seen } : undefined
}

/** Whether stored values are of the types of the form's. */
function isOfForm<Values extends object>(stored: object, now: Values): stored is Values {
  const fields = fieldsIn(stored)
  return namesIn(now).every((name) => isOfType(fields.get(name), now[name]))
}
