import { Button, ButtonLink } from "../kit/button.tsx"
import { type Account, AccountIdentity, FlowForm, type Target } from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type LinkingPageProps = PageProps & {
  readonly form: Target
  readonly intentId: string
  readonly provider: string
  /** The external account. */
  readonly identity: {
    readonly userName: string
    readonly displayName: string
    readonly email: string
  }
  /** The account here. */
  readonly account: Account
  /** Returns without linking. */
  readonly accountHref: string
}

/** Asks a user who has proved both accounts whether to link them. */
export function LinkingPage(props: LinkingPageProps) {
  const { form, intentId, provider, identity, account, accountHref } = props
  const t = props.t.on("linking")
  const name = identity.email || identity.userName || identity.displayName
  return (
    <Frame {...props} title={t("linking.title")}>
      <Heading title={t("linking.title")} lead={t("linking.lead", { provider, name })} />
      <div className="account-chip">
        <AccountIdentity account={account} />
      </div>
      <FlowForm target={form}>
        <input type="hidden" name="intent" value={intentId} />
        <Button kind="primary" type="submit" wide>
          {t("linking.submit")}
        </Button>
      </FlowForm>
      <ButtonLink href={accountHref} wide>
        {t("consent.cancel")}
      </ButtonLink>
    </Frame>
  )
}
