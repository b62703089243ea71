import { type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react"
import { Button, Dialog } from "../../kit/index.ts"
import {
  Facts,
  type FactsProps,
  IfPermitted,
  isUndecided,
  RefusalAlert,
  type RequiredPermission,
  Section,
  t,
} from "../shell/index.ts"
import { ConflictBox, ConflictRegistryContext } from "./conflict.tsx"
import type { Form } from "./use-form.ts"
import { formId, useOpenForm } from "./use-open.ts"

type FormFieldsProps<Values extends object> = {
  readonly form: Form<Values>
  /** Label of the submit button; "Save" by default. */
  readonly submit?: string | undefined
  readonly danger?: boolean
  readonly disabled?: boolean
  readonly onCancel?: () => void
  readonly children: ReactNode
}

/**
 * Fields that are saved together. An error is shown at its field, which gets the focus, otherwise
 * next to the button.
 */
export function FormFields<Values extends object>(props: FormFieldsProps<Values>) {
  const { form, submit, danger, disabled, onCancel, children } = props
  const { action, refusedField: refused, restored, conflicts } = form
  const ref = useRef<HTMLFormElement>(null)
  const isOpen = action.refusal && isUndecided(action.refusal)
  const refusal = isOpen && conflicts.length === 0 ? undefined : action.refusal
  const { places, placed: placement } = useConflictRegistry()
  const [isAtField, setAtField] = useState(false)
  useLayoutEffect(() => {
    const field = refusal && refused && ref.current?.elements.namedItem(refused)
    setAtField(field instanceof HTMLElement)
    if (field instanceof HTMLElement) field.focus()
  }, [refusal, refused])
  useEffect(() => {
    if (refusal && isUndecided(refusal)) scrollToConflict(ref.current)
  }, [refusal])
  const cancel = () => {
    form.discard()
    onCancel?.()
  }
  return (
    <form
      ref={ref}
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        action.run()
      }}
    >
      {restored && <p className="quiet small">{t("form.restored")}</p>}
      <ConflictRegistryContext value={places}>{children}</ConflictRegistryContext>
      {conflicts
        .filter(({ name }) => !placement.includes(name))
        .map((conflict) => (
          <ConflictBox key={conflict.name} form={form} conflict={conflict} label={conflict.name} />
        ))}
      {!isAtField && <RefusalAlert refusal={refusal} />}
      <div className="form-actions">
        <Button
          kind={danger ? "danger" : "primary"}
          type="submit"
          disabled={action.busy || disabled}
        >
          {submit ?? t("form.save")}
        </Button>
        {onCancel && <Button onClick={cancel}>{t("form.cancel")}</Button>}
      </div>
    </form>
  )
}

/** Tracks which fields show their conflicts; all others are shown below the form. */
function useConflictRegistry() {
  const [placement, setPlaced] = useState<readonly string[]>([])
  const places = useMemo(
    () => ({
      add: (name: string) => {
        setPlaced((names) => [...names, name])
        return () => setPlaced((names) => names.toSpliced(names.indexOf(name), 1))
      },
    }),
    [],
  )
  return { placed: placement, places }
}

/** Scrolls to the first conflict and expands collapsed sections. */
function scrollToConflict(form: HTMLFormElement | null): void {
  const boxes = [...(form?.querySelectorAll<HTMLElement>(".conflict") ?? [])]
  for (const box of boxes) box.closest("details")?.setAttribute("open", "")
  boxes[0]?.focus()
}

type DialogFormProps<Values extends object> = FormFieldsProps<Values> & {
  readonly title: string
  readonly onCancel: () => void
}

/** A form in a dialog. Clicking outside closes it only if nothing was changed. */
export function DialogForm<Values extends object>({ title, ...fields }: DialogFormProps<Values>) {
  const { form, onCancel } = fields
  const close = () => {
    form.discard()
    onCancel()
  }
  return (
    <Dialog title={title} onClose={close} isDirty={form.dirty}>
      <FormFields {...fields} />
    </Dialog>
  )
}

type EditSectionProps = RequiredPermission & {
  readonly title: string
  readonly facts?: ReactNode
  /** Labeled values, after other content. */
  readonly rows?: FactsProps["rows"]
  /** The form that replaces the values; if absent, they are read-only. */
  readonly form?: (placement: { readonly id: string; readonly close: () => void }) => ReactNode
  /** Label of the edit button; "Edit" by default. */
  readonly action?: string
  /** Additional actions while the form is closed. */
  readonly extraActions?: ReactNode
}

/** Values with inline editing. The focus moves to the form and back. */
export function EditSection(props: EditSectionProps) {
  const { needs, title, facts, rows, form, action = t("action.edit"), extraActions: more } = props
  const [open, setOpen] = useOpenForm(title)
  const [turned, setTurned] = useState(false)
  const ref = useRef<HTMLDivElement>(null)
  const setMode = (next: "edit" | undefined) => {
    setTurned(true)
    setOpen(next)
  }
  useEffect(() => {
    if (!turned || open === undefined) return
    const first = ref.current?.querySelector("input, textarea, select")
    if (first instanceof HTMLElement) first.focus()
  }, [turned, open])
  const edit = form && open === undefined && (
    <IfPermitted needs={needs}>
      <Button
        small
        autoFocus={turned}
        aria-label={`${action}: ${title}`}
        onClick={() => setMode("edit")}
      >
        {action}
      </Button>
    </IfPermitted>
  )
  const actions = more ? (
    <div className="row">
      {open === undefined && more}
      {edit}
    </div>
  ) : (
    edit
  )
  return (
    <Section title={title} actions={actions}>
      {open === undefined || !form ? (
        <>
          {facts}
          {rows && <Facts rows={rows} />}
        </>
      ) : (
        <div ref={ref}>{form({ id: formId(title, open), close: () => setMode(undefined) })}</div>
      )}
    </Section>
  )
}
