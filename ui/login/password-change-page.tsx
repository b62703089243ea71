import { Button } from "../kit/button.tsx"
import { PasswordField } from "../kit/field.tsx"
import { type Account, AccountChip, FlowForm, type Target } from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type PasswordChangeField = "password" | "repeat"

export type PasswordChangePageProps = PageProps & {
  readonly form: Target
  /** Says that this browser has just proved the password that is to be replaced. */
  readonly proof: string
  readonly account: Account
  readonly changeHref: string
  readonly errors?: Readonly<Partial<Record<PasswordChangeField, string>>> | undefined
}

/** A password that has done its service: posts `proof`, `password` and `repeat`. */
export function PasswordChangePage(props: PasswordChangePageProps) {
  const { t, form, proof, account, changeHref, errors } = props
  const field = {
    show: t("password.show"),
    hide: t("password.hide"),
    autoComplete: "new-password",
    required: true,
  }
  return (
    <Frame {...props} title={t("password_change.title")}>
      <Heading title={t("password_change.title")} lead={t("password_change.lead")} />
      <AccountChip t={t} account={account} changeHref={changeHref} />
      <FlowForm target={form}>
        <input type="hidden" name="proof" value={proof} />
        {/* Lets a password manager see whose password this is. */}
        <input
          className="visually-hidden"
          name="loginName"
          value={account.loginName}
          autoComplete="username"
          tabIndex={-1}
          aria-hidden="true"
          readOnly
        />
        <PasswordField
          {...field}
          label={t("password_change.label")}
          hint={t("setup.password_hint")}
          name="password"
          error={errors?.password}
          enterKeyHint="next"
          minLength={8}
          autoFocus
        />
        <PasswordField
          {...field}
          label={t("password_change.repeat")}
          name="repeat"
          error={errors?.repeat}
          enterKeyHint="go"
        />
        <Button kind="primary" type="submit" wide>
          {t("password_change.submit")}
        </Button>
      </FlowForm>
    </Frame>
  )
}
