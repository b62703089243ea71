import { ButtonLink } from "../kit/button.tsx"
import { type Account, AccountIdentity } from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type SignedInPageProps = PageProps & {
  readonly account: Account
  readonly logoutHref: string
  readonly accountHref?: string | undefined
  /** The default destination without an application; absent if none is configured. */
  readonly continueHref?: string | undefined
  /** Only for users who can use the console. */
  readonly consoleHref?: string | undefined
}

/** Shown after a sign-in without an application, with links to continue. */
export function SignedInPage(props: SignedInPageProps) {
  const { account, logoutHref, accountHref, consoleHref, continueHref } = props
  const t = props.t.on("signed_in")
  return (
    <Frame {...props} title={t("signed_in.title")}>
      <Heading title={t("signed_in.title")} lead={t("signed_in.lead")} />
      <div className="account-chip">
        <AccountIdentity account={account} />
      </div>
      <div className="stack">
        {continueHref && (
          <ButtonLink kind="primary" href={continueHref} wide>
            {t("login_name.submit")}
          </ButtonLink>
        )}
        {consoleHref && (
          <ButtonLink kind={continueHref ? "normal" : "primary"} href={consoleHref} wide>
            {t("signed_in.console")}
          </ButtonLink>
        )}
        {accountHref && (
          <ButtonLink
            kind={continueHref || consoleHref ? "normal" : "primary"}
            href={accountHref}
            wide
          >
            {t("signed_in.account")}
          </ButtonLink>
        )}
        <ButtonLink href={logoutHref} wide>
          {t("logout.submit")}
        </ButtonLink>
      </div>
    </Frame>
  )
}
