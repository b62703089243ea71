import { PasswordField } from "../kit/field.tsx"
import type { Account } from "./flow.tsx"
import type { PageProps } from "./frame.tsx"
import { PasswordChecklist } from "./password-checklist.tsx"
import type { PasswordRules } from "./password-rules.ts"

export type NewPasswordField = "password" | "repeat"

export type NewPasswordErrors = Readonly<Partial<Record<NewPasswordField, string>>> | undefined

type NewPasswordFieldsProps = Pick<PageProps, "t"> & {
  readonly account: Account
  readonly rules: PasswordRules
  readonly errors: NewPasswordErrors
  /** Whether the first field is focused. */
  readonly isFocused?: boolean
}

/** A new password and its repetition. */
export function NewPasswordFields(props: NewPasswordFieldsProps) {
  const { t, account, rules, errors, isFocused = true } = props
  const field = {
    show: t("password.show"),
    hide: t("password.hide"),
    autoComplete: "new-password",
    required: true,
  }
  return (
    <>
      {/* Lets password managers associate the password with its account. */}
      <input hidden name="loginName" value={account.loginName} autoComplete="username" readOnly />
      <PasswordField
        {...field}
        label={t("password_change.label")}
        below={<PasswordChecklist t={t} rules={rules} />}
        name="password"
        error={errors?.password}
        enterKeyHint="next"
        minLength={rules.minLength}
        autoFocus={isFocused}
      />
      <PasswordField
        {...field}
        label={t("password_change.repeat")}
        name="repeat"
        error={errors?.repeat}
        enterKeyHint="go"
      />
    </>
  )
}
