import { type ChangeEvent, useEffect, useRef, useState } from "react"
import {
  type Action,
  type Changed,
  parseChanged,
  type Refusal,
  refusalTextAtField,
  undecidedError,
  useAction,
  useReload,
} from "../shell/index.ts"
import { deleteDraft, readDraft, writeDraft } from "./draft.ts"
import {
  addSeen,
  applyEdits,
  type Conflict,
  dropSaved,
  type Edits,
  emptyEdits,
  type FieldName,
  type ListRules,
  markSaved,
  type NameOf,
  rebaseEdits,
  resolveConflict,
  restoreEdits,
  toPartial,
  withChange,
} from "./edits.ts"
import { namesIn } from "./lines.ts"

export type FormOptions<Values extends object, Answer> = {
  /** Identifies the form among others on the page; drafts are stored under it. */
  readonly id: string
  /**
   * The server's values as last rendered. An open form follows their changes in fields that the
   * user hasn't changed.
   */
  readonly initial: Values
  /** How list texts are parsed, so that changes of two users are merged. */
  readonly lists?: ListRules<Values>
  /** Whether to reload before saving, because the operations don't check a version. */
  readonly readBeforeSave?: boolean
  /**
   * Never stored in drafts, such as passwords. If others change a value after a secret was typed,
   * the user must decide before saving, because it may determine where the secret is sent.
   */
  readonly secret?: readonly FieldName<Values>[]
  /**
   * Whether saving makes the user the author of all values, which then don't apply to users who
   * outrank the author. Changes by others must be decided before saving.
   */
  readonly authored?: boolean
  /**
   * If saving takes several calls, `stored` must be called with the values that each has stored. If
   * a later call fails, the page is reloaded, and these values don't count as changes by others.
   */
  readonly save: (values: Values, stored: (part: Partial<Values>) => void) => Promise<Answer>
  /** Called after saving, when the page shows the current values. */
  readonly done?: (answer: Answer) => unknown
  /**
   * Maps errors to fields if the server uses other names: server field names, error IDs or their
   * prefixes.
   */
  readonly refusals?: Partial<Readonly<Record<FieldName<Values>, readonly string[]>>>
}

export type Form<Values extends object> = {
  readonly values: Values
  readonly change: (part: Partial<Values>) => void
  /** Changes one value. */
  readonly put: <Name extends FieldName<Values>>(name: Name, value: Values[Name]) => void
  /** Whether anything differs from the server's values or the last saved ones. */
  readonly dirty: boolean
  /** Fields that others changed differently; they must be decided before saving. */
  readonly conflicts: readonly Conflict<Values>[]
  /** Author and time of the last change, if the server returned them. */
  readonly changed: Changed | undefined
  readonly decide: (name: string, keeps: "mine" | "theirs") => void
  /** Whether a draft was restored after a reload or sign-in. */
  readonly restored: boolean
  readonly action: Action
  /** The field of the last error. */
  readonly refusedField: string | undefined
  /** The server's error message for a field. */
  readonly errorOf: (name: FieldName<Values>) => string | undefined
  /** The props of a text input. */
  readonly text: (name: NameOf<Values, string>) => TextInputProps
  /** Discards all changes. */
  readonly discard: () => void
}

