import { Alert } from "../kit/alert.tsx"
import { ButtonLink } from "../kit/button.tsx"
import {
  type Account,
  AccountIdentity,
  type Application,
  Cancel,
  FlowForm,
  RequestedData,
  type Target,
} from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type KnownAccount = Account & {
  /** The session that is posted as `session`. */
  readonly session: string
  /** Signed-out accounts are offered, too; they require the password again. */
  readonly signedIn: boolean
}

export type AccountPageProps = PageProps & {
  readonly form: Target
  readonly accounts: readonly KnownAccount[]
  readonly otherHref: string
  readonly application?: Application | undefined
  /** A notice above the accounts. */
  readonly notice?: string | undefined
}

/** Offers the accounts of this browser. Posts `session`. */
export function AccountPage(props: AccountPageProps) {
  const { language, form, accounts, otherHref, application, notice } = props
  const t = props.t.on("account")
  const lead = application
    ? t("login_name.lead_application", { application: application.name })
    : t("account.lead")
  return (
    <Frame {...props} title={t("account.title")}>
      <Heading title={t("account.title")} lead={lead} />
      {notice && <Alert tone="warning">{notice}</Alert>}
      <FlowForm target={form}>
        <ul className="account-list">
          {accounts.map((account) => (
            <li key={account.session}>
              <button type="submit" name="session" value={account.session} className="account-row">
                <AccountIdentity account={account} />
                {!account.signedIn && <span className="badge">{t("account.signed_out")}</span>}
              </button>
            </li>
          ))}
        </ul>
      </FlowForm>
      <ButtonLink href={otherHref} wide>
        {t("account.other")}
      </ButtonLink>
      <Cancel t={t} form={form} application={application} />
      {application && <RequestedData t={t} language={language} application={application} />}
    </Frame>
  )
}
