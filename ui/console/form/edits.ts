import { namesIn } from "./lines.ts"
import { hasSameType, isSame, type ListRule, merge, toFieldMap } from "./merge.ts"

/** The name of a form value. */
export type FieldName<Values> = keyof Values & string

/** A changed field. */
export type Edit<Values, Value = Values[FieldName<Values>]> = {
  /** The value before the change. */
  readonly base: Value
  readonly value: Value
  /** Whether the value was saved; it is shown until the server's value is reloaded. */
  readonly isSaved?: true
  /** The value that the user saved before, to distinguish it from changes by others. */
  readonly own?: Value
  /**
   * The server's values when the user began to change a guarded field. Any later change of another
   * value is a conflict.
   */
  readonly seen?: Values
}

/** The changed fields by name. */
export type Edits<Values> = Readonly<MutableEdits<Values>>

type MutableEdits<Values> = Partial<{
  [Name in FieldName<Values>]: Edit<Values, Values[Name]>
}>

/** The edits of an unchanged form. */
export function emptyEdits<Values>(): Edits<Values> {
  const none: MutableEdits<Values> = {}
  return none
}

/** A field that the user and someone else changed differently. */
export type Conflict<Values> = {
  readonly name: FieldName<Values>
  readonly theirs: Values[FieldName<Values>]
  readonly mine: Values[FieldName<Values>]
}

/** How list texts are parsed, by field name. */
export type ListRules<Values> = { readonly [Name in FieldName<Values>]?: ListRule }

/** The displayed values and the unsaved changes. */
export type Merged<Values> = {
  readonly values: Values
  readonly conflicts: readonly Conflict<Values>[]
  /** Differences from the server's values, rebased on them unless in conflict. */
  readonly unsaved: Edits<Values>
}

/** Applies the user's edits to the server's values. */
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
  for (const conflict of findUnseenChanges(now, edits, unsaved)) {
    const { name, mine } = conflict
    const edit = edits[name]
    values[name] = mine
    if (edit) unsaved[name] = edit
    if (!conflicts.some((each) => each.name === name)) conflicts.push(conflict)
  }
  return { values, conflicts, unsaved }
}

/** The server's values that the user has seen, if an edit contains them. */
function findSeenValues<Values>(edits: Edits<Values>): Values | undefined {
  const guarded = namesIn(edits).find((name) => edits[name]?.seen !== undefined)
  return guarded && edits[guarded]?.seen
}

/** Changes by others since the user began to change a guarded field. */
function findUnseenChanges<Values extends object>(
  now: Values,
  edits: Edits<Values>,
  unsaved: Edits<Values>,
): readonly Conflict<Values>[] {
  const seen = findSeenValues(unsaved)
  if (!seen) return []
  return namesIn(now).flatMap((name): readonly Conflict<Values>[] => {
    const edit = edits[name]
    const [theirs, before] = [now[name], seen[name]]
    const mine = edit && !edit.isSaved ? edit.value : before
    const isOwn = edit?.isSaved && isSame(edit.base, theirs)
    return isOwn || isSame(before, theirs) || isSame(mine, theirs) ? [] : [{ name, theirs, mine }]
  })
}

/** Maps each edit; undefined removes it. */
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

/** Rebases edits on the current server values. */
export const rebaseEdits = <Values>(
  edits: Edits<Values>,
  unsaved: Edits<Values>,
): Edits<Values> => ({
  ...mapEdits(edits, (edit) => (edit.isSaved ? edit : undefined)),
  ...unsaved,
})

