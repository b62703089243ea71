import { type ChangeEvent, useEffect, useRef, useState } from "react"
import {
  type Action,
  type Changed,
  changedIn,
  type Refusal,
  refusalTextAtField,
  undecided,
  useAction,
  useReload,
} from "../shell/index.ts"
import { dropDraft, readDraft, writeDraft } from "./draft.ts"
import {
  afterReading,
  afterSaving,
  applyEdits,
  type Conflict,
  decided,
  type Edits,
  type FieldName,
  fittingEdits,
  type ListRules,
  type NameOf,
  noEdits,
  partOf,
  rebased,
  withChange,
  withSeen,
} from "./edits.ts"
import { namesIn } from "./lines.ts"

export type FormOptions<Values extends object, Answer> = {
  /** Tells it apart from other forms of the page; what is typed is kept under it. */
  readonly id: string
  /**
   * The server's values, as the page was last drawn. While the form is open, they are followed
   * wherever the user has changed nothing.
   */
  readonly initial: Values
  /** Which texts list entries, and how: changes of two people to a list are merged. */
  readonly lists?: ListRules<Values>
  /** The operations that save it replace what is stored without a check of its version. */
  readonly readFirst?: boolean
  /**
   * Never kept: passwords and the like. What others change after the user has typed one is decided
   * before anything is saved, for it may say where the secret is sent.
   */
  readonly secret?: readonly FieldName<Values>[]
  /**
   * Whoever saves it becomes the author of all of it, and its values apply to whom its author
   * doesn't outrank. So what others have changed meanwhile is decided before it is saved.
   */
  readonly authored?: boolean
  /**
   * Where it takes several calls, `stored` is called with the values that one of them has stored.
   * If a later call fails, the page is read again, and these are no change of somebody else's.
   */
  readonly save: (values: Values, stored: (part: Partial<Values>) => void) => Promise<Answer>
  /** Once it is saved, and the page shows what is true now. */
  readonly done?: (answer: Answer) => unknown
  /**
   * Which refusals are about which field, where the server calls that otherwise: what it is called
   * there, the ids of the refusals, or what these begin with.
   */
  readonly refusals?: Partial<Readonly<Record<FieldName<Values>, readonly string[]>>>
}

export type Form<Values extends object> = {
  readonly values: Values
  readonly change: (part: Partial<Values>) => void
  /** The same for one value. */
  readonly put: <Name extends FieldName<Values>>(name: Name, value: Values[Name]) => void
  /** Whether anything differs from the server's values, or from what was saved last. */
  readonly dirty: boolean
  /** What somebody else has changed differently since. Nothing is saved until it is decided. */
  readonly conflicts: readonly Conflict<Values>[]
  /** Who made the last change and when, where the server has said so. */
  readonly changed: Changed | undefined
  readonly decide: (name: string, keeps: "mine" | "theirs") => void
  /** What was typed before a reload or a sign-in is there again. */
  readonly restored: boolean
  readonly action: Action
  /** The field that the last refusal is about. */
  readonly refused: string | undefined
  /** What the server says against a field. */
  readonly errorOf: (name: FieldName<Values>) => string | undefined
  /** What a field for one of its texts is wired with. */
  readonly text: (name: NameOf<Values, string>) => TextWiring
  /** Forgets what was typed. */
  readonly drop: () => void
}

type TextWiring = {
  readonly name: string
  readonly value: string
  readonly onChange: (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => void
  readonly maxLength: number
  readonly autoComplete: string
  readonly error: string | undefined
}

/** The one way to make a form: what is typed, how it is sent, and what went wrong. */
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
      if (conflicts.length > 0) throw undecided()
      const sent = edited.begin()
      try {
        const answer = await saveInParts(save, values, { stored: edited.stored, reload })
        edited.end(sent)
        return answer
      } catch (failure) {
        setChanged((before) => changedIn(failure) ?? before)
        throw failure
      }
    },
    (answer) => {
      dropDraft(id)
      edited.settle()
      return done?.(answer)
    },
    { readFirst: options.readFirst, mayRepeat: !edited.isSecret || conflicts.length > 0 },
  )
  const isDecided = waits && conflicts.length === 0 && !action.busy
  useEffect(() => {
    if (!isDecided) return
    setWaits(false)
    // Whoever takes the other's values has nothing left to save.
    if (dirty) action.run()
  }, [isDecided, dirty, action.run])
  const { refusal } = action
  const refused = refusal && fieldOf(values, refusals, refusal)
  const errorOf = (name: FieldName<Values>) =>
    refusal && refused === name ? refusalTextAtField(refusal) : undefined
  const { change } = edited
  return {
    values,
    change,
    put: (name, value) => change(partOf(name, value)),
    dirty,
    conflicts,
    changed,
    decide: edited.decide,
    restored: edited.restored,
    action,
    refused,
    errorOf,
    text: (name) => ({
      name,
      value: String(values[name]),
      onChange: ({ target }) => change(partOf<Values, string>(name, target.value)),
      maxLength: 200,
      autoComplete: "off",
      error: errorOf(name),
    }),
    drop: edited.drop,
  }
}

type Parts<Values> = {
  readonly stored: (part: Partial<Values>) => void
  readonly reload: () => Promise<void>
}

/** Reads the page again where only a part was stored, so that the next try begins with that. */
async function saveInParts<Values extends object, Answer>(
  save: FormOptions<Values, Answer>["save"],
  values: Values,
  { stored, reload }: Parts<Values>,
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

type Editing<Values extends object> = Pick<
  FormOptions<Values, unknown>,
  "id" | "initial" | "lists" | "secret" | "authored"
>

/** What the user has changed, over the server's values; it outlives a reload of the page. */
function useEdits<Values extends object>(options: Editing<Values>) {
  const { id, initial: now, lists: rules, secret = [], authored = false } = options
  const [draft] = useState(() => fittingEdits(now, readDraft(id) ?? {}))
  const [edits, setEdits] = useState(() => draft ?? noEdits<Values>())
  const over = useRef(false)
  const { values, conflicts, unsaved } = applyEdits(now, edits, rules)
  const isSecret = (name: FieldName<Values>) => secret.some((one) => one === name)
  const isGuarded = (name: FieldName<Values>) => authored || isSecret(name)
  const names = namesIn(unsaved)
  const kept = names.filter((name) => !isSecret(name)).map((name) => [name, unsaved[name]] as const)
  const stored = kept.length > 0 ? JSON.stringify(Object.fromEntries(kept)) : undefined
  useEffect(() => {
    if (over.current) return
    if (stored !== undefined) writeDraft(id, stored)
    else dropDraft(id)
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
      if (conflict) setEdits((before) => decided(before, conflict, keeps))
    },
    /** What is sent; it is compared with what has been typed by the time it is saved. */
    begin: (): Edits<Values> => {
      setEdits((before) => rebased(before, unsaved))
      return unsaved
    },
    stored: (part: Partial<Values>) => setEdits((before) => withSeen(before, part)),
    end: (sent: Edits<Values>) => setEdits((before) => afterSaving(before, sent)),
    /** The page shows what the server has now. */
    settle: () => setEdits(afterReading<Values>),
    drop: () => {
      over.current = true
      dropDraft(id)
    },
  }
}

function fieldOf<Values extends object>(
  values: Values,
  refusals: NonNullable<FormOptions<Values, unknown>["refusals"]>,
  { id, field }: Refusal,
): FieldName<Values> | undefined {
  const known = namesIn(refusals).find((name) =>
    refusals[name]?.some((one) => one === field || id.startsWith(one)),
  )
  return known ?? namesIn(values).find((name) => name === field)
}
