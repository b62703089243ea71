import type { ReactNode } from "react"
import { Button } from "../../kit/index.ts"
import { IfPermitted, type RequiredPermission } from "../shell/index.ts"
import { type Controls, createControls } from "./controls.tsx"
import { DialogForm, FormFields } from "./form.tsx"
import { type FormOptions, useForm } from "./use-form.ts"
import { formId, useOpenForm } from "./use-open.ts"

/** A form with its values, its controls and what happens after saving. */
type FormSpec<Values extends object, Answer> = Omit<FormOptions<Values, Answer>, "id" | "done"> & {
  readonly fields: (controls: Controls<Values>) => ReactNode
  /** Label of the submit button; "Save" by default. */
  readonly submit?: string
  readonly disabled?: (values: Values) => boolean
  /** Called after saving instead of closing the form. */
  readonly done?: (answer: Answer, close: () => void) => unknown
}

/** Where a form is rendered: in a dialog if it has a title, otherwise inline. */
export type FormPlacement = {
  readonly id: string
  readonly close: () => void
  readonly title?: string
  readonly submit?: string | undefined
}

/** Renders a form at a placement. */
export type RenderForm = (placement: FormPlacement) => ReactNode

export const defineForm =
  <Values extends object, Answer>(spec: FormSpec<Values, Answer>): RenderForm =>
  (placement) => <SpecForm key={placement.id} {...placement} spec={spec} />

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
  const controls = fields(createControls(form, title !== undefined))
  if (title === undefined) return <FormFields {...shared}>{controls}</FormFields>
  return (
    <DialogForm {...shared} title={title}>
      {controls}
    </DialogForm>
  )
}

type DialogButtonProps = RequiredPermission & {
  /** Identifies the form among others on the page. */
  readonly family: string
  readonly label: string
  /** The resource of the form, if there are several. */
  readonly name?: string
  readonly form: RenderForm
  readonly small?: boolean
  readonly primary?: boolean
}

/** A button that opens a form, for callers with permission. */
export function DialogButton(props: DialogButtonProps) {
  const { needs, family, label, name, form, small, primary } = props
  const [open, setOpen] = useOpenForm(family)
  const title = name === undefined ? label : `${label}: ${name}`
  const close = () => setOpen(undefined)
  return (
    <>
      <IfPermitted needs={needs}>
        <Button
          kind={primary ? "primary" : small ? "plain" : "normal"}
          {...(name !== undefined && { "aria-label": title })}
          small={small}
          onClick={() => setOpen("new")}
        >
          {label}
        </Button>
      </IfPermitted>
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
