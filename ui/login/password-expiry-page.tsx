import { ButtonLink } from "../kit/button.tsx"
import { type Account, AccountChip } from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type PasswordExpiryPageProps = PageProps & {
  readonly account: Account
  readonly changeHref: string
  /** Where a new password is set, and where users continue without doing so. */
  readonly replaceHref: string
  readonly nextHref: string
  readonly days: number
}

/** Warns that a password expires soon. */
export function PasswordExpiryPage(props: PasswordExpiryPageProps) {
  const { t, account, changeHref, replaceHref, nextHref, days } = props
  const title = t("password_expiry.title")
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={t("password_expiry.lead", { count: days })} />
      <AccountChip t={t} account={account} changeHref={changeHref} />
      <div className="stack">
        <ButtonLink kind="primary" href={replaceHref} wide>
          {t("password_change.title")}
        </ButtonLink>
        <ButtonLink href={nextHref} wide>
          {t("factor_setup.skip")}
        </ButtonLink>
      </div>
    </Frame>
  )
}
