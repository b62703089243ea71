import { Button } from "../kit/button.tsx"
import { type Account, AccountChip, FlowForm, type Target } from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"
import { type NewPasswordErrors, NewPasswordFields } from "./new-password-fields.tsx"
import type { PasswordRules } from "./password-rules.ts"

export type PasswordChangePageProps = PageProps & {
  readonly form: Target
  /** Proves that this browser has just entered the current password. */
  readonly proof: string
  readonly account: Account
  readonly changeHref: string
  /** Whether the password has not expired yet. */
  readonly isEarly?: boolean
  readonly rules: PasswordRules
  readonly errors?: NewPasswordErrors
}

/** Asks for a new password. Posts `proof`, `password` and `repeat`. */
export function PasswordChangePage(props: PasswordChangePageProps) {
  const { form, proof, account, changeHref, isEarly, rules, errors } = props
  const t = props.t.on("password_change")
  const lead = isEarly ? undefined : t("password_change.lead")
  return (
    <Frame {...props} title={t("password_change.title")}>
      <Heading title={t("password_change.title")} lead={lead} />
      <AccountChip t={t} account={account} changeHref={changeHref} />
      <FlowForm target={form}>
        <input type="hidden" name="proof" value={proof} />
        <NewPasswordFields t={t} account={account} rules={rules} errors={errors} />
        <Button kind="primary" type="submit" wide>
          {t("password_change.submit")}
        </Button>
      </FlowForm>
    </Frame>
  )
}
