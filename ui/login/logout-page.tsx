import { Button, ButtonLink } from "../kit/button.tsx"
import { type Account, AccountIdentity, FlowForm, type Target } from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type LogoutPageProps = PageProps & {
  readonly form: Target
  readonly accounts: readonly Account[]
  /** The application that requested the logout, if any. */
  readonly application?: string | undefined
  readonly cancelHref: string
}

/** Asks for confirmation of a logout request that is not proved to be from the user. */
export function LogoutPage(props: LogoutPageProps) {
  const { t, form, accounts, application, cancelHref } = props
  const lead = application ? t("logout.lead_application", { application }) : t("logout.lead")
  return (
    <Frame {...props} title={t("logout.title")}>
      <Heading title={t("logout.title")} lead={lead} />
      {accounts.map((account) => (
        <div className="account-chip" key={account.loginName}>
          <AccountIdentity account={account} />
        </div>
      ))}
      <FlowForm target={form}>
        <Button kind="primary" type="submit" wide>
          {t("logout.submit")}
        </Button>
        <ButtonLink href={cancelHref} wide>
          {t("logout.cancel")}
        </ButtonLink>
      </FlowForm>
    </Frame>
  )
}
