import { ButtonLink } from "../kit/button.tsx"
import { type Account, AccountPerson } from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type SignedInPageProps = PageProps & {
  readonly account: Account
  readonly logoutHref: string
  readonly accountHref?: string | undefined
  /** Where people go who come from no application; absent where nobody has said so. */
  readonly continueHref?: string | undefined
  /** Only for those who may use the console. */
  readonly consoleHref?: string | undefined
}

/** Signed in without an application to go to: says so, and where one can go. */
export function SignedInPage(props: SignedInPageProps) {
  const { account, logoutHref, accountHref, consoleHref, continueHref } = props
  const t = props.t.on("signed_in")
  return (
    <Frame {...props} title={t("signed_in.title")}>
      <Heading title={t("signed_in.title")} lead={t("signed_in.lead")} />
      <div className="account-chip">
        <AccountPerson account={account} />
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