type TextInputProps = {
  readonly name: string
  readonly value: string
  readonly onChange: (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => void
  readonly maxLength: number
  readonly autoComplete: string
  readonly error: string | undefined
}

/** The state of a form: edits, saving and errors. */
export function useForm<Values extends object, Answer = unknown>(
  options: FormOptions<Values, Answer>,
): Form<Values> {
  const { id, save, done, refusals = {} } = options
  const edited = useEdits(options)
  const { values, conflicts, dirty } = edited
  const [changed, setChanged] = useState<Changed>()
  const [waits, setWaits] = useState(false)
  const reload = useReload()
  const action = useAction(
    async () => {
      setWaits(conflicts.length > 0)
      if (conflicts.length > 0) throw undecidedError()
      const sent = edited.begin()
      try {
        const answer = await saveInParts(save, values, { stored: edited.stored, reload })
        edited.end(sent)
        return answer
      } catch (failure) {
        setChanged((before) => parseChanged(failure) ?? before)
        throw failure
      }
    },
    (answer) => {
      deleteDraft(id)
      edited.settle()
      return done?.(answer)
    },
    { readBeforeSave: options.readBeforeSave, canRepeat: !edited.isSecret || conflicts.length > 0 },
  )
  const isDecided = waits && conflicts.length === 0 && !action.busy
  useEffect(() => {
    if (!isDecided) return
    setWaits(false)
    // If the user took all of the other values, there is nothing to save.
    if (dirty) action.run()
  }, [isDecided, dirty, action.run])
  const { refusal } = action
  const refused = refusal && fieldOfRefusal(values, refusals, refusal)
  const errorOf = (name: FieldName<Values>) =>
    refusal && refused === name ? refusalTextAtField(refusal) : undefined
  const { change } = edited
  return {
    values,
    change,
    put: (name, value) => change(toPartial(name, value)),
    dirty,
    conflicts,
    changed,
    decide: edited.decide,
    restored: edited.restored,
    action,
    refusedField: refused,
    errorOf,
    text: (name) => ({
      name,
      value: String(values[name]),
      onChange: ({ target }) => change(toPartial<Values, string>(name, target.value)),
      maxLength: 200,
      autoComplete: "off",
      error: errorOf(name),
    }),
    discard: edited.drop,
  }
}

type SaveOptions<Values> = {
  readonly stored: (part: Partial<Values>) => void
  readonly reload: () => Promise<void>
}

/**
 * Reloads the page if only some calls succeeded, so that the next attempt starts from the stored
 * values.
 */
async function saveInParts<Values extends object, Answer>(
  save: FormOptions<Values, Answer>["save"],
  values: Values,
  { stored, reload }: SaveOptions<Values>,
): Promise<Answer> {
  let isBegun = false
  try {
    return await save(values, (part) => {
      isBegun = true
      stored(part)
    })
  } catch (failure) {
    if (isBegun) await reload()
    throw failure
  }
}

type EditOptions<Values extends object> = Pick<
  FormOptions<Values, unknown>,
  "id" | "initial" | "lists" | "secret" | "authored"
>

/** The user's edits on top of the server's values; they survive a reload of the page. */
function useEdits<Values extends object>(options: EditOptions<Values>) {
  const { id, initial: now, lists: rules, secret = [], authored = false } = options
  const [draft] = useState(() => restoreEdits(now, readDraft(id) ?? {}))
  const [edits, setEdits] = useState(() => draft ?? emptyEdits<Values>())
  const over = useRef(false)
  const { values, conflicts, unsaved } = applyEdits(now, edits, rules)
  const isSecret = (name: FieldName<Values>) => secret.some((one) => one === name)
  const isGuarded = (name: FieldName<Values>) => authored || isSecret(name)
  const names = namesIn(unsaved)
  const draftFields = names
    .filter((name) => !isSecret(name))
    .map((name) => [name, unsaved[name]] as const)
  const stored =
    draftFields.length > 0 ? JSON.stringify(Object.fromEntries(draftFields)) : undefined
  useEffect(() => {
    if (over.current) return
    if (stored !== undefined) writeDraft(id, stored)
    else deleteDraft(id)
  }, [id, stored])
  return {
    values,
    conflicts,
    dirty: names.length > 0,
    isSecret: names.some(isSecret),
    restored: draft !== undefined,
    change: (changed: Partial<Values>) =>
      setEdits((before) => withChange(before, { now, changed, rules, isGuarded })),
    decide: (name: string, keeps: "mine" | "theirs") => {
      const conflict = conflicts.find((each) => each.name === name)
      if (conflict) setEdits((before) => resolveConflict(before, conflict, keeps))
    },
    /** Returns the edits to send, to be compared with the edits at the end of saving. */
    begin: (): Edits<Values> => {
      setEdits((before) => rebaseEdits(before, unsaved))
      return unsaved
    },
    stored: (part: Partial<Values>) => setEdits((before) => addSeen(before, part)),
    end: (sent: Edits<Values>) => setEdits((before) => markSaved(before, sent)),
    /** Called when the page shows the server's current values. */
    settle: () => setEdits(dropSaved<Values>),
    drop: () => {
      over.current = true
      deleteDraft(id)
    },
  }
}

function fieldOfRefusal<Values extends object>(
  values: Values,
  refusals: NonNullable<FormOptions<Values, unknown>["refusals"]>,
  { id, field }: Refusal,
): FieldName<Values> | undefined {
  const mappedField = namesIn(refusals).find((name) =>
    refusals[name]?.some((one) => one === field || id.startsWith(one)),
  )
  return mappedField ?? namesIn(values).find((name) => name === field)
}
