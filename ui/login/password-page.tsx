import { Button } from "../kit/button.tsx"
import { PasswordField } from "../kit/field.tsx"
import {
  type Account,
  AccountChip,
  type Application,
  Cancel,
  FlowForm,
  Learns,
  type OfferedProvider,
  Providers,
  type Target,
} from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type PasswordPageProps = PageProps & {
  readonly form: Target
  readonly account: Account
  /** Leads back to the first step, where another account can be named. */
  readonly changeHref: string
  /** Where who has forgotten the password gets another; absent where the policy hides it. */
  readonly forgotHref?: string | undefined
  /** Whether an administrator has to be asked, because no mail would arrive. */
  readonly isAsking?: boolean | undefined
  /** Where whoever wants a link by mail instead asks for it; absent where nobody gets one. */
  readonly linkForm?: Target | undefined
  readonly application?: Application | undefined
  readonly error?: string | undefined
  /** What else they sign in with, each by its address. */
  readonly providers?: readonly OfferedProvider[] | undefined
}

/** Second step: prove it. Posts `loginName` (unchanged) and `password`. */
export function PasswordPage(props: PasswordPageProps) {
  const { language, form, account, changeHref, application, error } = props
  const t = props.t.on("password")
  const { forgotHref, isAsking = false, linkForm, providers = [] } = props
  const lead = application && t("login_name.lead_application", { application: application.name })
  return (
    <Frame {...props} title={t("password.title")}>
      <Heading title={t("password.title")} lead={lead} />
      <AccountChip t={t} account={account} changeHref={changeHref} />
      <FlowForm target={form}>
        {/* Lets a password manager see whose password this is. */}
        <input hidden name="loginName" value={account.loginName} autoComplete="username" readOnly />
        <PasswordField
          label={t("password.label")}
          show={t("password.show")}
          hide={t("password.hide")}
          name="password"
          error={error}
          autoComplete="current-password"
          enterKeyHint="go"
          required
          autoFocus
        />
        <Button kind="primary" type="submit" wide>
          {t("password.submit")}
        </Button>
      </FlowForm>
      {linkForm && (
        <FlowForm target={linkForm}>
          <input type="hidden" name="loginName" value={account.loginName} />
          <Button type="submit" wide>
            {t("magic_link.ask")}
          </Button>
        </FlowForm>
      )}
      <Providers t={t} providers={providers} />
      {forgotHref !== undefined && (
        <p className="small">
          <a href={forgotHref}>{t("password.forgot")}</a>
        </p>
      )}
      {isAsking && <p className="small">{t("password.forgot_ask")}</p>}
      <Cancel t={t} form={form} application={application} />
      {application && <Learns t={t} language={language} application={application} />}
    </Frame>
  )
}
