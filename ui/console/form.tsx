import { type ChangeEvent, type ReactNode, useState } from "react"
import { Alert } from "../kit/alert.tsx"
import { Button } from "../kit/button.tsx"
import { Dialog } from "../kit/dialog.tsx"
import { Section } from "./detail.tsx"
import { useHouse } from "./house.ts"
import { type Action, type Changed, useAction } from "./load.ts"

type ActionFormProps = {
  readonly action: Action
  /** What the button does; saving, where nothing is said. */
  readonly submit?: string | undefined
  readonly disabled?: boolean
  readonly onCancel: () => void
  readonly children: ReactNode
}

/** Fields that are sent together; a refusal stands beside the button that was pressed. */
export function ActionForm({ action, submit, disabled, onCancel, children }: ActionFormProps) {
  const { t } = useHouse()
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        action.run()
      }}
    >
      {children}
      {action.error && <Alert tone="danger">{action.error}</Alert>}
      <div className="form-actions">
        <Button kind="primary" type="submit" disabled={action.busy || disabled}>
          {submit ?? t("form.save")}
        </Button>
        <Button onClick={onCancel}>{t("form.cancel")}</Button>
      </div>
    </form>
  )
}

type EditSectionProps = {
  readonly title: string
  readonly facts: ReactNode
  /** The form in place of the facts; it is handed what closes it. */
  readonly form: (close: () => void) => ReactNode
}

/** Something that is shown, and changed where it stands. */
export function EditSection({ title, facts, form }: EditSectionProps) {
  const { t } = useHouse()
  const [editing, setEditing] = useState(false)
  const edit = !editing && (
    <Button small onClick={() => setEditing(true)}>
      {t("action.edit")}
    </Button>
  )
  return (
    <Section title={title} actions={edit}>
      {editing ? form(() => setEditing(false)) : facts}
    </Section>
  )
}

/** An action after which what it changed is read again; then, over fresh values, the form goes. */
export function useSaving(save: () => Promise<unknown>, onChanged: Changed, close: () => void) {
  return useAction(async () => {
    await save()
    await onChanged()
    close()
  })
}

type DialogFormProps = Omit<ActionFormProps, "action" | "onCancel"> & {
  readonly title: string
  readonly save: () => Promise<unknown>
  readonly onChanged: Changed
  readonly close: () => void
}

/** Fields above the page; once they are saved, and what they changed is shown, it closes. */
export function DialogForm({ title, save, onChanged, close, ...form }: DialogFormProps) {
  const action = useSaving(save, onChanged, close)
  return (
    <Dialog title={title} onClose={close}>
      <ActionForm action={action} onCancel={close} {...form} />
    </Dialog>
  )
}

type Typed = ChangeEvent<HTMLInputElement | HTMLTextAreaElement>

/** The texts of a form by name, and what each of its fields is wired with. */
export function useTexts<Name extends string>(initial: Readonly<Record<Name, string>>) {
  const [texts, setTexts] = useState(initial)
  const field = (name: Name) => ({
    value: texts[name],
    onChange: (event: Typed) => setTexts({ ...texts, [name]: event.target.value }),
    maxLength: 200,
    autoComplete: "off",
  })
  return { texts, field }
}
