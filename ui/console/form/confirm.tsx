import type { DescMessage, DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf"
import { useNavigate } from "@tanstack/react-router"
import { type ReactNode, useState } from "react"
import { Button, Dialog, TextField } from "../../kit/index.ts"
import {
  call,
  type LinkOptions,
  May,
  type Needs,
  notify,
  RefusalAlert,
  Section,
  t,
  useAction,
} from "../shell/index.ts"
import { Fields } from "./form.tsx"
import { useForm } from "./use-form.ts"

type ActionButtonProps = Needs & {
  readonly label: string
  readonly act: () => Promise<unknown>
  readonly done?: () => unknown
  readonly small?: boolean
}

/** A change that harms nobody: it happens at once, and a refusal is said beside it. */
export function ActionButton({ needs, label, act, done, small }: ActionButtonProps) {
  const action = useAction(act, done)
  return (
    <May needs={needs}>
      <Button
        small={small}
        kind={small ? "plain" : "normal"}
        onClick={() => action.run()}
        disabled={action.busy}
      >
        {label}
      </Button>
      <RefusalAlert refusal={action.refusal} />
    </May>
  )
}

type ConfirmButtonProps = Omit<ActionButtonProps, "label"> & {
  /** What it does; removing, where nothing is said. */
  readonly label?: string
  /** What it is done to. */
  readonly what: string
  /** What it will do, in words. */
  readonly consequence: ReactNode
}

/**
 * Something that takes a thing from people: it says first what that means. The dialog does what it
 * said when it was opened, also if what it is about has been read anew since.
 */
export function ConfirmButton(props: ConfirmButtonProps) {
  const { needs, small, act, done, what, consequence, label = t("action.remove") } = props
  const [open, setOpen] = useState<Pick<ConfirmButtonProps, "act" | "what">>()
  const close = () => setOpen(undefined)
  const action = useAction(open?.act ?? act, () => {
    close()
    return done?.()
  })
  return (
    <May needs={needs}>
      <Button
        small={small}
        kind={small ? "plain" : "danger"}
        aria-label={`${label}: ${what}`}
        onClick={() => setOpen({ act, what })}
      >
        {label}
      </Button>
      {open && (
        <Dialog title={`${label}: ${open.what}`} onClose={close}>
          <div className="stack">{consequence}</div>
          <RefusalAlert refusal={action.refusal} />
          <div className="form-actions">
            <Button kind="danger" disabled={action.busy} onClick={() => action.run()}>
              {label}
            </Button>
            <Button onClick={close}>{t("form.cancel")}</Button>
          </div>
        </Dialog>
      )}
    </May>
  )
}

type ActivationButtonProps<I extends DescMessage, J extends DescMessage> = {
  readonly what: string
  readonly isOn: boolean
  /** What it means that it is off. */
  readonly consequence: ReactNode
  /** What turns it on, what off, and of what. */
  readonly on: DescMethodUnary<I>
  readonly off: DescMethodUnary<J>
  readonly of: MessageInitShape<I> & MessageInitShape<J>
  readonly small?: boolean
  /** What turning is called, where it is not activating. */
  readonly words?: { readonly on: string; readonly off: string; readonly told: string }
}

/** On and off: turning off asks first, and can be undone. */
export function ActivationButton<I extends DescMessage, J extends DescMessage>(
  props: ActivationButtonProps<I, J>,
) {
  const { what, isOn, consequence, on, off, of, small, words } = props
  const how = { needs: off, ...(small !== undefined && { small }) }
  const turnOn = () => call(on, of)
  if (!isOn) return <ActionButton {...how} label={words?.on ?? t("action.activate")} act={turnOn} />
  return (
    <ConfirmButton
      {...how}
      label={words?.off ?? t("action.deactivate")}
      what={what}
      consequence={consequence}
      act={() => call(off, of)}
      done={() =>
        notify({ text: words?.told ?? t("notice.deactivated", { name: what }), undo: turnOn })
      }
    />
  )
}

type DeleteProps = Needs & {
  readonly name: string
  readonly title: string
  readonly consequence: ReactNode
  readonly act: () => Promise<unknown>
}

/** A change that can't be undone asks for the name of what it destroys. */
export function DeleteButton(props: DeleteProps) {
  const [open, setOpen] = useState(false)
  return (
    <May needs={props.needs}>
      <Button kind="danger" onClick={() => setOpen(true)}>
        {props.title}
      </Button>
      {open && <DeleteDialog {...props} close={() => setOpen(false)} />}
    </May>
  )
}

const deletable = [
  "projects",
  "applications",
  "users",
  "groups",
  "organizations",
  "scripts",
  "targets",
] as const

type DeleteSectionProps<I extends DescMessage> = {
  readonly family: (typeof deletable)[number]
  readonly name: string
  readonly by: DescMethodUnary<I>
  readonly of: MessageInitShape<I>
  /** Where one is afterwards. */
  readonly to: LinkOptions
}

/** The same at the end of a page, which is left then. */
export function DeleteSection<I extends DescMessage>(props: DeleteSectionProps<I>) {
  const { family, name, by, of, to } = props
  const navigate = useNavigate()
  const consequence = t(`${family}.delete_text`)
  const act = async () => {
    await call(by, of)
    await navigate({ ...to, replace: true })
  }
  return (
    <May needs={by}>
      <Section title={t("delete.section")}>
        <p className="quiet">{consequence}</p>
        <div className="row">
          <DeleteButton
            needs={by}
            title={t(`${family}.delete`)}
            name={name}
            consequence={consequence}
            act={act}
          />
        </div>
      </Section>
    </May>
  )
}

function DeleteDialog(props: DeleteProps & { readonly close: () => void }) {
  const { name, title, consequence, act, close } = props
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
