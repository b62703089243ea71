import { ButtonLink } from "../../kit/button.tsx"
import { type Account, AccountChip } from "../flow.tsx"
import { Frame, Heading, type PageProps } from "../frame.tsx"

export type RecoveryLeftPageProps = PageProps & {
  readonly account: Account
  readonly changeHref: string
  /** Where new codes are made, and where who does so later goes on. */
  readonly createHref: string
  readonly onwardHref: string
  readonly left: number
}

/** Shown after a recovery code was used, when few are left or none. */
export function RecoveryLeftPage(props: RecoveryLeftPageProps) {
  const { t, account, changeHref, createHref, onwardHref, left } = props
  const title = t(left === 0 ? "recovery_left.title.none" : "recovery_left.title.few")
  const lead =
    left === 0 ? t("recovery_left.lead.none") : t("recovery_left.lead.few", { count: left })
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={lead} />
      <AccountChip t={t} account={account} changeHref={changeHref} />
      <div className="stack">
        <ButtonLink kind="primary" href={createHref} wide>
          {t("recovery_left.create")}
        </ButtonLink>
        <ButtonLink href={onwardHref} wide>
          {t("factor_setup.skip")}
        </ButtonLink>
      </div>
    </Frame>
  )
}
