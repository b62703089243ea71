import { PasswordField } from "../../kit/index.ts"
import { t } from "../shell/index.ts"

type SecretFieldProps<Name extends string> = {
  readonly form: { readonly text: (name: Name) => object }
  readonly name: Name
  readonly label: string
  readonly hint?: string
  readonly required?: boolean
}

/** A field for a secret of another system, excluded from password managers. */
export function SecretField<Name extends string>(props: SecretFieldProps<Name>) {
  const { form, name, label, hint, required } = props
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
