import { Button, ButtonLink } from "../kit/button.tsx"
import { type Account, AccountChip, FlowForm, type Target } from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

/** Why a signed-in user can't use an application. */
export type AccessBarrier = "organisation" | "roles" | "project" | "assigned" | "role" | "network"

export type AccessDeniedPageProps = PageProps & {
  readonly form: Target
  readonly account: Account
  readonly changeHref: string
  readonly application: string
  readonly barrier: AccessBarrier
}

/**
 * Explains why the sign-in ends, and offers another account or returning to the application. Posts
 * `answer`: cancel.
 */
export function AccessDeniedPage(props: AccessDeniedPageProps) {
  const { t, form, account, changeHref, application, barrier } = props
  const title = t("barred.title", { application })
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={t(`barred.${barrier}`)} />
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
