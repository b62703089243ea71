import type { InputHTMLAttributes, ReactNode, TextareaHTMLAttributes } from "react"
import {
  Check,
  Checks,
  Chips,
  Choice,
  PasswordField,
  SelectField,
  TextArea,
  TextField,
} from "../../kit/index.ts"
import { t } from "../shell/index.ts"
import { Contested } from "./conflict.tsx"
import { type Amount, amountIn } from "./duration.ts"
import { DurationField } from "./duration-field.tsx"
import type { Form } from "./use-form.ts"

/** The names of those values of a form that are of one type. */
type NameOf<Values, Type> = {
  [Name in keyof Values & string]: Values[Name] extends Type ? Name : never
}[keyof Values & string]

type Said = {
  readonly hint?: string | undefined
  /** What is wrong with it beside what the server says. */
  readonly error?: string | undefined
  /** It may stay empty, and says so. */
  readonly optional?: boolean
}

type Bound = "name" | "value" | "onChange"
type Input = Said & Omit<InputHTMLAttributes<HTMLInputElement>, Bound>
type Area = Said & Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, Bound>

/** How the values are called that can be chosen, and the line that helps to decide. */
type Words<Value> = {
  readonly words: (value: Value) => string
  readonly hints?: (value: Value) => string
}

/** What names and addresses are typed with: nothing puts in capitals or corrects. */
export const verbatim = { autoCapitalize: "none", spellCheck: false } as const

/** The controls of a form, each bound to one of its values by name. */
export type Controls<Values extends object> = ReturnType<typeof controlsOf<Values>>

/** `focus`: the first text gets it, once it is there. */
export const controlsOf = <Values extends object>(form: Form<Values>, focus = false) => ({
  ...form,
  ...typedOf(form, focus),
  ...chosenOf(form),
  /** Shows beside a control of one's own what somebody else has made of its value since. */
  contested: contestedBy(form),
})

/** A value as people read it. */
type ValueWords = (value: unknown) => string

const contestedBy =
  <Values extends object>(form: Form<Values>) =>
  (
    ...[name, label, control, words]: [keyof Values & string, string, ReactNode, ValueWords?]
  ): ReactNode => (
    <Contested key={name} {...{ form, name, label, words }}>
      {control}
    </Contested>
  )

/** What is typed or turned. */
function typedOf<Values extends object>(form: Form<Values>, focus: boolean) {
  const contested = contestedBy(form)
  let isFirst = focus
  const wired = (
    name: NameOf<Values, string>,
    { optional, error, ...more }: Said & { readonly autoComplete?: string | undefined },
  ) => {
    const autoFocus = isFirst
    isFirst = false
    return {
      ...{ ...form.text(name), autoFocus, ...more },
      ...(error && { error }),
      ...(optional && { optional: t("form.optional") }),
    }
  }
  return {
    text: (name: NameOf<Values, string>, label: string, more: Input = {}): ReactNode =>
      contested(name, label, <TextField label={label} {...wired(name, more)} />),
    area: (name: NameOf<Values, string>, label: string, more: Area = {}): ReactNode =>
      contested(name, label, <TextArea label={label} {...wired(name, more)} />),
    /** Nobody reads a secret, so two people can't be shown each other's. */
    secret: (name: NameOf<Values, string>, label: string, more: Input = {}): ReactNode => (
      <PasswordField
        key={name}
        {...{ label, show: t("field.show"), hide: t("field.hide") }}
        {...wired(name, { autoComplete: "new-password", ...more })}
      />
    ),
    check: (name: NameOf<Values, boolean>, label: string, hint?: string): ReactNode =>
      contested(
        name,
        label,
        <Check
          {...{ name, label, error: form.errorOf(name), ...(hint && { hint }) }}
          checked={form.values[name] === true}
          onChange={(on) => form.put(name, on)}
        />,
      ),
    duration: (name: NameOf<Values, Amount>, label: string, more: Lasting = {}): ReactNode =>
      contested(
        name,
        label,
        <DurationField
          {...{ name, label, ...more, error: form.errorOf(name) }}
          value={amountIn(form.values[name])}
          onChange={(amount) => form.put(name, amount)}
        />,
      ),
  }
}

type Lasting = { readonly hint?: string; readonly fallback?: string }

/** What is chosen of a few. */
function chosenOf<Values extends object>(form: Form<Values>) {
  const { values, put } = form
  const contested = contestedBy(form)
  const one = <Value extends string>(name: keyof Values & string, asked: Of<Value>) => ({
    ...{ name, value: String(values[name]), onChange: (value: string) => put(name, value) },
    options: optionsOf(asked),
  })
  return {
    /** One of a few, each with a line that helps to decide. */
    choice: <Name extends NameOf<Values, string>>(
      name: Name,
      legend: string,
      asked: Of<Values[Name] & string>,
    ): ReactNode =>
      contested(name, legend, <Choice legend={legend} {...one(name, asked)} />, wordsIn(asked)),
    /** The same where the names say enough, above what depends on it. */
    chips: <Name extends NameOf<Values, string>>(
      name: Name,
      legend: string,
      asked: Of<Values[Name] & string>,
    ): ReactNode =>
      contested(name, legend, <Chips legend={legend} {...one(name, asked)} />, wordsIn(asked)),
    select: <Name extends NameOf<Values, string>>(
      name: Name,
      label: string,
      { hint, ...asked }: Of<Values[Name] & string> & { readonly hint?: string },
    ): ReactNode => {
      const select = <SelectField {...{ label, hint }} {...one(name, asked)} />
      return contested(name, label, select, wordsIn(asked))
    },
    /** Any of a few. */
    checks: <Value extends string>(
      name: NameOf<Values, readonly string[]>,
      legend: string,
      asked: Of<Value>,
    ): ReactNode =>
      contested(
        name,
        legend,
        <Checks
          {...{ legend, options: optionsOf(asked), values: listOf(values[name]) }}
          onChange={(chosen) => put(name, chosen)}
        />,
        wordsIn(asked),
      ),
  }
}

type Of<Value> = Words<Value> & { readonly of: readonly Value[] }

const optionsOf = <Value extends string>({ of, words, hints }: Of<Value>) =>
  of.map((value): { readonly value: string; readonly label: string; readonly hint: string } => ({
    ...{ value, label: words(value), hint: hints?.(value) ?? "" },
  }))

/** What is chosen, in words; what is no longer offered stands for itself. */
const wordsIn =
  <Value extends string>({ of, words }: Of<Value>): ValueWords =>
  (chosen) =>
    (Array.isArray(chosen) ? chosen : [chosen])
      .map((value) => {
        const known = of.find((each) => each === value)
        return known === undefined ? String(value) : words(known)
      })
      .join("\n")

const listOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map(String) : []
