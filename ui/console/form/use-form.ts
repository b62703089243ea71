import { type ChangeEvent, useEffect, useRef, useState } from "react"
import { type Action, type Refusal, useAction, wordsAtField } from "../shell/index.ts"
import { dropDraft, readDraft, writeDraft } from "./draft.ts"

export type Wanted<Values extends object, Answer> = {
  /** Tells it apart from other forms of the page; what is typed is kept under it. */
  readonly id: string
  readonly initial: Values
  /** Never kept: passwords and the like. */
  readonly secret?: readonly (keyof Values & string)[]
  readonly save: (values: Values) => Promise<Answer>
  /** Once it is saved, and the page shows what is true now. */
  readonly done?: (answer: Answer) => unknown
  /**
   * Which refusals are about which field, where the server calls that otherwise: what it is called
   * there, the ids of the refusals, or what these begin with.
   */
  readonly refusals?: Partial<Readonly<Record<keyof Values & string, readonly string[]>>>
}

export type Form<Values extends object> = {
  readonly values: Values
  readonly change: (part: Partial<Values>) => void
  /** The same for one value, of whose type its control makes sure. */
  readonly put: (name: keyof Values & string, value: unknown) => void
  /** Whether anything differs from what it began with, or what was saved last. */
  readonly dirty: boolean
  /** What was typed before a reload or a sign-in is there again. */
  readonly restored: boolean
  readonly action: Action
  /** The field that the last refusal is about. */
  readonly refused: string | undefined
  /** What the server says against a field. */
  readonly errorOf: (name: keyof Values & string) => string | undefined
  /** What a field for one of its texts is wired with. */
  readonly text: <Name extends TextName<Values>>(name: Name) => TextWiring
  /** Forgets what was typed. */
  readonly drop: () => void
}

type TextName<Values> = {
  [Name in keyof Values & string]: Values[Name] extends string ? Name : never
}[keyof Values & string]

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
  wanted: Wanted<Values, Answer>,
): Form<Values> {
  const { id, secret = [], save, done, refusals = {} } = wanted
  const [initial, setInitial] = useState(wanted.initial)
  const [draft] = useState(() => fittingOf(initial, readDraft(id)))
  const [values, setValues] = useState<Values>({ ...initial, ...draft })
  const dirty = JSON.stringify(values) !== JSON.stringify(initial)
  const over = useRef(false)
  const action = useAction(
    async () => {
      const answer = await save(values)
      setInitial(values)
      return answer
    },
    (answer) => {
      dropDraft(id)
      return done?.(answer)
    },
  )
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is typed says when to keep it
  useEffect(() => {
    if (over.current) return
    const kept = Object.entries(values).filter(([name]) => !secret.some((one) => one === name))
    if (dirty) writeDraft(id, Object.fromEntries(kept))
    else dropDraft(id)
  }, [values])
  const { refusal } = action
  const refused = refusal && fieldOf(values, refusals, refusal)
  const errorOf = (name: string) =>
    refusal && refused === name ? wordsAtField(refusal) : undefined
  const change = (part: Partial<Values>) => setValues((before) => ({ ...before, ...part }))
  const put = (name: string, value: unknown) =>
    setValues((before) => ({ ...before, [name]: value }))
  return {
    values,
    change,
    put,
    dirty,
    restored: draft !== undefined,
    action,
    refused,
    errorOf,
    text: (name) => ({
      name,
      value: String(values[name]),
      onChange: ({ target }) => put(name, target.value),
      maxLength: 200,
      autoComplete: "off",
      error: errorOf(name),
    }),
    drop: () => {
      over.current = true
      dropDraft(id)
    },
  }
}

/** Of a draft, what still is of the form: an update may have changed it. */
function fittingOf<Values extends object>(
  initial: Values,
  draft: Readonly<Record<string, unknown>> | undefined,
): Partial<Values> | undefined {
  if (!draft) return undefined
  const fits = (name: string, value: unknown) => {
    const own: unknown = Reflect.get(initial, name)
    return typeof own === typeof value && Array.isArray(own) === Array.isArray(value)
  }
  const fitting: Partial<Values> = {}
  for (const [name, value] of Object.entries(draft)) {
    if (fits(name, value)) Reflect.set(fitting, name, value)
  }
  return fitting
}

function fieldOf(
  values: object,
  refusals: Readonly<Record<string, readonly string[] | undefined>>,
  { id, field }: Refusal,
): string | undefined {
  const said = Object.keys(refusals).find((name) =>
    refusals[name]?.some((one) => one === field || id.startsWith(one)),
  )
  return said ?? Object.keys(values).find((name) => name === field)
}
