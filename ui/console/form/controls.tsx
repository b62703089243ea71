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
import { ContestedField } from "./conflict.tsx"
import { type Amount, toAmount } from "./duration.ts"
import { DurationField } from "./duration-field.tsx"
import { type FieldName, type NameOf, toPartial } from "./edits.ts"
import type { Form } from "./use-form.ts"

/** Names of the form values whose type is text or a union of texts. */
type ChoiceName<Values> = {
  [Name in FieldName<Values>]: Values[Name] extends string ? Name : never
}[FieldName<Values>]

type FieldOptions = {
  readonly hint?: string | undefined
  /** An error besides the server's. */
  readonly error?: string | undefined
  /** Whether the field can be empty, which is shown. */
  readonly optional?: boolean
}

type BoundProp = "name" | "value" | "onChange"
type Input = FieldOptions & Omit<InputHTMLAttributes<HTMLInputElement>, BoundProp>
type Area = FieldOptions & Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, BoundProp>

/** Labels and hints of selectable values. */
type ValueLabels<Value> = {
  readonly label: (value: Value) => string
  readonly hints?: (value: Value) => string
}

/** Attributes for names and addresses: no capitalization or correction. */
export const verbatim = { autoCapitalize: "none", spellCheck: false } as const

/** Controls of a form, bound to its values by name. */
export type Controls<Values extends object> = ReturnType<typeof createControls<Values>>

/** With `focus`, the first text control is focused when it appears. */
export const createControls = <Values extends object>(form: Form<Values>, focus = false) => ({
  ...form,
  ...inputControls(form, focus),
  ...choiceControls(form),
  /** Shows conflicts next to a custom control. */
  contested: createContested(form),
})

/** Formats a value for display. */
type FormatValue = (value: unknown) => string

const createContested =
  <Values extends object>(form: Form<Values>) =>
  (
    name: FieldName<Values>,
    label: string,
    control: ReactNode,
    toLabel?: FormatValue,
  ): ReactNode => (
    <ContestedField key={name} form={form} name={name} label={label} format={toLabel}>
      {control}
    </ContestedField>
  )

/** Controls for typed values and switches. */
function inputControls<Values extends object>(form: Form<Values>, focus: boolean) {
  const contested = createContested(form)
  let isFirst = focus
  const wired = (
    name: NameOf<Values, string>,
    { optional, error, ...more }: FieldOptions & { readonly autoComplete?: string | undefined },
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
    /** Secrets are not displayed, so conflicts between them can't be shown. */
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
          onChange={(on) => form.change(toPartial<Values, boolean>(name, on))}
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
          value={toAmount(form.values[name])}
          onChange={(amount) => form.change(toPartial<Values, Amount>(name, amount))}
        />,
      ),
  }
}

type DurationTexts = { readonly hint?: string; readonly fallback?: string }

/** Controls to select among a few values. */
function choiceControls<Values extends object>(form: Form<Values>) {
  const { values, put } = form
  const contested = createContested(form)
  const one = <Name extends ChoiceName<Values>>(
    name: Name,
    choices: ChoiceOptions<Values[Name] & string>,
  ) => ({
    name,
    value: String(values[name]),
    options: toOptions(choices),
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
      choices: ChoiceOptions<Values[Name] & string>,
    ): ReactNode =>
      contested(
        name,
        legend,
        <Control legend={legend} {...one(name, choices)} />,
        formatChosen(choices),
      )
  return {
    /** One of a few values, each with a hint. */
    choice: oneBy(Choice),
    /** One of a few values without hints, above the fields that depend on it. */
    chips: oneBy(Chips),
    select: <Name extends ChoiceName<Values>>(
      name: Name,
      label: string,
      { hint, ...choices }: ChoiceOptions<Values[Name] & string> & { readonly hint?: string },
    ): ReactNode => {
      const select = <SelectField label={label} hint={hint} {...one(name, choices)} />
      return contested(name, label, select, formatChosen(choices))
    },
    /** Several of a few values. */
    checks: <Value extends string>(
      name: NameOf<Values, readonly Value[]>,
      legend: string,
      choices: ChoiceOptions<Value>,
    ): ReactNode =>
      contested(
        name,
        legend,
        <Checks
          legend={legend}
          options={toOptions(choices)}
          values={toTextList(values[name])}
          onChange={(texts) => {
            const chosen = choices.of.filter((each) => texts.includes(each))
            form.change(toPartial<Values, readonly Value[]>(name, chosen))
          }}
        />,
        formatChosen(choices),
      ),
  }
}

/** The selectable values and their labels. */
type ChoiceOptions<Value> = ValueLabels<Value> & { readonly of: readonly Value[] }

const toOptions = <Value extends string>({ of, label: toLabel, hints }: ChoiceOptions<Value>) =>
  of.map((value): { readonly value: string; readonly label: string; readonly hint: string } => ({
    value,
    label: toLabel(value),
    hint: hints?.(value) ?? "",
  }))

/** Formats selected values; values that are no longer offered are shown as is. */
const formatChosen =
  <Value extends string>({ of, label: toLabel }: ChoiceOptions<Value>): FormatValue =>
  (chosen) =>
    (Array.isArray(chosen) ? chosen : [chosen])
      .map((value) => {
        const option = of.find((each) => each === value)
        return option === undefined ? String(value) : toLabel(option)
      })
      .join("\n")

const toTextList = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map(String) : []
