import { Button, ButtonLink } from "../kit/button.tsx"
import { type Account, AccountChip, FlowForm, type Target } from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

/** Why somebody who is signed in may not use an application. */
export type Bar = "organisation" | "roles" | "project" | "assigned" | "role" | "network"

export type BarredPageProps = PageProps & {
  readonly form: Target
  readonly account: Account
  readonly changeHref: string
  readonly application: string
  readonly bar: Bar
}

/** Says why it ends here, and offers the two ways on. Posts `answer`: cancel. */
export function BarredPage(props: BarredPageProps) {
  const { t, form, account, changeHref, application, bar } = props
  const title = t("barred.title", { application })
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={t(`barred.${bar}`)} />
      <AccountChip t={t} account={account} changeHref={changeHref} />
      <p className="quiet">{t("barred.todo")}</p>
      <FlowForm target={form}>
        <ButtonLink kind="primary" href={changeHref} wide>
          {t("account.other")}
        </ButtonLink>
        <Button type="submit" name="answer" value="cancel" wide>
          {t("barred.back", { application })}
        </Button>
      </FlowForm>
    </Frame>
  )
}
