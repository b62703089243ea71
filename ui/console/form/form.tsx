import { type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react"
import { Button, Dialog } from "../../kit/index.ts"
import {
  Facts,
  type FactsProps,
  isUndecided,
  May,
  type Needs,
  RefusalAlert,
  Section,
  t,
} from "../shell/index.ts"
import { ConflictBox, ConflictPlaces } from "./conflict.tsx"
import type { Form } from "./use-form.ts"
import { formId, useOpen } from "./use-open.ts"

type FieldsProps<Values extends object> = {
  readonly form: Form<Values>
  /** What the button does; saving, where nothing is said. */
  readonly submit?: string | undefined
  readonly danger?: boolean
  readonly disabled?: boolean
  readonly onCancel?: () => void
  readonly children: ReactNode
}

/**
 * Fields that are sent together. A refusal stands at the field that it is about, which gets the
 * focus, or else beside the button that was pressed.
 */
export function Fields<Values extends object>(props: FieldsProps<Values>) {
  const { form, submit, danger, disabled, onCancel, children } = props
  const { action, refused, restored, conflicts } = form
  const ref = useRef<HTMLFormElement>(null)
  const isOpen = action.refusal && isUndecided(action.refusal)
  const refusal = isOpen && conflicts.length === 0 ? undefined : action.refusal
  const { places, placed } = usePlaces()
  const [isAtField, setAtField] = useState(false)
  useLayoutEffect(() => {
    const field = refusal && refused && ref.current?.elements.namedItem(refused)
    setAtField(field instanceof HTMLElement)
    if (field instanceof HTMLElement) field.focus()
  }, [refusal, refused])
  useEffect(() => {
    if (refusal && isUndecided(refusal)) reveal(ref.current)
  }, [refusal])
  const cancel = () => {
    form.drop()
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
      <ConflictPlaces value={places}>{children}</ConflictPlaces>
      {conflicts
        .filter(({ name }) => !placed.includes(name))
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

/** Which fields show their conflicts themselves; what no field shows is shown below them all. */
function usePlaces() {
  const [placed, setPlaced] = useState<readonly string[]>([])
  const places = useMemo(
    () => ({
      add: (name: string) => {
        setPlaced((names) => [...names, name])
        return () => setPlaced((names) => names.toSpliced(names.indexOf(name), 1))
      },
    }),
    [],
  )
  return { placed, places }
}

/** Leads to the first conflict; parts of the form that are folded are opened. */
function reveal(form: HTMLFormElement | null): void {
  const boxes = [...(form?.querySelectorAll<HTMLElement>(".conflict") ?? [])]
  for (const box of boxes) box.closest("details")?.setAttribute("open", "")
  boxes[0]?.focus()
}

type DialogFormProps<Values extends object> = FieldsProps<Values> & {
  readonly title: string
  readonly onCancel: () => void
}

/** Fields above the page. A click beside it closes it only while nothing is typed. */
export function DialogForm<Values extends object>({ title, ...fields }: DialogFormProps<Values>) {
  const { form, onCancel } = fields
  const close = () => {
    form.drop()
    onCancel()
  }
  return (
    <Dialog title={title} onClose={close} keep={form.dirty}>
      <Fields {...fields} />
    </Dialog>
  )
}

type EditSectionProps = Needs & {
  readonly title: string
  readonly facts?: ReactNode
  /** Facts by their names, after whatever else there is. */
  readonly rows?: FactsProps["rows"]
  /** The form in place of the facts, which stand for good where there is none. */
  readonly form?: (placed: { readonly id: string; readonly close: () => void }) => ReactNode
  /** What opens the form; editing, where nothing is said. */
  readonly action?: string
  /** What else can be done while the form is closed. */
  readonly more?: ReactNode
}

/** Something that is shown, and changed where it stands. The focus goes along, and comes back. */
export function EditSection(props: EditSectionProps) {
  const { needs, title, facts, rows, form, action = t("action.edit"), more } = props
  const [open, setOpen] = useOpen(title)
  const [turned, setTurned] = useState(false)
  const ref = useRef<HTMLDivElement>(null)
  const turn = (next: "edit" | undefined) => {
    setTurned(true)
    setOpen(next)
  }
  useEffect(() => {
    if (!turned || open === undefined) return
    const first = ref.current?.querySelector("input, textarea, select")
    if (first instanceof HTMLElement) first.focus()
  }, [turned, open])
  const edit = form && open === undefined && (
    <May needs={needs}>
      <Button
        small
        autoFocus={turned}
        aria-label={`${action}: ${title}`}
        onClick={() => turn("edit")}
      >
        {action}
      </Button>
    </May>
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
        <div ref={ref}>{form({ id: formId(title, open), close: () => turn(undefined) })}</div>
      )}
    </Section>
  )
}
