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
import { type FieldName, type NameOf, partOf } from "./edits.ts"
import type { Form } from "./use-form.ts"

/** The names of those values of a form that are texts, or some texts only. */
type ChoiceName<Values> = {
  [Name in FieldName<Values>]: Values[Name] extends string ? Name : never
}[FieldName<Values>]

type FieldTexts = {
  readonly hint?: string | undefined
  /** What is wrong with it beside what the server says. */
  readonly error?: string | undefined
  /** It may stay empty, and says so. */
  readonly optional?: boolean
}

type BoundProp = "name" | "value" | "onChange"
type Input = FieldTexts & Omit<InputHTMLAttributes<HTMLInputElement>, BoundProp>
type Area = FieldTexts & Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, BoundProp>

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
  (name: FieldName<Values>, label: string, control: ReactNode, words?: ValueWords): ReactNode => (
    <Contested key={name} form={form} name={name} label={label} words={words}>
      {control}
    </Contested>
  )

/** What is typed or turned. */
function typedOf<Values extends object>(form: Form<Values>, focus: boolean) {
  const contested = contestedBy(form)
  let isFirst = focus
  const wired = (
    name: NameOf<Values, string>,
    { optional, error, ...more }: FieldTexts & { readonly autoComplete?: string | undefined },
  ) => {
    const autoFocus = isFirst
    isFirst = false
    return {
      ...form.text(name),
      autoFocus,
      ...more,
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
        label={label}
        show={t("field.show")}
        hide={t("field.hide")}
        {...wired(name, { autoComplete: "new-password", ...more })}
      />
    ),
    check: (name: NameOf<Values, boolean>, label: string, hint?: string): ReactNode =>
      contested(
        name,
        label,
        <Check
          name={name}
          label={label}
          error={form.errorOf(name)}
          {...(hint && { hint })}
          checked={form.values[name] === true}
          onChange={(on) => form.change(partOf<Values, boolean>(name, on))}
        />,
      ),
    duration: (name: NameOf<Values, Amount>, label: string, more: DurationTexts = {}): ReactNode =>
      contested(
        name,
        label,
        <DurationField
          name={name}
          label={label}
          {...more}
          error={form.errorOf(name)}
          value={amountIn(form.values[name])}
          onChange={(amount) => form.change(partOf<Values, Amount>(name, amount))}
        />,
      ),
  }
}

type DurationTexts = { readonly hint?: string; readonly fallback?: string }

/** What is chosen of a few. */
function chosenOf<Values extends object>(form: Form<Values>) {
  const { values, put } = form
  const contested = contestedBy(form)
  const one = <Name extends ChoiceName<Values>>(
    name: Name,
    choices: Choices<Values[Name] & string>,
  ) => ({
    name,
    value: String(values[name]),
    options: optionsOf(choices),
    onChange: (value: string) => {
      const chosen = choices.of.find((each) => each === value)
      if (chosen !== undefined) put(name, chosen)
    },
  })
  const oneBy =
    (Control: typeof Choice) =>
    <Name extends ChoiceName<Values>>(
      name: Name,
      legend: string,
      choices: Choices<Values[Name] & string>,
    ): ReactNode =>
      contested(name, legend, <Control legend={legend} {...one(name, choices)} />, wordsIn(choices))
  return {
    /** One of a few, each with a line that helps to decide. */
    choice: oneBy(Choice),
    /** The same where the names say enough, above what depends on it. */
    chips: oneBy(Chips),
    select: <Name extends ChoiceName<Values>>(
      name: Name,
      label: string,
      { hint, ...choices }: Choices<Values[Name] & string> & { readonly hint?: string },
    ): ReactNode => {
      const select = <SelectField label={label} hint={hint} {...one(name, choices)} />
      return contested(name, label, select, wordsIn(choices))
    },
    /** Any of a few. */
    checks: <Value extends string>(
      name: NameOf<Values, readonly Value[]>,
      legend: string,
      choices: Choices<Value>,
    ): ReactNode =>
      contested(
        name,
        legend,
        <Checks
          legend={legend}
          options={optionsOf(choices)}
          values={listOf(values[name])}
          onChange={(texts) => {
            const chosen = choices.of.filter((each) => texts.includes(each))
            form.change(partOf<Values, readonly Value[]>(name, chosen))
          }}
        />,
        wordsIn(choices),
      ),
  }
}

/** The values that can be chosen, as people read them. */
type Choices<Value> = Words<Value> & { readonly of: readonly Value[] }

const optionsOf = <Value extends string>({ of, words, hints }: Choices<Value>) =>
  of.map((value): { readonly value: string; readonly label: string; readonly hint: string } => ({
    value,
    label: words(value),
    hint: hints?.(value) ?? "",
  }))

/** What is chosen, in words; what is no longer offered stands for itself. */
const wordsIn =
  <Value extends string>({ of, words }: Choices<Value>): ValueWords =>
  (chosen) =>
    (Array.isArray(chosen) ? chosen : [chosen])
      .map((value) => {
        const known = of.find((each) => each === value)
        return known === undefined ? String(value) : words(known)
      })
      .join("\n")

const listOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map(String) : []
