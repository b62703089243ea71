import type { DescMessage, DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf"
import { useNavigate } from "@tanstack/react-router"
import { type ReactNode, useState } from "react"
import { Button, Dialog, TextField } from "../../kit/index.ts"
import {
  call,
  IfPermitted,
  type LinkOptions,
  notify,
  RefusalAlert,
  type RequiredPermission,
  Section,
  t,
  useAction,
} from "../shell/index.ts"
import { FormFields } from "./form.tsx"
import { useForm } from "./use-form.ts"

type ActionButtonProps = RequiredPermission & {
  readonly label: string
  readonly act: () => Promise<unknown>
  readonly done?: () => unknown
  readonly small?: boolean
}

/** A button for a change without risk: it runs immediately, and an error is shown next to it. */
export function ActionButton({ needs, label, act, done, small }: ActionButtonProps) {
  const action = useAction(act, done)
  return (
    <IfPermitted needs={needs}>
      <Button
        small={small}
        kind={small ? "plain" : "normal"}
        onClick={() => action.run()}
        disabled={action.busy}
      >
        {label}
      </Button>
      <RefusalAlert refusal={action.refusal} />
    </IfPermitted>
  )
}

type ConfirmButtonProps = Omit<ActionButtonProps, "label"> & {
  /** The label; "Remove" by default. */
  readonly label?: string
  /** The affected resource. */
  readonly subject: string
  /** The consequence, as text. */
  readonly consequence: ReactNode
}

/**
 * A button for a change that affects users: explains the consequence first. The dialog applies to
 * the state when it was opened, even if the data were reloaded since.
 */
export function ConfirmButton(props: ConfirmButtonProps) {
  const { needs, small, act, done, subject, consequence, label = t("action.remove") } = props
  const [open, setOpen] = useState<Pick<ConfirmButtonProps, "act" | "subject">>()
  const close = () => setOpen(undefined)
  const action = useAction(open?.act ?? act, () => {
    close()
    return done?.()
  })
  return (
    <IfPermitted needs={needs}>
      <Button
        small={small}
        kind={small ? "plain" : "danger"}
        aria-label={`${label}: ${subject}`}
        onClick={() => setOpen({ act, subject: subject })}
      >
        {label}
      </Button>
      {open && (
        <Dialog title={`${label}: ${open.subject}`} onClose={close}>
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
    </IfPermitted>
  )
}

type ActivationButtonProps<I extends DescMessage, J extends DescMessage> = {
  readonly subject: string
  readonly isOn: boolean
  /** The consequence of deactivating. */
  readonly consequence: ReactNode
  /** The operations to activate and deactivate, and their request. */
  readonly on: DescMethodUnary<I>
  readonly off: DescMethodUnary<J>
  readonly of: MessageInitShape<I> & MessageInitShape<J>
  readonly small?: boolean
  /** Labels, if not "Activate" and "Deactivate". */
  readonly labels?: { readonly on: string; readonly off: string; readonly told: string }
}

/** Activates without confirmation; deactivating asks first and can be undone. */
export function ActivationButton<I extends DescMessage, J extends DescMessage>(
  props: ActivationButtonProps<I, J>,
) {
  const { subject, isOn, consequence, on, off, of, small, labels } = props
  const options = { needs: off, ...(small !== undefined && { small }) }
  const turnOn = () => call(on, of)
  if (!isOn)
    return <ActionButton {...options} label={labels?.on ?? t("action.activate")} act={turnOn} />
  return (
    <ConfirmButton
      {...options}
      label={labels?.off ?? t("action.deactivate")}
      subject={subject}
      consequence={consequence}
      act={() => call(off, of)}
      done={() =>
        notify({ text: labels?.told ?? t("notice.deactivated", { name: subject }), undo: turnOn })
      }
    />
  )
}

type DeleteProps = RequiredPermission & {
  readonly name: string
  readonly title: string
  readonly consequence: ReactNode
  readonly act: () => Promise<unknown>
}

/** A button for a change that can't be undone: requires typing the name. */
export function DeleteButton(props: DeleteProps) {
  const [open, setOpen] = useState(false)
  return (
    <IfPermitted needs={props.needs}>
      <Button kind="danger" onClick={() => setOpen(true)}>
        {props.title}
      </Button>
      {open && <DeleteDialog {...props} close={() => setOpen(false)} />}
    </IfPermitted>
  )
}

const deletableFamilies = [
  "projects",
  "applications",
  "users",
  "groups",
  "organizations",
  "scripts",
  "targets",
] as const

type DeleteSectionProps<I extends DescMessage> = {
  readonly family: (typeof deletableFamilies)[number]
  readonly name: string
  readonly by: DescMethodUnary<I>
  readonly of: MessageInitShape<I>
  /** The page to show afterwards. */
  readonly to: LinkOptions
}

/** A section to delete the resource of a page. */
export function DeleteSection<I extends DescMessage>(props: DeleteSectionProps<I>) {
  const { family, name, by, of, to } = props
  const navigate = useNavigate()
  const consequence = t(`${family}.delete_text`)
  const act = async () => {
    await call(by, of)
    await navigate({ ...to, replace: true })
  }
  return (
    <IfPermitted needs={by}>
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
    </IfPermitted>
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
      <FormFields
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
      </FormFields>
    </Dialog>
  )
}