/** The edits after the user has changed some displayed fields. */
export function withChange<Values extends object>(
  edits: Edits<Values>,
  { now, changed, rules, isGuarded }: ChangeOptions<Values>,
): Edits<Values> {
  const { unsaved, conflicts } = applyEdits(now, edits, rules)
  const next: MutableEdits<Values> = { ...rebaseEdits(edits, unsaved) }
  const seen = findSeenValues(next)
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

type ChangeOptions<Values> = {
  readonly now: Values
  readonly changed: Partial<NoInfer<Values>>
  readonly rules?: ListRules<Values> | undefined
  /**
   * Whether a change of this field must not be saved together with changes the user has not seen.
   */
  readonly isGuarded?: (name: FieldName<Values>) => boolean
}

/** The edits after some were saved, before the server's values are reloaded. */
export function markSaved<Values>(edits: Edits<Values>, sent: Edits<Values>): Edits<Values> {
  const values: Partial<Values> = {}
  for (const name of namesIn(sent)) if (sent[name]) values[name] = sent[name].value
  const next = addSeen(edits, values)
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
 * Drops saved edits after the server's values were reloaded, so that they don't reappear if someone
 * else reverts them.
 */
export const dropSaved = <Values>(edits: Edits<Values>): Edits<Values> =>
  mapEdits(edits, (edit) => (edit.isSaved ? undefined : edit))

/** The edits after the user has seen these values. */
export const addSeen = <Values>(
  edits: Edits<Values>,
  values: Partial<NoInfer<Values>>,
): Edits<Values> =>
  mapEdits(edits, (edit) => (edit.seen ? { ...edit, seen: { ...edit.seen, ...values } } : edit))

/** The edits after the user has chosen a value for a field in conflict. */
export function resolveConflict<Values>(
  edits: Edits<Values>,
  { name, theirs, mine }: Conflict<Values>,
  keeps: "mine" | "theirs",
): Edits<Values> {
  const field = toPartial(name, theirs)
  const next = mapEdits(addSeen(edits, field), (edit, each) => (each === name ? undefined : edit))
  const seen = findSeenValues(edits)
  if (keeps === "mine") {
    next[name] = { base: theirs, value: mine, ...(seen && { seen: { ...seen, ...field } }) }
  }
  return next
}

/** Names of the form values of exactly one type. */
export type NameOf<Values, Type> = {
  [Name in FieldName<Values>]: Values[Name] extends Type
    ? Type extends Values[Name]
      ? Name
      : never
    : never
}[FieldName<Values>]

/** A partial object with one value; its type is checked where the name is given. */
export function toPartial<Values, Name extends FieldName<Values>>(
  name: Name,
  value: Values[Name],
): Partial<Values>
export function toPartial<Values extends object, Type>(
  name: NameOf<Values, Type>,
  value: Type,
): Partial<Values>
export function toPartial(name: string, value: unknown): object {
  return { [name]: value }
}

/** Restores stored edits that still match the form, which an update may have changed. */
export function restoreEdits<Values extends object>(
  now: Values,
  stored: StoredEdits,
): Edits<Values> | undefined {
  const fitting: MutableEdits<Values> = {}
  for (const name of namesIn(now)) {
    const edit = restoreEdit(now, name, stored[name])
    if (edit) fitting[name] = edit
  }
  return namesIn(fitting).length > 0 ? fitting : undefined
}

/** Stored edits by field name, from any version. */
export type StoredEdits = Readonly<Record<string, StoredEdit>>
type StoredEdit = { readonly base: unknown; readonly value: unknown; readonly seen?: object }

function restoreEdit<Values extends object, Name extends FieldName<Values>>(
  now: Values,
  name: Name,
  stored: StoredEdit | undefined,
): Edit<Values, Values[Name]> | undefined {
  if (!stored) return undefined
  const { base, value, seen } = stored
  if (!hasSameType(base, now[name]) || !hasSameType(value, now[name])) return undefined
  if (!seen) return { base, value }
  return hasFormTypes(seen, now) ? { base, value, seen } : undefined
}

/** Whether stored values have the types of the form's values. */
function hasFormTypes<Values extends object>(stored: object, now: Values): stored is Values {
  const fields = toFieldMap(stored)
  return namesIn(now).every((name) => hasSameType(fields.get(name), now[name]))
}
