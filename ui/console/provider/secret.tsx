import { Button } from "../../kit/button.tsx"
import { PasswordField } from "../../kit/field.tsx"
import { DialogForm } from "../form/form.tsx"
import { formId, useOpen } from "../form/open.ts"
import { useForm } from "../form/use-form.ts"
import type { Needs } from "../shell/may.tsx"
import { May } from "../shell/may.tsx"
import { useText } from "../shell/text.ts"

type NewPasswordProps = Needs & {
  readonly id: string
  readonly name: string
  readonly change: (secret: string) => Promise<unknown>
}

/** Changes what a provider is let in by, and nothing else. */
export function NewPassword({ needs, id, name, change }: NewPasswordProps) {
  const { t } = useText()
  const [open, setOpen] = useOpen(`provider-secret-${id}`)
  const label = t("providers.password")
  return (
    <>
      <May needs={needs}>
        <Button small kind="plain" aria-label={`${label}: ${name}`} onClick={() => setOpen("new")}>
          {label}
        </Button>
      </May>
      {open !== undefined && (
        <SecretForm {...{ id, name, change }} close={() => setOpen(undefined)} />
      )}
    </>
  )
}

function SecretForm(props: Omit<NewPasswordProps, "needs"> & { readonly close: () => void }) {
  const { id, name, change, close } = props
  const { t } = useText()
  const form = useForm({
    id: formId(`provider-secret-${id}`, "new"),
    initial: { password: "" },
    secret: ["password"],
    refusals: { password: ["message_provider.secret"] },
    save: ({ password }) => change(password),
    done: close,
  })
  return (
    <DialogForm title={`${t("providers.password")}: ${name}`} form={form} onCancel={close}>
      <SecretField form={form} name="password" label={t("providers.password_new")} required />
    </DialogForm>
  )
}

type SecretFieldProps<Name extends string> = {
  readonly form: {
    readonly text: (name: Name) => object
  }
  readonly name: Name
  readonly label: string
  readonly hint?: string
  readonly required?: boolean
}

/** A password of something else than the person: no password manager fills it in. */
export function SecretField<Name extends string>(props: SecretFieldProps<Name>) {
  const { form, name, label, hint, required } = props
  const { t } = useText()
  return (
    <PasswordField
      label={label}
      hint={hint}
      show={t("field.show")}
      hide={t("field.hide")}
      {...form.text(name)}
      maxLength={1000}
      autoComplete="new-password"
      required={required}
    />
  )
}
