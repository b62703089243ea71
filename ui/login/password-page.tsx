import { Button } from "../kit/button.tsx"
import { PasswordField } from "../kit/field.tsx"
import {
  type Account,
  AccountChip,
  type Application,
  Cancel,
  FlowForm,
  type OfferedProvider,
  Providers,
  RequestedData,
  type Target,
} from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"
import { type OfferedPasskey, Passkey } from "./login-name-page.tsx"

export type PasswordPageProps = PageProps & {
  readonly form: Target
  readonly account: Account
  /** Back to the first step, to use another account. */
  readonly changeHref: string
  /** The page for a forgotten password; absent if the policy hides it. */
  readonly forgotHref?: string | undefined
  /** Whether to refer users to an administrator, because no email can be sent. */
  readonly needsAdministrator?: boolean | undefined
  /** The form that requests an emailed link; absent if links are not offered. */
  readonly linkForm?: Target | undefined
  readonly application?: Application | undefined
  /**
   * If passwords don't sign in: the alternatives, and where a password can be used to register a
   * passkey.
   */
  readonly alternatives?: PasswordAlternatives | undefined
  /** Whether the password is only used to register a passkey. */
  readonly isSetup?: boolean | undefined
  /** Whether the application requires a more recent sign-in. */
  readonly isRecentRequired?: boolean | undefined
  readonly error?: string | undefined
  /** Providers for sign-in, each with its URL. */
  readonly providers?: readonly OfferedProvider[] | undefined
}

export type PasswordAlternatives = {
  readonly passkey?: OfferedPasskey | undefined
  readonly setupHref: string
}

/** The second step of a sign-in. Posts `loginName` (unchanged) and `password`. */
export function PasswordPage(props: PasswordPageProps) {
  const { language, form, account, changeHref, application, error, isRecentRequired } = props
  const t = props.t.on("password")
  const {
    forgotHref,
    needsAdministrator = false,
    linkForm,
    providers = [],
    alternatives,
    isSetup,
  } = props
  const onward = application && t("login_name.lead_application", { application: application.name })
  const recentLead =
    isRecentRequired && application
      ? t("password.recent_lead", { application: application.name })
      : onward
  const lead = isSetup ? t("password.setup_lead") : recentLead
  const title = t(alternatives ? "login_name.title" : "password.title")
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={lead} />
      <AccountChip t={t} account={account} changeHref={changeHref} />
      {alternatives?.passkey && <Passkey t={t} passkey={alternatives.passkey} />}
      {!alternatives && <PasswordForm t={t} form={form} account={account} error={error} />}
      {linkForm && (
        <FlowForm target={linkForm}>
          <input type="hidden" name="loginName" value={account.loginName} />
          <Button type="submit" wide>
            {t("magic_link.ask")}
          </Button>
        </FlowForm>
      )}
      <Providers t={t} providers={providers} />
      {alternatives && (
        <p className="small">
          <a href={alternatives.setupHref}>{t("password.setup")}</a>
        </p>
      )}
      {forgotHref !== undefined && (
        <p className="small">
          <a href={forgotHref}>{t("password.forgot")}</a>
        </p>
      )}
      {needsAdministrator && <p className="small">{t("password.forgot_ask")}</p>}
      <Cancel t={t} form={form} application={application} />
      {application && <RequestedData t={t} language={language} application={application} />}
    </Frame>
  )
}

type PasswordFormProps = Pick<PasswordPageProps, "t" | "form" | "account" | "error">

function PasswordForm({ t, form, account, error }: PasswordFormProps) {
  return (
    <FlowForm target={form}>
      {/* Lets password managers associate the password with its account. */}
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
