import { type ReactNode, useState } from "react"
import { Button } from "../../kit/button.tsx"
import { Dialog } from "../../kit/dialog.tsx"
import { TextField } from "../../kit/field.tsx"
import { useAction } from "../shell/call.ts"
import { tell } from "../shell/notice.tsx"
import { Refused } from "../shell/refused.tsx"
import { useText } from "../shell/text.ts"
import { Fields } from "./form.tsx"
import { useForm } from "./use-form.ts"

type ActionButtonProps = {
  readonly label: string
  readonly act: () => Promise<unknown>
  readonly done?: () => unknown
  readonly small?: boolean
}

/** A change that harms nobody: it happens at once, and a refusal is said beside it. */
export function ActionButton({ label, act, done, small }: ActionButtonProps) {
  const action = useAction(act, done)
  return (
    <>
      <Button
        small={small}
        kind={small ? "plain" : "normal"}
        onClick={() => action.run()}
        disabled={action.busy}
      >
        {label}
      </Button>
      <Refused refusal={action.refusal} />
    </>
  )
}

type ConfirmButtonProps = ActionButtonProps & {
  /** What it is done to. */
  readonly what: string
  /** What it will do, in words. */
  readonly consequence: ReactNode
}

/** Something that takes a thing from people: it says first what that means. */
export function ConfirmButton({ label, what, consequence, ...how }: ConfirmButtonProps) {
  const { small, act, done } = how
  const { t } = useText()
  const [open, setOpen] = useState(false)
  const close = () => setOpen(false)
  const action = useAction(act, () => {
    close()
    return done?.()
  })
  return (
    <>
      <Button
        small={small}
        kind={small ? "plain" : "danger"}
        aria-label={`${label}: ${what}`}
        onClick={() => setOpen(true)}
      >
        {label}
      </Button>
      {open && (
        <Dialog title={`${label}: ${what}`} onClose={close}>
          <div className="stack">{consequence}</div>
          <Refused refusal={action.refusal} />
          <div className="form-actions">
            <Button kind="danger" disabled={action.busy} onClick={() => action.run()}>
              {label}
            </Button>
            <Button onClick={close}>{t("form.cancel")}</Button>
          </div>
        </Dialog>
      )}
    </>
  )
}

type TurnButtonProps = {
  readonly what: string
  readonly isOn: boolean
  /** What it means that it is off. */
  readonly consequence: ReactNode
  readonly act: (on: boolean) => Promise<unknown>
  readonly small?: boolean
  /** What turning is called, where it is not activating. */
  readonly words?: { readonly on: string; readonly off: string; readonly told: string }
}

/** On and off: turning off asks first, and can be undone. */
export function TurnButton(props: TurnButtonProps) {
  const { what, isOn, consequence, act, small, words } = props
  const { t } = useText()
  const size = small === undefined ? {} : { small }
  if (!isOn) {
    return (
      <ActionButton {...size} label={words?.on ?? t("action.activate")} act={() => act(true)} />
    )
  }
  return (
    <ConfirmButton
      {...size}
      label={words?.off ?? t("action.deactivate")}
      what={what}
      consequence={consequence}
      act={() => act(false)}
      done={() =>
        tell({
          text: words?.told ?? t("notice.deactivated", { name: what }),
          undo: () => act(true),
        })
      }
    />
  )
}

type DeleteProps = {
  readonly name: string
  readonly title: string
  readonly consequence: ReactNode
  readonly act: () => Promise<unknown>
}

/** A change that can't be undone asks for the name of what it destroys. */
export function DeleteButton({ name, title, consequence, act }: DeleteProps) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button kind="danger" onClick={() => setOpen(true)}>
        {title}
      </Button>
      {open && <DeleteDialog {...{ name, title, consequence, act, close: () => setOpen(false) }} />}
    </>
  )
}

function DeleteDialog(props: DeleteProps & { readonly close: () => void }) {
  const { name, title, consequence, act, close } = props
  const { t } = useText()
  const form = useForm({
    id: "delete",
    initial: { typed: "" },
    secret: ["typed"],
    save: act,
    done: close,
  })
  return (
    <Dialog title={title} onClose={close}>
      <p>{consequence}</p>
      <Fields
        form={form}
        danger
        submit={title}
        disabled={form.values.typed !== name}
        onCancel={close}
      >
        <TextField
          label={t("delete.type_name", { name })}
          {...form.text("typed")}
          maxLength={500}
          spellCheck={false}
          autoFocus
        />
      </Fields>
    </Dialog>
  )
}
