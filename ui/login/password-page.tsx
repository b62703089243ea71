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
import { type OfferedPasskey, Passkey } from "./login-name-page.tsx"

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
  /** Where passwords sign nobody in: what does, and where one is good to set up a passkey with. */
  readonly instead?: Instead | undefined
  /** Whether the password only sets up a passkey. */
  readonly isSetup?: boolean | undefined
  /** Whether the application requires a sign-in that is more recent than the user's. */
  readonly isRecentRequired?: boolean | undefined
  readonly error?: string | undefined
  /** What else they sign in with, each by its address. */
  readonly providers?: readonly OfferedProvider[] | undefined
}

export type Instead = { readonly passkey?: OfferedPasskey | undefined; readonly setupHref: string }

/** Second step: prove it. Posts `loginName` (unchanged) and `password`. */
export function PasswordPage(props: PasswordPageProps) {
  const { language, form, account, changeHref, application, error, isRecentRequired } = props
  const t = props.t.on("password")
  const { forgotHref, isAsking = false, linkForm, providers = [], instead, isSetup } = props
  const onward = application && t("login_name.lead_application", { application: application.name })
  const recent =
    isRecentRequired && application
      ? t("password.recent_lead", { application: application.name })
      : onward
  const lead = isSetup ? t("password.setup_lead") : recent
  const title = t(instead ? "login_name.title" : "password.title")
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={lead} />
      <AccountChip t={t} account={account} changeHref={changeHref} />
      {instead?.passkey && <Passkey t={t} passkey={instead.passkey} />}
      {!instead && <PasswordForm t={t} form={form} account={account} error={error} />}
      {linkForm && (
        <FlowForm target={linkForm}>
          <input type="hidden" name="loginName" value={account.loginName} />
          <Button type="submit" wide>
            {t("magic_link.ask")}
          </Button>
        </FlowForm>
      )}
      <Providers t={t} providers={providers} />
      {instead && (
        <p className="small">
          <a href={instead.setupHref}>{t("password.setup")}</a>
        </p>
      )}
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

type PasswordFormProps = Pick<PasswordPageProps, "t" | "form" | "account" | "error">

function PasswordForm({ t, form, account, error }: PasswordFormProps) {
  return (
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
  )
}
