import { ButtonLink } from "../../kit/button.tsx"
import { type Account, AccountChip } from "../flow.tsx"
import { Frame, Heading, type PageProps } from "../frame.tsx"

export type RemainingCodesPageProps = PageProps & {
  readonly account: Account
  readonly changeHref: string
  /** Where new codes are generated, and where users continue without doing so. */
  readonly createHref: string
  readonly nextHref: string
  readonly remaining: number
}

/** Shown after a recovery code was used, if few or none remain. */
export function RemainingCodesPage(props: RemainingCodesPageProps) {
  const { t, account, changeHref, createHref, nextHref, remaining } = props
  const title = t(remaining === 0 ? "recovery_left.title.none" : "recovery_left.title.few")
  const lead =
    remaining === 0
      ? t("recovery_left.lead.none")
      : t("recovery_left.lead.few", { count: remaining })
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={lead} />
      <AccountChip t={t} account={account} changeHref={changeHref} />
      <div className="stack">
        <ButtonLink kind="primary" href={createHref} wide>
          {t("recovery_left.create")}
        </ButtonLink>
        <ButtonLink href={nextHref} wide>
          {t("factor_setup.skip")}
        </ButtonLink>
      </div>
    </Frame>
  )
}
