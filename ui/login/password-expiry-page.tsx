import { ButtonLink } from "../kit/button.tsx"
import { type Account, AccountChip } from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type PasswordExpiryPageProps = PageProps & {
  readonly account: Account
  readonly changeHref: string
  /** Where another password is chosen, and where who does so later goes on. */
  readonly replaceHref: string
  readonly onwardHref: string
  readonly days: number
}

/** A password that is soon to be replaced, said in time. */
export function PasswordExpiryPage(props: PasswordExpiryPageProps) {
  const { t, account, changeHref, replaceHref, onwardHref, days } = props
  const title = t("password_expiry.title")
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={t("password_expiry.lead", { count: days })} />
      <AccountChip t={t} account={account} changeHref={changeHref} />
      <div className="stack">
        <ButtonLink kind="primary" href={replaceHref} wide>
          {t("password_change.title")}
        </ButtonLink>
        <ButtonLink href={onwardHref} wide>
          {t("factor_setup.skip")}
        </ButtonLink>
      </div>
    </Frame>
  )
}
