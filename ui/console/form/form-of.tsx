import type { ReactNode } from "react"
import { Button } from "../../kit/index.ts"
import { May, type Needs } from "../shell/index.ts"
import { type Controls, controlsOf } from "./controls.tsx"
import { DialogForm, Fields } from "./form.tsx"
import { type FormOptions, useForm } from "./use-form.ts"
import { formId, useOpen } from "./use-open.ts"

/** A form as what it holds, its controls, and what becomes of it. */
type FormSpec<Values extends object, Answer> = Omit<FormOptions<Values, Answer>, "id" | "done"> & {
  readonly fields: (controls: Controls<Values>) => ReactNode
  /** What the button does; saving, where nothing is said. */
  readonly submit?: string
  readonly disabled?: (values: Values) => boolean
  /** In place of closing it. */
  readonly done?: (answer: Answer, close: () => void) => unknown
}

/** Where a form stands: in a dialog where that has a title, else in the place of something. */
export type FormPlacement = {
  readonly id: string
  readonly close: () => void
  readonly title?: string
  readonly submit?: string | undefined
}

/** A form that stands wherever it is put. */
export type RenderForm = (placed: FormPlacement) => ReactNode

export const formOf =
  <Values extends object, Answer>(spec: FormSpec<Values, Answer>): RenderForm =>
  (placed) => <SpecForm key={placed.id} {...placed} spec={spec} />

type SpecFormProps<Values extends object, Answer> = FormPlacement & {
  readonly spec: FormSpec<Values, Answer>
}

function SpecForm<Values extends object, Answer>(props: SpecFormProps<Values, Answer>) {
  const { id, title, close, spec } = props
  const { fields, disabled, done, submit = props.submit, ...options } = spec
  const form = useForm({
    ...options,
    id,
    done: (answer) => (done ? done(answer, close) : close()),
  })
  const shared = { form, submit, onCancel: close, disabled: disabled?.(form.values) ?? false }
  const controls = fields(controlsOf(form, title !== undefined))
  if (title === undefined) return <Fields {...shared}>{controls}</Fields>
  return (
    <DialogForm {...shared} title={title}>
      {controls}
    </DialogForm>
  )
}

type DialogButtonProps = Needs & {
  /** Tells it apart from other forms of the page. */
  readonly family: string
  readonly label: string
  /** What it is about, where there are several. */
  readonly name?: string
  readonly form: RenderForm
  readonly small?: boolean
  readonly primary?: boolean
}

/** A button for who may, that opens a form. */
export function DialogButton(props: DialogButtonProps) {
  const { needs, family, label, name, form, small, primary } = props
  const [open, setOpen] = useOpen(family)
  const title = name === undefined ? label : `${label}: ${name}`
  const close = () => setOpen(undefined)
  return (
    <>
      <May needs={needs}>
        <Button
          kind={primary ? "primary" : small ? "plain" : "normal"}
          {...(name !== undefined && { "aria-label": title })}
          small={small}
          onClick={() => setOpen("new")}
        >
          {label}
        </Button>
      </May>
      {open !== undefined &&
        form({
          id: formId(family, open),
          title,
          submit: name === undefined ? label : undefined,
          close,
        })}
    </>
  )
}
